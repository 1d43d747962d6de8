"""The checker itself: a good history is clean, and each forged one is found out, by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.faults.checker import CHECKS, PROMISES, Violation, violations
from tests.faults.history import Attempt, Decision, Enqueue, Fault, History, JobId, Row, Run, Worker
from tests.faults.telling import from_events
from tests.faults.verdict import verdict

JOB = JobId("acme", 1)
FIRST, SECOND = Worker("w1"), Worker("w2")


def run(token: str, number: int, started: float, ended: float, how: str = "returned", worker: Worker = FIRST) -> Run:
    return Run(JOB, token, number, worker.name, started, ended, how, "acme")


def made(number: int, outcome: str, worker: Worker = FIRST, error: str = "", ended: float = 5) -> Attempt:
    return Attempt(number, worker.name, outcome, error, ended)


DONE = Row(JOB, "a", "succeeded", 1, 3, False, "t1", "t1", attempts_made=[made(1, "succeeded")])
GOOD: dict[str, Any] = {
    "enqueues": [Enqueue("acme", "a", "b1", "committed")],
    "rows": [DONE],
    "runs": [run("t1", 1, 1, 2)],
    "workers": [FIRST, SECOND],
}
TWICE = [run("t1", 1, 1, 4), run("t2", 2, 3, 5, worker=SECOND)]
TWICE_DONE = replace(
    DONE, attempts=2, token="t2", result_token="t2",
    attempts_made=[made(1, "worker_died"), made(2, "succeeded", SECOND)],
)  # fmt: skip
LATE = [run("t2", 2, 1, 2, worker=SECOND), run("t1", 1, 3, 4)]
COSTLY = Fault("stopped", 0, 3, frozenset(["w1"]), costs_claims=True)
FAILED = run("t1", 1, 1, 2, "raised")
DEAD = replace(DONE, status="dead_letter", attempts=1, max_attempts=1, attempts_made=[made(1, "failed", error="t1")])


def good(**changes: Any) -> History:
    return History(**GOOD | changes)


CLEAN: dict[str, History] = {
    "a job that ran once": good(),
    "nothing": History(),
    "an enqueue of which nobody heard, and no row": good(
        enqueues=[*GOOD["enqueues"], Enqueue("acme", "x", "b2", "unknown")]
    ),
    "a known key": good(
        enqueues=[Enqueue("acme", "a", "b1", "committed", "k"), Enqueue("acme", "x", "b2", "committed", "k")],
        rows=[replace(DONE, key="k")],
    ),
    "a worker that was stopped for long": good(rows=[TWICE_DONE], runs=TWICE, faults=[COSTLY]),
    "a worker that was stopped for long begins what it had taken in advance": good(
        rows=[TWICE_DONE], runs=LATE, faults=[COSTLY]
    ),
    "a worker that was stopped for long just before its handler began": good(
        rows=[TWICE_DONE],
        runs=[run("t1", 1, 3.1, 3.2), run("t2", 2, 3.5, 5, worker=SECOND)],
        faults=[COSTLY],
    ),
    "a worker that died": good(
        rows=[TWICE_DONE],
        runs=[replace(TWICE[0], ended=float("inf"), how=None), TWICE[1]],
        workers=[Worker("w1", 2.5, died=True), SECOND],
    ),
    "attempts used up": good(rows=[DEAD], runs=[FAILED]),
    "a retry that is useless": good(rows=[replace(DEAD, max_attempts=9)], runs=[run("t1", 1, 1, 2, "useless")]),
    "given back and done": good(
        rows=[replace(DONE, token="t2", result_token="t2", attempts_made=[made(1, "released"), made(1, "succeeded")])],
        runs=[run("t1", 1, 1, 2, None), run("t2", 1, 3, 4)],  # type: ignore[arg-type]  # it never ended
    ),
    "requeued and done": good(
        rows=[replace(DONE, token="t2", result_token="t2", attempts_made=[made(1, "failed"), made(1, "succeeded")])],
        runs=[FAILED, run("t2", 1, 3, 4)],
        decisions=[Decision(JOB, "requeue", 2.5, "done")],
    ),
    "discarded": good(
        rows=[replace(DEAD, status="failed")], runs=[FAILED], decisions=[Decision(JOB, "discard", 3, "unknown")]
    ),
    "due later": good(rows=[replace(DONE, status="pending", attempts=0, attempts_made=[])], runs=[]),
}

FORGED: dict[str, tuple[str, History]] = {
    "a committed job has no row": ("lost", good(rows=[], runs=[])),
    "a rolled back job has one": ("invented", good(enqueues=[Enqueue("acme", "a", "b1", "rolled back")])),
    "nobody enqueued it": ("invented", good(enqueues=[])),
    "half a batch": (
        "torn",
        good(enqueues=[Enqueue("acme", "a", "b1", "unknown"), Enqueue("acme", "x", "b1", "unknown")]),
    ),
    "two rows of one enqueue": ("enqueued twice", good(rows=[DONE, replace(DONE, job=JobId("acme", 2))])),
    "two rows of one key": (
        "enqueued twice",
        good(
            enqueues=[Enqueue("acme", "a", "b1", "committed", "k"), Enqueue("acme", "x", "b2", "committed", "k")],
            rows=[replace(DONE, key="k"), replace(DONE, job=JobId("acme", 2), mark="x", key="k")],
        ),
    ),
    "two at once, and nothing was broken": ("overlap", good(rows=[TWICE_DONE], runs=TWICE)),
    "two at once, and another worker was broken": (
        "overlap",
        good(rows=[TWICE_DONE], runs=TWICE, faults=[replace(COSTLY, workers=frozenset(["w2"]))]),
    ),
    "two at once, and the fault came afterwards": (
        "overlap",
        good(rows=[TWICE_DONE], runs=TWICE, faults=[replace(COSTLY, began=3.5, ended=9)]),
    ),
    "again after a good end": (
        "repeated",
        good(rows=[TWICE_DONE], runs=[run("t1", 1, 1, 2), run("t2", 2, 3, 5, worker=SECOND)]),
    ),
    "an older claim begins late, and nothing was broken": ("repeated", good(rows=[TWICE_DONE], runs=LATE)),
    "two successes": ("repeated", good(rows=[replace(DONE, attempts_made=[made(1, "succeeded")] * 2)])),
    "in another's schema": ("foreign schema", good(runs=[replace(run("t1", 1, 1, 2), seen_schema="globex")])),
    "success without a run": ("unearned", good(runs=[])),
    "success of a run that raised": ("unearned", good(runs=[FAILED])),
    "success of a run that is still going on": (
        "unearned",
        good(runs=[replace(run("t1", 1, 1, 2), ended=float("inf"), how=None)]),
    ),
    "an old claim's result": (
        "old claim",
        good(rows=[replace(TWICE_DONE, result_token="t1")], runs=TWICE, faults=[COSTLY]),
    ),
    "an old claim's failure": (
        "old claim",
        good(
            rows=[
                replace(
                    DEAD, attempts=2, max_attempts=2,
                    attempts_made=[made(1, "worker_died"), made(2, "failed", SECOND, "ValueError: t1")],
                )
            ],
            runs=[run("t1", 1, 1, 4, "raised"), run("t2", 2, 3, 5, "raised", SECOND)],
            faults=[COSTLY],
        ),
    ),
    "too many attempts": ("miscounted", good(rows=[replace(DEAD, attempts=2)], runs=[FAILED])),
    "a run that isn't counted": (
        "miscounted",
        good(
            rows=[replace(DONE, token="t2", result_token="t2", attempts_made=[made(1, "succeeded")])],
            runs=[FAILED, run("t2", 1, 3, 4)],
        ),
    ),
    "a number left out": (
        "miscounted",
        good(
            rows=[replace(DONE, attempts=3, attempts_made=[made(1, "failed"), made(3, "succeeded")])],
            runs=[FAILED, run("t1", 3, 3, 4)],
        ),
    ),
    "a living worker taken for dead": ("taken for dead", good(rows=[TWICE_DONE], runs=[TWICE[1]])),
    "a worker that nobody knows": ("taken for dead", good(rows=[TWICE_DONE], runs=[TWICE[1]], workers=[SECOND])),
    "processing without a worker": ("stuck", good(rows=[replace(DONE, status="processing")])),
    "due and not done": ("stuck", good(rows=[replace(DONE, status="pending", due=True)])),
    "dead with attempts left": ("dead letter", good(rows=[replace(DEAD, max_attempts=3)], runs=[FAILED])),
    "given up by nobody": ("dead letter", good(rows=[replace(DEAD, status="failed")], runs=[FAILED])),
    "given up and back": ("dead letter", good(decisions=[Decision(JOB, "discard", 0, "done")])),
}  # fmt: skip


@pytest.mark.parametrize("history", CLEAN.values(), ids=list(CLEAN))
def test_a_good_history_is_clean(history: History) -> None:
    assert violations(history) == []


@pytest.mark.parametrize(("kind", "history"), FORGED.values(), ids=list(FORGED))
def test_a_forged_history_is_found_out(kind: str, history: History) -> None:
    assert kind in {violation.kind for violation in violations(history)}


def test_each_check_finds_something() -> None:
    found: dict[Callable[..., Any], list[str]] = {
        check: [name for name, (_, history) in FORGED.items() if list(check(history))] for check in CHECKS
    }
    assert all(found.values()), found


def test_each_promise_is_broken_by_some_forged_history() -> None:
    found = {violation.kind for _, history in FORGED.values() for violation in violations(history)}
    assert found == set(PROMISES) - {"process"}  # that is seen by who starts them


def test_the_verdict_is_in_plain_words() -> None:
    judged = verdict(good(rows=[TWICE_DONE], runs=TWICE, faults=[COSTLY]))
    text = str(judged)
    assert judged.clean
    assert "missed" not in text
    assert "Enqueued: 1 committed, 0 rolled back, 0 whose outcome nobody heard." in text
    assert "2 in 2 workers, 0 of which died; 1 overlapped with the next of their job." in text
    assert "Faults: 1 (1 stopped)." in text
    assert text.endswith("VERDICT: clean. Every promise was kept.")

    judged = verdict(good(rows=[TWICE_DONE], runs=TWICE), [Violation("process", "w1 ended with status 3")])
    text = str(judged)
    assert not judged.clean
    assert [row["promise"] for row in judged.as_json()["rows"] if row["verdict"] == "missed"] == [
        "overlap",
        "repeated",
        "taken for dead",
        "process",
    ]
    assert (
        "BROKEN, overlap (1):\n  job acme/1 ran in worker w1 (attempt 1) and in worker w2 (attempt 2) at the same time"
    ) in text
    assert text.endswith("broken promises.")


def test_a_history_is_put_together_from_the_ledger() -> None:
    job = {"schema": "acme", "job": 1, "token": "t1"}
    told = from_events(
        [
            {"event": "enqueueing", "schema": "acme", "batch": "b1", "marks": {"a": None, "x": "k"}},
            {"event": "worker", "name": "w1"},
            {"event": "start", **job, "attempt": 1, "worker": "w1", "at": 1},
            {"event": "committed", "marks": ["a"]},
            {"event": "end", **job, "at": 2, "how": "returned", "seen_schema": "acme"},
            {"event": "worker ended", "name": "w1", "at": 8, "died": True},
            {"event": "fault", "kind": "stopped", "began": 0, "at": 3, "workers": ["w1"], "costs_claims": True},
            {"event": "decided", "schema": "acme", "job": 1, "verb": "cancel", "at": 3, "outcome": "unknown"},
        ],
        [DONE],
    )
    assert told.enqueues == [Enqueue("acme", "a", "b1", "committed"), Enqueue("acme", "x", "b1", "unknown", "k")]
    assert told.runs == [run("t1", 1, 1, 2)]
    assert told.workers == {"w1": Worker("w1", 8, died=True)}
    assert told.faults == [COSTLY]
    assert told.decisions == [Decision(JOB, "cancel", 3, "unknown")]
