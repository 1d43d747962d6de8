"""Every page of the admin says whose it is."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.conftest import TENANTS


@pytest.mark.parametrize(("language", "title"), [("en", "Administration of {}"), ("de", "Verwaltung von {}")])
def test_a_tenants_admin_bears_its_name(tenant: str, language: str, title: str) -> None:
    client = Client(headers={"host": TENANTS[tenant], "accept-language": language})
    assert title.format(tenant) in client.get("/admin/login/").content.decode()
    client.force_login(User.objects.create_superuser("boss"))
    assert title.format(tenant) in client.get("/admin/").content.decode()


@pytest.mark.django_db
def test_the_operators_admin_is_that_of_all_tenants() -> None:
    page = Client(headers={"host": "localhost"}).get("/admin/login/").content.decode()
    assert page.count("Administration of all tenants") == 2  # in the title of the window, and above the page
