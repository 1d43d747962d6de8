"""The database backend: the session's search_path follows the active tenant, whatever happens in between."""

import psycopg
import pytest
from django.contrib.auth.models import Group
from django.db import DataError, ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext

from dms_project.tenancy import PUBLIC, use
from dms_project.tenancy.exceptions import CursorOfAnotherTenant
from tests.tenancy.sessions import mark, marks, schema_in_force, search_path


def fail_in(name):
    assert schema_in_force() == name
    raise ZeroDivisionError


def test_a_tenants_path_holds_its_schema_and_the_extensions_and_never_public(tenant):
    assert search_path() == f"{tenant}, extensions"


def test_without_a_tenant_the_path_is_public_and_the_extensions(db):
    assert search_path() == "public, extensions"


def test_what_a_tenant_lacks_is_not_found_in_public(tenant):
    with connection.cursor() as cursor, pytest.raises(ProgrammingError, match='"tenants" does not exist'):
        cursor.execute("SELECT * FROM tenants")


def test_the_extensions_are_found_in_every_schema(tenant):
    with connection.cursor() as cursor:
        cursor.execute("SELECT unaccent('Zoë'), similarity('one', 'one')")
        assert cursor.fetchone() == ("Zoe", 1.0)


class TestTransactions:
    def test_a_rollback_that_takes_the_path_back_is_noticed(self, committed_db):
        with use("acme"):
            with pytest.raises(ZeroDivisionError), transaction.atomic(), use("globex"):
                fail_in("globex")
            assert schema_in_force() == "acme"

    def test_a_tenant_entered_in_a_transaction_that_rolls_back_stays_entered(self, committed_db):
        transaction.set_autocommit(False)
        try:
            with use("acme"):
                assert schema_in_force() == "acme"
                transaction.rollback()
                assert schema_in_force() == "acme"
                transaction.rollback()
        finally:
            transaction.set_autocommit(True)

    def test_a_savepoint_rollback_that_takes_the_path_back_is_noticed(self, db):
        with use("acme"):
            savepoint = transaction.atomic()
            savepoint.__enter__()
            with use("globex"):
                assert schema_in_force() == "globex"
                savepoint.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
                assert schema_in_force() == "globex"
            assert schema_in_force() == "acme"

    def test_a_statement_that_fails_under_another_tenant_leaves_the_outer_one_working(self, db):
        with use("acme"), transaction.atomic():
            with pytest.raises(DataError), transaction.atomic(), use("globex"), connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
            assert schema_in_force() == "acme"

    def test_the_commit_of_a_failed_transaction_is_noticed(self, committed_db):
        transaction.set_autocommit(False)
        try:
            with use("acme"):
                schema_in_force()
                with pytest.raises(DataError), connection.cursor() as cursor:
                    cursor.execute("SELECT 1 / 0")
                transaction.commit()  # which PostgreSQL turns into a rollback
                assert schema_in_force() == "acme"
                transaction.rollback()
        finally:
            transaction.set_autocommit(True)

    def test_the_isolation_level_can_still_be_set(self, committed_db):
        with use("acme"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            cursor.execute("SELECT current_schema(), current_setting('transaction_isolation')")
            assert cursor.fetchone() == ("acme", "serializable")


class TestSessions:
    def test_a_connection_that_was_closed_comes_back_in_the_tenant(self, committed_db):
        with use("acme"):
            schema_in_force()
            connection.close()
            assert schema_in_force() == "acme"

    def test_a_session_that_the_server_ended_comes_back_in_the_tenant(self, committed_db):
        with use("acme"):
            schema_in_force()
            with psycopg.connect(connection.connection.info.dsn) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid])
            with pytest.raises(Exception, match=r"terminat|closed|lost"):
                schema_in_force()
            connection.close_if_unusable_or_obsolete()
            assert schema_in_force() == "acme"

    def test_discard_all_between_two_jobs_is_noticed(self, committed_db):
        with use("acme"):
            schema_in_force()
            connection.connection.execute("DISCARD ALL")
            connection.init_connection_state()
            assert search_path() == "acme, extensions"

    @pytest.mark.parametrize("following", ["acme", "globex", PUBLIC])
    def test_a_search_path_set_by_hand_is_gone_in_the_next_block(self, committed_db, following):
        with use("acme"), connection.cursor() as cursor:
            cursor.execute("SET search_path TO globex, public")
        with use(following):
            assert search_path() == f"{following}, extensions"

    def test_a_search_path_set_by_hand_in_a_nested_block_is_gone_after_it(self, committed_db):
        with use("acme"):
            with use("acme"), connection.cursor() as cursor:
                cursor.execute("SET search_path TO globex")
            assert schema_in_force() == "acme"

    def test_a_copy_of_the_connection_is_in_the_tenant_too(self, committed_db):
        with use("acme"):
            schema_in_force()
            other = connection.copy()
            try:
                with other.cursor() as cursor:
                    cursor.execute("SELECT current_schema()")
                    assert cursor.fetchone() == ("acme",)
            finally:
                other.close()

    def test_the_path_is_set_once_for_many_statements(self, committed_db):
        with use("acme"):
            schema_in_force()
            applied = connection._applied
            for _ in range(3):
                schema_in_force()
            assert connection._applied is applied
            with CaptureQueriesContext(connection) as queries:
                marks()
        assert [query["sql"].split()[0] for query in queries] == ["SELECT"]

    def test_a_session_from_a_pool_is_in_the_tenant_whoever_had_it_before(self, committed_db):
        pooled = connection.copy()
        pooled.settings_dict |= {"CONN_MAX_AGE": 0}
        pooled.settings_dict["OPTIONS"] = {**pooled.settings_dict["OPTIONS"], "pool": {"min_size": 1, "max_size": 1}}
        try:
            for name in ("acme", "globex", PUBLIC, "acme"):
                with use(name), pooled.cursor() as cursor:
                    cursor.execute("SELECT current_schema()")
                    assert cursor.fetchone() == (name,)
                pooled.close()
        finally:
            pooled.close_pool()


