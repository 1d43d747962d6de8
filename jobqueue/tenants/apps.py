"""The app, whose migration puts triggers beside each table of jobs: install it wherever ``jobqueue`` lives."""

from django.apps import AppConfig


class JobQueueTenantsConfig(AppConfig):
    """Configuration of the sub-app."""

    name = "jobqueue.tenants"
    label = "jobqueue_tenants"
    verbose_name = "job queue for many tenants"
    default_auto_field = "django.db.models.BigAutoField"
