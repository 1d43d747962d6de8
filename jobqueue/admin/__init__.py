"""The queue in Django's admin."""

from jobqueue.admin import jobs, schedules  # noqa: F401 - registers the models
