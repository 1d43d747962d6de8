"""An operator's browser, as Django's test client on the tenant's host."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.conftest import TENANTS

Login = Callable[..., Client]


@pytest.fixture
def login(tenant: str) -> Login:
    """Log a member of staff in who has the given permissions of the queue."""

    def log_in(*codenames: str, superuser: bool = False) -> Client:
        user = User.objects.create_user("operator", password="secret", is_staff=True, is_superuser=superuser)
        permissions = Permission.objects.filter(content_type__app_label="jobqueue", codename__in=codenames)
        assert len(permissions) == len(codenames)
        user.user_permissions.set(permissions)
        client = Client(headers={"host": TENANTS[tenant]})
        client.force_login(user)
        return client

    return log_in
