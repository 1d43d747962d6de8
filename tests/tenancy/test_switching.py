"""Nothing of one job's tenant is left for the next, in whatever order and however they end (case T03)."""

import pytest
from django.db import DatabaseError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dms_project.tenancy import PUBLIC, current, use
from jobqueue.worker.connection_hygiene import reset_connections
from tests.tenancy.sessions import mark


class Failed(Exception):
    pass


def run_sql(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


def expect(name):
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema(), ARRAY(SELECT name FROM auth_group)")
        assert cursor.fetchone() == (name, [name])
    assert current() == name


def succeed(name, other):
    pass


def fail(name, other):
    raise Failed


def fail_before_any_statement(name, other):
    raise Failed


def time_out(name, other):
    with transaction.atomic():
        run_sql("SET LOCAL statement_timeout = 1")
        run_sql("SELECT pg_sleep(5)")


def lose_the_connection(name, other):
    connection.connection.close() if connection.connection else None
    connection.close()
    expect(name)


def switch_and_fail(name, other):
    with use(other):
        expect(other)
        raise Failed


def nest_three_deep(name, other):
    with use(other):
        with use(name):
            expect(name)
        expect(other)
    expect(name)


def fail_in_a_transaction_of_the_other(name, other):
    try:
        with transaction.atomic(), use(other):
            expect(other)
            raise Failed
    finally:
        expect(name)


def break_a_savepoint(name, other):
    with transaction.atomic():
        with pytest.raises(DatabaseError), transaction.atomic(), use(other):
            run_sql("SELECT 1 / 0")
        expect(name)


def set_the_path_by_hand(name, other):
    run_sql(f"SET search_path TO {other}, public")


def leave_a_transaction_open(name, other):
    connection.set_autocommit(False)
    expect(name)
    with use(other):
        expect(other)


ENDINGS = [
    succeed,
    fail,
    fail_before_any_statement,
    time_out,
    lose_the_connection,
    switch_and_fail,
    nest_three_deep,
    fail_in_a_transaction_of_the_other,
    break_a_savepoint,
    set_the_path_by_hand,
    leave_a_transaction_open,
]
JOBS = st.tuples(st.sampled_from(["acme", "globex", PUBLIC]), st.sampled_from(ENDINGS), st.booleans())


@pytest.fixture(scope="module")
def marked(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock():
        mark("acme", "globex", PUBLIC)
        yield
        for name in ("acme", "globex", PUBLIC):
            with use(name):
                run_sql("DELETE FROM auth_group")
        connection.close()


def run(job):
    """Run a job as a worker's thread does; without ``washed`` the connection goes to the next one as it is."""
    name, ending, washed = job
    other = "globex" if name == "acme" else "acme"
    try:
        with use(name):
            if ending is not fail_before_any_statement:
                expect(name)
            ending(name, other)
    except (Failed, DatabaseError):
        pass
    if not connection.get_autocommit():
        connection.rollback()
        connection.set_autocommit(True)
    if washed:
        reset_connections()


@pytest.mark.timeout(300)  # many sessions are lost on the way, and each is made anew
@settings(max_examples=1000, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(jobs=st.lists(JOBS, min_size=2, max_size=5))
def test_a_thousand_sequences_of_jobs_leave_nothing_to_the_next(marked, jobs):
    for job in jobs:
        run(job)
        expect(PUBLIC)
        with use("globex"):
            expect("globex")
