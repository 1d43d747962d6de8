"""What web server and worker say when they start: what is served, from where, with which settings. No passwords."""

import logging
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

logger = logging.getLogger(__name__)


def announce_web(server: Any) -> None:
    """Log two lines about the web server; ``server`` is gunicorn's master."""
    options = server.cfg
    addresses = ", ".join(str(address) for address in server.LISTENERS)
    logger.info(
        "web %s: processes: %s, threads: %s, operators: %s, tenants: each at its own host",
        *(addresses, options.workers, options.threads, settings.DMS_OPERATORS_HOST),
    )
    announce_places()


def announce_places(**kwargs: Any) -> None:
    """Log one line about what a process works with."""
    logger.info(
        "database: %s, documents: %s, debug: %s, log: %s as %s",
        *(_database(), _documents(), "on" if settings.DEBUG else "off", settings.LOG_LEVEL, settings.LOG_FORMAT),
    )


def _database() -> str:
    database = settings.DATABASES["default"]
    port = f":{database['PORT']}" if database["PORT"] else ""
    return f"{database['NAME']} on {database['HOST'] or 'this machine'}{port} as {database['USER'] or 'oneself'}"


def _documents() -> str:
    options = settings.STORAGES["documents"]["OPTIONS"]
    if "location" in options:
        return f"folder {options['location']}"
    endpoint = urlsplit(options["endpoint_url"] or "https://Amazon's")
    return f"bucket {options['bucket_name']} on {endpoint.netloc.rpartition('@')[2]}"
