"""The app; its tables live in each tenant's schema."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DocumentsConfig(AppConfig):
    """Configuration of the app ``documents``."""

    name = "documents"
    verbose_name = _("Documents")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from documents import checks, cleanup  # noqa: F401 - registers the checks and the signal's receiver
