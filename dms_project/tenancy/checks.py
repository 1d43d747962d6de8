"""System checks of what the tenancy layer needs from the settings and the models."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.db.models import DO_NOTHING, Model

from dms_project.tenancy.relations import cascade_where_it_lives, set_null_where_it_lives
from dms_project.tenancy.routers import lives_in

ENGINE = "dms_project.tenancy.postgresql"
ROUTER = "dms_project.tenancy.routers.TenancyRouter"
MIDDLEWARE = "dms_project.tenancy.middleware.TenantMiddleware"
SESSIONS = "django.contrib.sessions.middleware.SessionMiddleware"
CACHE_KEY = "dms_project.tenancy.caches.cache_key"


@register("tenancy")
def check_database(**kwargs: Any) -> Iterator[CheckMessage]:
    if settings.DATABASES["default"].get("ENGINE") != ENGINE:
        yield Error(
            "The default database's engine knows no tenants: every tenant would work in the same schema.",
            hint=f"Set DATABASES['default']['ENGINE'] = {ENGINE!r}.",
            id="tenancy.E001",
        )
    if ROUTER not in settings.DATABASE_ROUTERS:
        yield Error(
            "The tenancy router is missing: migrations would create every app's tables in every schema.",
            hint=f"Add {ROUTER!r} to DATABASE_ROUTERS.",
            id="tenancy.E002",
        )


@register("tenancy")
def check_split_of_apps(**kwargs: Any) -> Iterator[CheckMessage]:
    public, tenant = set(settings.TENANCY_PUBLIC_APPS), set(settings.TENANCY_TENANT_APPS)
    if "tenancy" not in public:
        yield Error(
            "The tenancy app must live in public alone.",
            hint="Add 'tenancy' to TENANCY_PUBLIC_APPS.",
            id="tenancy.E003",
        )
    for label in sorted(public & tenant):
        yield Error(
            f"App {label!r} is in TENANCY_PUBLIC_APPS and in TENANCY_TENANT_APPS: its tables would be nowhere.",
            hint="Leave it in one of them, or in neither: then its tables are in public and in every tenant.",
            id="tenancy.E004",
        )
    for label in sorted((public | tenant) - {config.label for config in apps.get_app_configs()}):
        yield Error(
            f"App {label!r} of TENANCY_PUBLIC_APPS or TENANCY_TENANT_APPS is not installed.",
            hint="Use the app's label, not its module.",
            id="tenancy.E005",
        )


@register("tenancy")
def check_relations(**kwargs: Any) -> Iterator[CheckMessage]:
    """Find foreign keys to tables that are missing where the model lives."""
    for field, other in _foreign_keys():
        here = field.model._meta.app_label
        if _is_missing_somewhere(other._meta.app_label, where=here):
            yield Error(
                f"{field} points to {other._meta.label}, which is not in every schema that has {here!r}.",
                hint="See TENANCY_PUBLIC_APPS and TENANCY_TENANT_APPS.",
                obj=field.model,
                id="tenancy.E006",
            )


@register("tenancy")
def check_deletions(**kwargs: Any) -> Iterator[CheckMessage]:
    """Find foreign keys whose table Django would look for, when what they point to goes, where it is missing."""
    for field, other in _foreign_keys():
        here = field.model._meta.app_label
        harmless = field.remote_field.on_delete in (cascade_where_it_lives, set_null_where_it_lives, DO_NOTHING)
        if _is_missing_somewhere(here, where=other._meta.app_label) and not harmless:
            yield Error(
                f"{field} keeps a {other._meta.verbose_name} from being deleted in schemas that have no {here!r}.",
                hint="Give it on_delete=dms_project.tenancy.relations.set_null_where_it_lives, or DO_NOTHING.",
                obj=field.model,
                id="tenancy.E009",
            )


def _foreign_keys() -> Iterator[tuple[Any, type[Model]]]:
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.local_fields:
            other = field.related_model
            if other is not None and not isinstance(other, str):
                yield field, other


def _is_missing_somewhere(app_label: str, where: str) -> bool:
    """Say whether there are schemas that have the app ``where``, but not this one."""
    return any(lives_in(where, kind) and not lives_in(app_label, kind) for kind in ("public", "tenant"))


@register("tenancy")
def check_middleware(**kwargs: Any) -> Iterator[CheckMessage]:
    order = [entry for entry in settings.MIDDLEWARE if entry in (MIDDLEWARE, SESSIONS)]
    if order[:1] != [MIDDLEWARE]:
        yield Error(
            "Requests reach sessions before a tenant is found: sessions and users would be those of public.",
            hint=f"Put {MIDDLEWARE!r} into MIDDLEWARE, before the session middleware.",
            id="tenancy.E007",
        )


@register("tenancy")
def check_caches(**kwargs: Any) -> Iterator[CheckMessage]:
    for alias, cache in settings.CACHES.items():
        if cache.get("KEY_FUNCTION") != CACHE_KEY:
            yield Error(
                f"Cache {alias!r} makes keys without the tenant: one tenant could be served another's entries.",
                hint=f"Set CACHES[{alias!r}]['KEY_FUNCTION'] = {CACHE_KEY!r}.",
                id="tenancy.E008",
            )
