"""The schema that every search_path ends in, with the PostgreSQL extensions that all tenants share."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.utils import CursorWrapper

from dms_project.tenancy.exceptions import reason
from dms_project.tenancy.names import EXTENSIONS

NAMES = ("unaccent", "pg_trgm")


def create_extensions(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Create what is missing; a role without that right needs nothing more if an administrator did it before.

    Raises:
        ImproperlyConfigured: Something is missing and can't be created, or an extension lies in another schema; the
            message holds the statement that an administrator has to run.
    """
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_catalog.pg_namespace WHERE nspname = %s", [EXTENSIONS])
        if cursor.fetchone() is None:
            _run(cursor, f"CREATE SCHEMA {EXTENSIONS}")
        for name in NAMES:
            cursor.execute(
                "SELECT extnamespace::regnamespace::text FROM pg_catalog.pg_extension WHERE extname = %s", [name]
            )
            found = cursor.fetchone()
            if found is None:
                _run(cursor, f"CREATE EXTENSION {name} SCHEMA {EXTENSIONS}")
            elif found[0] != EXTENSIONS:
                # Ours to move? Somebody else may use it where it is.
                raise ImproperlyConfigured(
                    f"Extension {name} lies in schema {found[0]}, where no tenant finds it. "
                    f"As an administrator run: ALTER EXTENSION {name} SET SCHEMA {EXTENSIONS};"
                )


def _run(cursor: CursorWrapper, statement: str) -> None:
    try:
        with transaction.atomic(using=cursor.db.alias):
            cursor.execute(statement)
    except DatabaseError as error:
        raise ImproperlyConfigured(
            f"The database role can't prepare the database ({reason(error)}). As an administrator run: {statement};"
        ) from error
