"""The fixtures of tests/conftest.py: what a test commits is gone before the next."""

import os
import subprocess
import sys

import psycopg
import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command

from dms_project.tenancy import current, fleet, use
from dms_project.tenancy.schemas import create_tenant, delete_tenant
from tests.tenancy.sessions import schema_in_force

EVERYWHERE = ["public", "acme", "globex"]


@pytest.mark.parametrize("round_", [1, 2])
def test_rows_tenants_and_deletions_of_the_round_before_are_undone(committed_db, round_):
    assert fleet.names() == EVERYWHERE
    for name in EVERYWHERE:
        with use(name):
            assert not User.objects.exists()
            user = User.objects.create(username="demo")
            user.groups.add(Group.objects.create(name="them"))
            assert Permission.objects.exists()
            assert ContentType.objects.exists()
    create_tenant("initech", "initech.localhost")
    delete_tenant("globex")


@pytest.mark.parametrize("round_", [1, 2])
def test_a_test_that_leaves_a_transaction_and_a_tenant_open_harms_nobody(committed_db, round_):
    from django.db import transaction

    assert schema_in_force() == current() == "public"
    transaction.set_autocommit(False)
    Group.objects.create(name="them")


def test_a_test_in_a_transaction_finds_nothing_of_them(tenant):
    assert not User.objects.exists()
    assert not Group.objects.exists()


def test_a_tenants_test_may_commit(committed_db, tenant, database_url):
    Group.objects.create(name="them")
    with psycopg.connect(database_url) as session:
        assert session.execute(f"SELECT name FROM {tenant}.auth_group").fetchall() == [("them",)]


def test_a_program_finds_the_test_database(committed_db, database_url):
    with use("acme"):
        Group.objects.create(name="them")
    ask = (
        "import django; django.setup()\n"
        "from dms_project.tenancy import use\n"
        "from django.contrib.auth.models import Group\n"
        "with use('acme'): print(Group.objects.get())"
    )
    environment = os.environ | {"DATABASE_URL": database_url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    answer = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True, timeout=60)
    assert answer.stdout == "them\n", answer.stderr


def test_djangos_flush_leaves_the_tenants(committed_db):
    User.objects.create(username="demo")
    call_command("flush", interactive=False, verbosity=0)
    assert not User.objects.exists()
    assert fleet.names() == EVERYWHERE
