"""The sessions of a worker's own loops: bounded, and looked after from outside."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import NotSupportedError, OperationalError, connection

from jobqueue.worker.own_session import LOOK_SECONDS, OwnSession

STALE_AFTER = timedelta(seconds=4)
LOOKS_UNTIL_CUT = int(2 / LOOK_SECONDS)  # half the stale limit

pytestmark = pytest.mark.usefixtures("committed_db")


@pytest.fixture
def session() -> Iterator[OwnSession]:
    connection.close()
    yield OwnSession("default", "a loop", STALE_AFTER, pooled=False)
    connection.close()


def setting(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [name])
        return str(cursor.fetchone()[0])


def look(session: OwnSession, times: int) -> list[bool]:
    return [session.look() for _ in range(times)]


def test_it_waits_long_neither_for_a_lock_nor_with_one(session: OwnSession) -> None:
    session.prepare()

    assert setting("lock_timeout") == "200ms"
    assert setting("idle_in_transaction_session_timeout") == "2s"


def test_where_a_pooler_hands_out_sessions_only_our_transactions_are_bounded() -> None:
    connection.close()
    pooled = OwnSession("default", "a loop", STALE_AFTER, pooled=True)
    pooled.prepare()
    assert setting("lock_timeout") == "0"

    with pooled.transaction():
        assert setting("lock_timeout") == "200ms"
    with pooled.bounded():
        assert setting("idle_in_transaction_session_timeout") == "2s"

    assert setting("lock_timeout") == setting("idle_in_transaction_session_timeout") == "0"


def test_a_question_without_an_answer_loses_its_connection_and_after_that_the_loop_is_given_up(
    session: OwnSession,
) -> None:
    session.prepare()

    assert all(look(session, LOOKS_UNTIL_CUT))
    assert setting("lock_timeout") == "200ms"
    assert session.look()
    with pytest.raises(OperationalError):
        setting("lock_timeout")

    assert all(look(session, 2 * LOOKS_UNTIL_CUT - 1))
    assert not session.look()


def test_a_loop_that_asks_anew_or_rests_is_left_alone(session: OwnSession) -> None:
    for _ in range(3):
        session.prepare()
        assert all(look(session, LOOKS_UNTIL_CUT))
    session.rest()
    assert all(look(session, 10 * LOOKS_UNTIL_CUT))

    assert setting("lock_timeout") == "200ms"


def test_what_is_asked_often_is_prepared_and_planned_each_time(session: OwnSession) -> None:
    session.prepare()
    for number in range(5):
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::int", [number])

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement = 'SELECT $1::int'"
        )
        generic, custom = cursor.fetchone()
    assert generic == 0 < custom


@pytest.mark.parametrize("pooled", [False, True])
def test_it_knows_which_process_of_the_server_has_its_transaction(pooled: bool) -> None:
    connection.close()
    session = OwnSession("default", "a loop", STALE_AFTER, pooled=pooled)
    session.prepare()
    with session.transaction(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        assert cursor.fetchone() == (session.server_process,)


def test_behind_a_pooler_nothing_is_prepared() -> None:
    connection.close()
    pooled = OwnSession("default", "a loop", STALE_AFTER, pooled=True)
    pooled.prepare()
    for number in range(5):
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::int", [number])

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        assert cursor.fetchone() == (0,)


def test_a_column_of_another_type_costs_one_refusal(session: OwnSession) -> None:
    """As where the same statement meets a tenant that is migrated and one that isn't."""

    def ask(schema: str) -> None:
        session.prepare()
        with session.transaction(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('search_path', %s, true)", [schema])
            cursor.execute("SELECT relkind FROM pg_class WHERE relname = %s", ["pg_class"])

    for _ in range(5):
        ask("pg_catalog")
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA another CREATE TABLE pg_class (relkind text, relname text)")
    try:
        with pytest.raises(NotSupportedError):
            ask("another, pg_catalog")
        for schema in ("another, pg_catalog", "pg_catalog") * 5:
            ask(schema)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA another CASCADE")
