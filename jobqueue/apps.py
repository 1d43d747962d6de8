"""The app; it loads the ``jobs`` module of every installed app, where handlers are registered."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class JobQueueConfig(AppConfig):
    """Configuration of the reusable app."""

    name = "jobqueue"
    verbose_name = "job queue"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from jobqueue import checks  # noqa: F401 - registers the checks

        autodiscover_modules("jobs")
