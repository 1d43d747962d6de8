"""The tenancy app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TenancyConfig(AppConfig):
    name = "dms_project.tenancy"
    label = "tenancy"
    verbose_name = _("Tenants")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dms_project.tenancy import caches, checks  # noqa: F401 - importing registers the checks

        caches.key_content_types_by_tenant()
