"""System checks: a wrong set-up is named before it serves anybody."""

import pytest
from django.core.checks import run_checks
from django.db.models import CASCADE

from documents.models import Document

pytestmark = pytest.mark.django_db  # Django's checks of generated columns ask which server it is


def ids():
    return {message.id for message in run_checks() if message.id and message.id.startswith("tenancy.")}


def test_the_projects_settings_pass():
    assert ids() == set()


def test_a_foreign_key_that_stops_deletions_elsewhere_is_found(monkeypatch):
    monkeypatch.setattr(Document._meta.get_field("created_by").remote_field, "on_delete", CASCADE)
    assert ids() == {"tenancy.E009"}


@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")
@pytest.mark.parametrize(
    ("setting", "value", "check"),
    [
        ("DATABASES", {"default": {"ENGINE": "django.db.backends.postgresql"}}, "tenancy.E001"),
        ("DATABASE_ROUTERS", [], "tenancy.E002"),
        ("TENANCY_PUBLIC_APPS", [], "tenancy.E003"),
        ("TENANCY_TENANT_APPS", ["documents", "tenancy"], "tenancy.E004"),
        ("TENANCY_TENANT_APPS", ["documents", "docments"], "tenancy.E005"),
        ("TENANCY_TENANT_APPS", ["documents", "auth"], "tenancy.E006"),
        ("MIDDLEWARE", ["django.contrib.sessions.middleware.SessionMiddleware"], "tenancy.E007"),
        (
            "MIDDLEWARE",
            [
                "django.contrib.sessions.middleware.SessionMiddleware",
                "dms_project.tenancy.middleware.TenantMiddleware",
            ],
            "tenancy.E007",
        ),
        ("CACHES", {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}, "tenancy.E008"),
    ],
)
def test_a_wrong_setting_is_found(settings, setting, value, check):
    setattr(settings, setting, value)
    assert check in ids()
