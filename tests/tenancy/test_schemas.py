"""Creating and deleting tenants in code."""

import threading

import psycopg
import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction

from dms_project.tenancy import TenantNotFound, fleet, locks, use
from dms_project.tenancy.exceptions import ForeignSchema, TenantInUse
from dms_project.tenancy.models import Domain, Tenant
from dms_project.tenancy.schemas import create_tenant, delete_tenant, tenant_deleted
from tests.tenancy.sessions import mark, marks


def has_schema(name):
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regnamespace(%s) IS NOT NULL", [name])
        return cursor.fetchone()[0]


class TestCreating:
    def test_a_new_tenant_is_whole_and_empty(self, db):
        mark("acme")
        tenant = create_tenant("initech", "Initech.LOCALHOST.")
        assert [domain.host for domain in tenant.domains.all()] == ["initech.localhost"]
        assert "initech" in fleet.names()
        with use("initech"):
            assert marks() == []
            Group.objects.create(name="theirs")
        with use("acme"):
            assert marks() == ["acme"]

    def test_it_joins_the_callers_transaction(self, committed_db):
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            raise ZeroDivisionError(create_tenant("initech", "initech.localhost"))
        assert not has_schema("initech")
        assert not fleet.exists("initech")
        with pytest.raises(TenantNotFound), use("initech"):
            marks()

    def test_until_the_callers_transaction_ends_nobody_else_changes_the_set_of_schemas(
        self, committed_db, database_url
    ):
        """A migrate that began in between would not see the new tenant, and leave it behind."""
        with psycopg.connect(database_url, autocommit=True) as other:

            def is_free():
                return other.execute("SELECT pg_try_advisory_lock(%s)", [locks._KEY]).fetchone()[0]

            with transaction.atomic():
                create_tenant("initech", "initech.localhost")
                assert not is_free()
            assert is_free()

    def test_a_failure_on_the_way_leaves_nothing(self, committed_db, monkeypatch):
        def fail(*args, **kwargs):
            raise ZeroDivisionError

        monkeypatch.setattr("dms_project.tenancy.migrator.Migrator.run", fail)
        with pytest.raises(ZeroDivisionError):
            create_tenant("initech", "initech.localhost")
        assert not has_schema("initech")
        assert not Domain.objects.filter(host="initech.localhost").exists()

    def test_a_schema_that_is_somebody_elses_is_not_taken_over(self, db):
        with connection.cursor() as cursor:
            cursor.execute("CREATE SCHEMA billing")
        with pytest.raises(ForeignSchema, match="billing"):
            create_tenant("billing", "billing.localhost")
        assert has_schema("billing")
        assert not fleet.exists("billing")

    def test_it_works_while_a_tenant_is_active(self, db):
        with use("acme"):
            create_tenant("initech", "initech.localhost")
        with use("initech"):
            assert marks() == []


