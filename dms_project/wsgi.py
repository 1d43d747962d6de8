"""What the web server loads."""

import os

from django.core.wsgi import get_wsgi_application

from dms_project.env import one_line_errors

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dms_project.settings")

with one_line_errors():
    application = get_wsgi_application()
