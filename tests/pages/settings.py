"""The tests' settings, for a web server and a worker of their own: errors as visitors see them."""

from tests.settings import *  # noqa: F403 - a settings module is made this way

DEBUG = False
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