class TestDeleting:
    def test_row_domain_and_schema_go_together_and_receivers_are_told(self, committed_db):
        create_tenant("initech", "initech.localhost")
        told = []

        def listen(schema_name, **kwargs):
            told.append((schema_name, has_schema(schema_name)))

        tenant_deleted.connect(listen)
        try:
            delete_tenant("initech")
        finally:
            tenant_deleted.disconnect(listen)
        assert told == [("initech", False)]
        assert not fleet.exists("initech")
        assert not Domain.objects.filter(host="initech.localhost").exists()
        with pytest.raises(TenantNotFound), use("initech"):
            marks()

    def test_the_others_keep_their_data(self, committed_db):
        mark("acme", "public")
        create_tenant("initech", "initech.localhost")
        delete_tenant("initech")
        with use("acme"):
            assert marks() == ["acme"]
        assert marks() == ["public"]

    def test_a_tenant_can_be_made_again_under_its_name(self, committed_db):
        for _ in range(2):
            create_tenant("initech", "initech.localhost")
            mark("initech")
            delete_tenant("initech")
        create_tenant("initech", "initech.localhost")
        with use("initech"):
            assert marks() == []

    def test_a_schema_that_we_did_not_make_is_not_dropped(self, db):
        with connection.cursor() as cursor:
            cursor.execute("CREATE SCHEMA billing")
        Tenant.objects.create(schema_name="billing")
        with pytest.raises(ForeignSchema, match="billing"):
            delete_tenant("billing")
        assert has_schema("billing")

    @pytest.mark.parametrize(
        "delete",
        [
            lambda: Tenant.objects.filter(schema_name="acme").delete(),
            lambda: Tenant.objects.get(schema_name="acme").delete(),
        ],
    )
    def test_a_row_alone_is_not_deleted(self, db, delete):
        with pytest.raises(TypeError, match="delete_tenant"):
            delete()
        assert fleet.exists("acme")

    def test_it_does_not_wait_for_ever_for_somebody_who_reads(self, committed_db, monkeypatch, database_url):
        monkeypatch.setattr("dms_project.tenancy.schemas.PATIENCE_SECONDS", 0.4)
        create_tenant("initech", "initech.localhost")
        with psycopg.connect(database_url) as reader:
            reader.execute("SELECT * FROM initech.auth_group")
            with pytest.raises(TenantInUse, match="uses the tables of 'initech'"):
                delete_tenant("initech")
        assert fleet.exists("initech")
        with use("initech"):
            assert marks() == []

    def test_its_limit_ends_with_it(self, committed_db):
        create_tenant("initech", "initech.localhost")
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '7s'")
            delete_tenant("initech")
            cursor.execute("SHOW statement_timeout")
            assert cursor.fetchone() == ("7s",)

    def test_nobody_who_uses_the_tables_in_any_order_meets_a_deadlock(self, committed_db, database_url, monkeypatch):
        """Case T09: a DROP SCHEMA by itself takes its locks one by one, and waits with those that it has."""
        monkeypatch.setattr("dms_project.tenancy.schemas.PATIENCE_SECONDS", 60)  # on a busy machine
        create_tenant("initech", "initech.localhost")
        tables = ["auth_group", "processing_jobs"]
        busy, endings = threading.Barrier(5), []

        def work(order):
            with psycopg.connect(database_url) as session:
                busy.wait()
                try:
                    while True:
                        for table in order:
                            session.execute(f"SELECT count(*), pg_sleep(0.01) FROM initech.{table}")
                        session.commit()
                        session.execute("SELECT pg_sleep(0.03)")
                        session.commit()
                except psycopg.Error as error:
                    endings.append(type(error))

        workers = [threading.Thread(target=work, args=(order,)) for order in [tables, tables[::-1]] * 2]
        for worker in workers:
            worker.start()
        busy.wait()
        delete_tenant("initech")
        for worker in workers:
            worker.join()
        assert not has_schema("initech")
        assert psycopg.errors.DeadlockDetected not in endings
        assert len(endings) == len(workers)


class TestExtensions:
    """What public's first migration does on a server where its role may not do everything."""

    @pytest.fixture
    def as_poor_role(self, db):
        with connection.cursor() as cursor:
            cursor.execute("CREATE ROLE poor_role")
            yield lambda: cursor.execute("SET ROLE poor_role")
            cursor.execute("RESET ROLE")

    @pytest.fixture
    def create_extensions(self):
        from dms_project.tenancy.extensions import create_extensions

        def run():
            with connection.schema_editor() as editor:
                create_extensions(None, editor)

        return run

    def test_a_role_without_the_right_needs_none_if_they_are_there(self, as_poor_role, create_extensions):
        as_poor_role()
        create_extensions()

    def test_what_is_missing_is_said_with_the_statement_to_run(self, as_poor_role, create_extensions):
        with connection.cursor() as cursor:
            cursor.execute("DROP EXTENSION unaccent CASCADE")
        as_poor_role()
        with pytest.raises(ImproperlyConfigured, match="run: CREATE EXTENSION unaccent SCHEMA extensions;"):
            create_extensions()

    def test_an_extension_in_another_schema_is_not_moved_unasked(self, db, create_extensions):
        with connection.cursor() as cursor:
            cursor.execute("ALTER EXTENSION unaccent SET SCHEMA public")
        with pytest.raises(ImproperlyConfigured, match="run: ALTER EXTENSION unaccent SET SCHEMA extensions;"):
            create_extensions()
