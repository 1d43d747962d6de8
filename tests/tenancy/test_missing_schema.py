"""A tenant whose schema is gone fails loudly and never falls to public (case T01)."""

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, IntegrityError, connection, transaction

from dms_project.tenancy import PUBLIC, TenantNotFound, use
from dms_project.tenancy.models import Tenant
from dms_project.tenancy.schemas import create_tenant, delete_tenant
from jobqueue.queue import Queue
from tests.tenancy.sessions import schema_in_force


def run_sql(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


def counts():
    """How many rows each table of public has."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        found = {}
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT count(*) FROM public."{table}"')
            found[table] = cursor.fetchone()[0]
        return found


@pytest.fixture
def dropped(committed_db):
    """A tenant whose row stays while its schema is dropped by hand."""
    create_tenant("initech", "initech.localhost")
    with use("initech"):
        schema_in_force()  # known to this process, and in force in this session
    run_sql("DROP SCHEMA initech CASCADE")
    return "initech"


def test_reading_and_writing_fail_and_public_is_untouched(dropped):
    before = counts()
    for work in (Group.objects.count, lambda: Group.objects.create(name="x"), lambda: Queue().enqueue("ok", {})):
        with pytest.raises(TenantNotFound, match="initech"), use(dropped):
            work()
    assert schema_in_force() == "public"
    assert counts() == before


def test_a_schema_dropped_while_the_tenant_is_active_is_not_replaced_by_another(committed_db):
    create_tenant("initech", "initech.localhost")
    with use("initech"):
        assert Group.objects.count() == 0
        run_sql("DROP SCHEMA initech CASCADE")
        with pytest.raises(DatabaseError, match="does not exist"):
            Group.objects.create(name="x")
    assert not Group.objects.filter(name="x").exists()


def test_a_transaction_is_not_entered(committed_db):
    create_tenant("initech", "initech.localhost")
    run_sql("DROP SCHEMA initech CASCADE")
    with pytest.raises(TenantNotFound), use("initech"), transaction.atomic():
        pytest.fail("entered")
    assert not connection.in_atomic_block


def test_a_request_is_told_that_the_site_is_out_of_service(dropped, client):
    before = counts()
    response = client.get("/api/documents", headers={"host": "initech.localhost"})
    assert response.status_code == 503
    assert not response.cookies
    assert counts() == before


def test_a_misspelled_schema_in_the_row_fails(db, client):
    create_tenant("initech", "initech.localhost")
    Tenant.objects.filter(schema_name="initech").update(schema_name="initec")
    with pytest.raises(TenantNotFound), use("initec"):
        Group.objects.count()
    assert client.get("/api/documents", headers={"host": "initech.localhost"}).status_code == 503


def test_a_row_that_is_gone_fails_though_the_schema_is_there(db):
    create_tenant("initech", "initech.localhost")
    with use("initech"):
        schema_in_force()
    run_sql("DELETE FROM public.tenant_domains WHERE host = 'initech.localhost'")
    run_sql("DELETE FROM public.tenants WHERE schema_name = 'initech'")
    with pytest.raises(TenantNotFound), use("initech"):
        Group.objects.count()


@pytest.mark.parametrize("name", ["INITECH", "Initech"])
def test_a_name_that_differs_in_case_alone_comes_into_no_table(db, name):
    with pytest.raises(IntegrityError, match="tenant_name_is_valid"), transaction.atomic():
        Tenant.objects.create(schema_name=name)


def test_a_tenant_without_its_schema_can_still_be_deleted(dropped):
    delete_tenant(dropped)
    assert not Tenant.objects.filter(schema_name=dropped).exists()


def test_no_tenant_means_public_and_nothing_else(db):
    with use(PUBLIC):
        assert schema_in_force() == "public"
