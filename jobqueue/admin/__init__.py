"""The queue in Django's admin."""

from jobqueue.admin import jobs  # noqa: F401 - registers the models
