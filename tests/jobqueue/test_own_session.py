"""The sessions of a worker's own loops: bounded, and looked after from outside."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from jobqueue.own_session import LOOK_SECONDS, OwnSession

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
