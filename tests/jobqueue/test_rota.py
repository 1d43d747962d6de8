"""Which tenants a worker looks into, and when: a pure object with the clock as an argument."""

from hypothesis import given
from hypothesis import strategies as st

from jobqueue.wakeup import QUIET_SECONDS
from jobqueue.worker.rota import Rota


def served(*names: str, at: float = 0.0) -> Rota:
    rota = Rota()
    rota.serve(names, at)
    return rota


def test_a_new_tenant_is_looked_into_at_once_and_a_deleted_one_no_more() -> None:
    rota = served("a", "b")
    for name in "ab":
        rota.looked(name, 0.0, found=False, again_in=60)
    rota.serve(["b", "c"], 1.0)
    assert rota.due(1.0) == ["c"]
    assert set(rota.names) == {"b", "c"}


def test_whoever_had_something_comes_last() -> None:
    rota = served("a", "b", "c")
    rota.looked("a", 0.0, found=True, again_in=0)
    assert rota.due(0.0) == ["b", "c", "a"]
    rota.looked("b", 0.0, found=False, again_in=0)
    assert rota.due(0.0) == ["b", "c", "a"]


def test_a_wake_up_makes_its_tenant_due_now_and_once_more_soon_after() -> None:
    rota = served("a", "b")
    for name in "ab":
        rota.looked(name, 0.0, found=False, again_in=60)
    assert rota.due(1.0) == []

    rota.wake("b", 1.0)
    assert rota.due(1.0) == ["b"]
    rota.looked("b", 1.0, found=True, again_in=60)
    assert rota.due(1.001) == []
    assert QUIET_SECONDS < rota.seconds_to_next(1.0) < 0.1
    assert rota.due(1.0 + 2 * QUIET_SECONDS) == ["b"]
    rota.looked("b", 1.0 + 2 * QUIET_SECONDS, found=False, again_in=60)
    assert rota.due(50.0) == []


def test_a_wake_up_without_a_name_is_for_all_and_one_for_a_stranger_for_none() -> None:
    rota = served("a", "b")
    for name in "ab":
        rota.looked(name, 0.0, found=False, again_in=60)
    rota.wake("stranger", 1.0)
    assert rota.due(1.0) == []
    rota.wake("", 1.0)
    assert rota.due(1.0) == ["a", "b"]


def test_without_tenants_the_one_schema_has_no_name() -> None:
    rota = served("")
    rota.looked("", 0.0, found=False, again_in=60)
    rota.wake("", 1.0)
    assert rota.due(1.0) == [""]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=40))
def test_nobody_who_is_due_is_passed_over_for_ever(looks: list[tuple[str, bool]]) -> None:
    """Serving the first of those due, whatever is found there, serves each within as many turns as there are."""
    rota = served(*"abcd")
    for name, found in looks:
        rota.looked(name, 0.0, found=found, again_in=0)
    turns = []
    for _ in range(4):
        first = rota.due(0.0)[0]
        turns.append(first)
        rota.looked(first, 0.0, found=True, again_in=0)
    assert sorted(turns) == list("abcd")
