"""The web server: ``gunicorn -c python:dms_project.gunicorn_conf dms_project.wsgi``. Its own options still win."""

import os
from typing import Any

from django.conf import settings

from dms_project.env import one_line_errors
from dms_project.environment import Environment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dms_project.settings")

with one_line_errors():
    # Loopback only: in production a proxy with TLS stands in front. `--bind` names another address.
    bind = f"127.0.0.1:{Environment().integer('PORT', 8000, least=1, most=65535)}"
    threads = settings.DMS_WEB_THREADS

worker_class = "dms_project.patient_worker.PatientWorker"
timeout = 30
graceful_timeout = 10
limit_request_line = 8190  # the most that it allows: a search may have 500 characters, each of up to twelve bytes
logger_class = "dms_project.access_log.AccessLog"
control_socket_disable = True


def when_ready(server: Any) -> None:
    """Say what is served, once the master process listens."""
    from dms_project.operators.banner import announce_web  # not before the port is open: it costs time

    announce_web(server)
