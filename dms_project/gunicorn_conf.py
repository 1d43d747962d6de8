"""The web server: ``gunicorn -c python:dms_project.gunicorn_conf dms_project.wsgi``. Its own options still win."""

import os

from django.conf import settings
from environs import Env, validate

from dms_project.env import one_line_errors

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dms_project.settings")

with one_line_errors():
    # Loopback only: in production a proxy with TLS stands in front. `--bind` names another address.
    bind = f"127.0.0.1:{Env().int('PORT', 8000, validate=validate.Range(min=1, max=65535))}"
    threads = settings.DMS_WEB_THREADS

worker_class = "gthread"
timeout = 30
graceful_timeout = 10
accesslog = "-"
# Neither queries, which may hold what somebody searched for, nor headers, which may hold a token.
access_log_format = '%({host}i)s "%(m)s %(U)s" %(s)s %(b)s bytes %(M)s ms'
control_socket_disable = True