class TestCursors:
    def test_a_cursor_of_one_tenant_runs_nothing_under_another(self, db):
        with use("acme"):
            cursor = connection.cursor()
        for run in (
            lambda: cursor.execute("SELECT 1"),
            lambda: cursor.executemany("SELECT %s", [[1]]),
            lambda: cursor.callproc("now"),
            lambda: cursor.copy("COPY auth_group TO STDOUT"),
            lambda: cursor.stream("SELECT 1"),
        ):
            with use("globex"), pytest.raises(CursorOfAnotherTenant, match="opened under 'acme'"):
                run()
            with pytest.raises(CursorOfAnotherTenant, match="under 'public'"):
                run()

    def test_a_cursor_goes_on_in_its_tenant_after_a_block_of_another(self, db):
        with use("acme"), connection.cursor() as cursor:
            cursor.execute("SELECT current_schema()")
            with use("globex"):
                schema_in_force()
            cursor.execute("SELECT current_schema()")
            assert cursor.fetchone() == ("acme",)

    def test_the_guard_holds_while_queries_are_logged(self, db):
        with use("acme"), CaptureQueriesContext(connection):
            cursor = connection.cursor()
        with pytest.raises(CursorOfAnotherTenant):
            cursor.execute("SELECT 1")

    def test_copy_works_in_the_tenant(self, db):
        mark("acme", "globex")
        copied = "COPY (SELECT name FROM auth_group) TO STDOUT"
        with use("acme"), connection.cursor() as cursor, cursor.copy(copied) as copy:
            assert bytes(copy.read()) == b"acme\n"

    def test_rows_still_to_be_fetched_stay_those_of_their_tenant(self, committed_db):
        mark("acme", "globex")
        with use("acme"):
            rows = Group.objects.iterator(chunk_size=1)
            first = next(rows)
            with use("globex"):
                assert marks() == ["globex"]
        assert [first.name, *(row.name for row in rows)] == ["acme"]


def test_a_lazy_queryset_reads_where_it_is_evaluated(db):
    """Inherent in Django's querysets; what must not happen is a mixture, or a fall to public."""
    mark("acme", "globex", PUBLIC)
    with use("acme"):
        lazy = Group.objects.order_by("pk")
    with use("globex"):
        assert [group.name for group in lazy] == ["globex"]


@pytest.mark.parametrize("logged", [False, True])
def test_the_same_statement_gives_each_tenant_its_own_rows(db, settings, logged):
    mark("acme", "globex")
    connection.force_debug_cursor = logged
    try:
        for name in ("acme", "globex") * 5:
            with use(name):
                assert marks() == [name]
    finally:
        connection.force_debug_cursor = False
