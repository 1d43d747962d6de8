"""Which database a child process uses stands in its environment, in libpq's own variables: every driver knows them."""

import os
from collections.abc import Mapping
from typing import Any

_VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE",
}


def environment(parameters: Mapping[str, Any], database: str) -> dict[str, str]:
    """Return the variables for ``database`` on the server that these connection parameters name."""
    known = {**parameters, "dbname": database}
    return {variable: str(known[key]) for key, variable in _VARIABLES.items() if known.get(key)}


def django_database() -> dict[str, Any]:
    """Return Django's settings for the database that the environment names."""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ["PGDATABASE"],
        "HOST": os.environ.get("PGHOST", ""),
        "PORT": os.environ.get("PGPORT", ""),
        "USER": os.environ.get("PGUSER", ""),
        "PASSWORD": os.environ.get("PGPASSWORD", ""),
        "CONN_MAX_AGE": None,
    }
