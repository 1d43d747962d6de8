"""The web server: ``gunicorn -c python:dms_project.gunicorn_conf dms_project.wsgi``. Its own options still win."""

from environs import Env, validate

from dms_project.env import one_line_errors

env = Env()
with one_line_errors():
    # Loopback only: a proxy with TLS stands in front in production. `--bind` names another address.
    bind = f"127.0.0.1:{env.int('PORT', 8000, validate=validate.Range(min=1, max=65535))}"
    threads = env.int("DMS_WEB_THREADS", 16, validate=validate.Range(min=6))

worker_class = "gthread"
preload_app = True  # a bad environment ends the start at once, in one line; processes share the code's memory
timeout = 30
graceful_timeout = 10
accesslog = "-"
# Neither queries, which may hold what somebody searched for, nor headers, which may hold a token.
access_log_format = '%({host}i)s "%(m)s %(U)s" %(s)s %(b)s bytes %(M)s ms'
control_socket_disable = True
