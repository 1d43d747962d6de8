"""The tenancy app."""

from django.apps import AppConfig


class TenancyConfig(AppConfig):
    name = "dms_project.tenancy"
    label = "tenancy"
    verbose_name = "Tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dms_project.tenancy import caches, checks  # noqa: F401 - importing registers the checks

        caches.key_content_types_by_tenant()
