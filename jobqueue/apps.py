"""The app; it loads the ``jobs`` module of every installed app, and ``tasks`` if the queue is a task backend."""

from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class JobQueueConfig(AppConfig):
    """Configuration of the reusable app."""

    name = "jobqueue"
    verbose_name = _("job queue")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from jobqueue import checks  # noqa: F401 - registers the checks

        autodiscover_modules("jobs")
        if _is_task_backend():
            autodiscover_modules("tasks")


def _is_task_backend() -> bool:
    backends = getattr(settings, "TASKS", {}).values()
    return any(backend.get("BACKEND") == "jobqueue.backend.PostgresBackend" for backend in backends)
