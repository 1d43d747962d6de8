"""What the web server loads."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from dms_project.env import one_line_errors

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dms_project.settings")

with one_line_errors():
    django_application = get_wsgi_application()

from dms_project.health import LIVE, READY
from dms_project.thread_reserve import ThreadReserve

PROBE_THREADS = 4
application = ThreadReserve(django_application, limit=settings.DMS_WEB_THREADS - PROBE_THREADS, unlimited=(LIVE, READY))
