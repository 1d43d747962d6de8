"""Jobs that wait for others: each is enqueued exactly once, when the last of those it waits for has succeeded."""

import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobqueue.control.flows import flow_state
from jobqueue.control.retention import prune_flows
from jobqueue.exceptions import FlowNotFound, InvalidJob
from jobqueue.flows import Plan, Step, chain, graph, group
from jobqueue.handlers import JobContext
from jobqueue.models import FlowStep, JobFlow, ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.rows.flow_steps import _ADVANCE, _LOCK, _RESULTS
from tests.jobqueue.concurrency import backend_pid, threads, waits_for_a_lock
from tests.jobqueue.waiting import eventually


def job(name: str, **options: Any) -> JobSpec:
    return JobSpec("test.ok", {"name": name}, **options)


def waiting() -> list[str]:
    """Names of the jobs that could run now."""
    return sorted(row.payload["name"] for row in ProcessingJob.objects.filter(status="pending"))


def succeed(queue: Queue, *names: str) -> None:
    """Run these of the jobs that could run, all in one batch."""
    claimed = queue.dequeue_many("w", 100)
    queue.release([each for each in claimed if each.payload["name"] not in names])
    done = [each for each in claimed if each.payload["name"] in names]
    assert sorted(each.payload["name"] for each in done) == sorted(names)
    assert len(queue.complete_many([(each, each.payload["name"]) for each in done]).recorded) == len(names)


def test_each_part_of_a_chain_waits_for_the_one_before(queue: Queue) -> None:
    queue.enqueue_flow(chain(job("a"), group(job("b"), job("c")), job("d")), name="letters")

    assert waiting() == ["a"]
    succeed(queue, "a")
    assert waiting() == ["b", "c"]
    succeed(queue, "c")
    assert waiting() == ["b"]
    succeed(queue, "b")
    assert waiting() == ["d"]
    succeed(queue, "d")
    assert waiting() == []
    assert not FlowStep.objects.filter(done_at=None).exists()


def test_a_group_in_one_batch_is_joined_once(queue: Queue) -> None:
    names = [f"member {number}" for number in range(20)]
    queue.enqueue_flow(group(*map(job, names), then=job("join")))

    succeed(queue, *names)

    assert waiting() == ["join"]


def test_named_steps_wait_for_those_they_name(queue: Queue) -> None:
    plan = graph({
        "join": Step(job("join"), after=["left", "right"]),
        "left": Step(job("left"), after=["start"]),
        "right": Step(job("right")),
        "start": Step(job("start")),
    })  # fmt: skip
    queue.enqueue_flow(plan)

    assert waiting() == ["right", "start"]
    succeed(queue, "right", "start")
    assert waiting() == ["left"]
    succeed(queue, "left")
    assert waiting() == ["join"]
    assert set(FlowStep.objects.values_list("name", flat=True)) == {"join", "left", "right", "start"}


def test_a_part_without_steps_is_passed_over(queue: Queue) -> None:
    queue.enqueue_flow(chain(job("a"), group(), chain(job("b"))))

    assert waiting() == ["a"]
    succeed(queue, "a")
    assert waiting() == ["b"]


def test_whatever_follows_has_the_options_it_was_planned_with(queue: Queue) -> None:
    spec = JobSpec("test.other", {"text": 'ü"\\', "n": [1, None]}, None, "slow", 7, None, 3, concurrency_key="k")
    queue.enqueue_flow(chain(job("a"), spec))
    succeed(queue, "a")

    row = ProcessingJob.objects.get(job_type="test.other")
    assert (row.payload, row.queue_name, row.priority, row.max_attempts) == (spec.payload, "slow", 7, 3)
    assert (row.concurrency_key, row.concurrency_limit) == ("k", 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: chain(), "needs a step"),
        (lambda: group(), "needs a step"),
        (lambda: chain(job("a"), job("b", idempotency_key="k")), "Step 1 has an idempotency key"),
        (lambda: chain(job("a"), JobSpec("", {})), "Step 1: job_type has 0 characters"),
        (lambda: graph({"a": Step(job("a"), after=["b"])}), "Step 'a' waits for 'b', which isn't"),
        (lambda: graph({"a": Step(job("a"), ["b"]), "b": Step(job("b"), ["a"])}), "wait for each other: 'a', 'b', 'a'"),
        (lambda: graph({"": Step(job("a"))}), "a step's name has 0 characters"),
        (lambda: group(*[job("a")] * 10_001), "10,001 steps"),
    ],
)
def test_a_plan_that_can_not_work_is_refused_before_any_sql_runs(
    queue: Queue, make: Callable[[], Plan], message: str, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0), pytest.raises(InvalidJob, match=message):
        queue.enqueue_flow(make())


def test_a_flow_exists_exactly_if_its_transaction_commits(queue: Queue) -> None:
    with transaction.atomic():
        queue.enqueue_flow(chain(job("a"), job("b")))
        transaction.set_rollback(True)

    assert not JobFlow.objects.exists()
    assert not ProcessingJob.objects.exists()


def test_the_same_key_names_the_same_flow(queue: Queue) -> None:
    first = queue.enqueue_flow(chain(job("a"), job("b")), idempotency_key="k")
    again = queue.enqueue_flow(chain(job("c")), idempotency_key="k")

    assert (first.created, again.created, again.pk) == (True, False, first.pk)
    assert waiting() == ["a"]


@pytest.mark.parametrize("members", [1, 50])
def test_a_flow_costs_a_constant_number_of_statements(
    queue: Queue, members: int, django_assert_num_queries: Any
) -> None:
    plan = group(*[job("a")] * members, then=job("b"))
    with django_assert_num_queries(3 + 2):  # a savepoint and its release
        queue.enqueue_flow(plan)
    jobs = queue.dequeue_many("w", members)
    with django_assert_num_queries(1 + 3):
        queue.complete_many([(each, None) for each in jobs])


def test_completing_jobs_of_no_flow_costs_one_statement_as_ever(queue: Queue, django_assert_num_queries: Any) -> None:
    queue.enqueue_many([job("a")] * 3)
    jobs = queue.dequeue_many("w", 3)
    with django_assert_num_queries(1):
        queue.complete_many([(each, None) for each in jobs])


def test_behind_a_dead_letter_all_wait_and_its_requeue_lets_the_flow_go_on(queue: Queue) -> None:
    queue.enqueue_flow(chain(job("a", max_attempts=1), job("b")))
    queue.fail(queue.dequeue("w"), "broken")
    (dead,) = ProcessingJob.objects.all()
    assert dead.status == "dead_letter"
    assert FlowStep.objects.get(position=1).waits_for == 1

    queue.requeue_dead_letter(dead.pk)
    succeed(queue, "a")

    assert waiting() == ["b"]


def test_what_was_recorded_twice_counts_once(queue: Queue) -> None:
    """The answer to a COMMIT may be lost, and the same success be recorded again."""
    queue.enqueue_flow(group(job("a"), job("b"), then=job("c")))
    first, second = queue.dequeue_many("w", 2)

    for _ in range(2):
        queue.complete_many([(first, None)])
        queue.complete(first)
    assert waiting() == []
    queue.complete(second)
    assert waiting() == ["c"]


def test_a_cancelled_flow_begins_nothing_more(queue: Queue) -> None:
    flow = queue.enqueue_flow(group(job("a"), job("b"), then=job("c")))
    running = queue.dequeue("w")

    assert queue.cancel_flow(flow.pk) == 2

    assert set(ProcessingJob.objects.values_list("status", flat=True)) == {"failed"}
    assert queue.status(running.pk) == "failed"
    with pytest.raises(FlowNotFound, match="There is no flow 0"):
        queue.cancel_flow(0)


def test_a_job_that_succeeds_after_its_flow_was_cancelled_starts_nothing(queue: Queue) -> None:
    flow = queue.enqueue_flow(chain(job("a"), job("b")))
    running = queue.dequeue("w")
    JobFlow.objects.filter(pk=flow.pk).update(cancelled_at=flow.created_at)  # the job was just being completed

    queue.complete(running)

    assert waiting() == []


def test_a_step_reads_what_those_before_it_returned(queue: Queue) -> None:
    queue.enqueue_flow(chain(group(job("a"), job("b")), job("c")))
    succeed(queue, "b")
    succeed(queue, "a")
    last = queue.dequeue("w")

    assert JobContext(last, queue).results_before() == ["a", "b"]
    queue.enqueue("test.ok", {})
    assert JobContext(queue.dequeue("w"), queue).results_before() == []


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any graph without circles: each step waits for some of those before it."""
    count = draw(st.integers(1, 7))
    steps = {}
    for number in range(count):
        after = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        steps[str(number)] = Step(job(str(number)), [str(each) for each in after])
    order = draw(st.permutations(list(steps)))
    return graph({name: steps[name] for name in order})


@given(plan=plans(), data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_in_whatever_order_and_batches_jobs_succeed_each_step_begins_once_and_in_time(
    queue: Queue, plan: Plan, data: st.DataObject
) -> None:
    names = [step.spec.payload["name"] for step in plan.steps]
    after = {name: {names[each] for each in step.after} for name, step in zip(names, plan.steps, strict=True)}
    ProcessingJob.objects.all().delete()
    queue.enqueue_flow(plan)
    done: set[str] = set()
    while len(done) < len(names):
        expected = sorted(name for name in names if name not in done and after[name] <= done)
        assert waiting() == expected
        batch = data.draw(st.sets(st.sampled_from(expected), min_size=1))
        succeed(queue, *batch)
        done |= batch
    assert ProcessingJob.objects.count() == len(names)


def test_what_a_success_reads_of_the_flows_is_found_by_indexes(queue: Queue) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        for statement, values in ((_LOCK, {"steps": [1, 2]}), (_ADVANCE, {"steps": [1, 2]}), (_RESULTS, [1])):
            cursor.execute(f"EXPLAIN {statement}", values)
            assert "Seq Scan" not in "\n".join(line for (line,) in cursor.fetchall())


@pytest.mark.usefixtures("committed_db")
def test_the_last_two_of_a_group_that_end_at_the_same_time_begin_the_join_once(queue: Queue) -> None:
    queue.enqueue_flow(group(job("a"), job("b"), then=job("c")))
    first, second = queue.dequeue_many("w", 2)
    pids: list[int] = []

    def complete_second() -> None:
        pids.append(backend_pid())
        queue.complete_many([(second, None)])

    with threads(1) as start:
        with transaction.atomic():
            queue.complete_many([(first, None)])
            other = start(complete_second)
            eventually(lambda: bool(pids) and waits_for_a_lock(pids[0]), what="the other waits for the first's commit")
        other.result(20)

    assert waiting() == ["c"]


def test_people_see_what_is_done_what_runs_and_what_waits_for_what(queue: Queue, tenant: str) -> None:
    flow = queue.enqueue_flow(chain(group(job("a"), job("b", max_attempts=1)), job("c")), name="letters")
    succeed(queue, "a")
    queue.fail(queue.dequeue("w"), "broken")

    state = flow_state("default", flow.pk)
    assert [step.state for step in state.steps] == ["succeeded", "dead_letter", "waiting"]
    assert (state.state, state.done, state.steps[2].waits_for) == ("dead_letter", 1, [1])
    assert "letters: dead_letter, 1 of 3 steps done" in _jobs("flow", str(flow.pk), "--tenant", tenant)
    (listed,) = json.loads(_jobs("flows", "--tenant", tenant, "--json"))
    assert (listed["id"], listed["done"]) == (flow.pk, "1 of 3")
    with pytest.raises(CommandError, match=r"There is no flow 0\. See 'manage.py jobs flows'"):
        _jobs("flow", "0", "--tenant", tenant)

    dead = ProcessingJob.objects.get(status="dead_letter")
    queue.discard(dead.pk)
    assert flow_state("default", flow.pk).state == "stopped"
    queue.cancel_flow(flow.pk)
    assert [step.state for step in flow_state("default", flow.pk).steps] == ["succeeded", "failed", "cancelled"]


def test_a_flow_is_removed_when_none_of_its_jobs_is_left(queue: Queue) -> None:
    kept, gone = queue.enqueue_flow(chain(job("a"), job("b"))), queue.enqueue_flow(chain(job("c")))
    ProcessingJob.objects.filter(payload__name="c").delete()

    assert sum(prune_flows("default", timedelta(days=1))) == 0
    assert sum(prune_flows("default", timedelta(0))) == 1

    assert flow_state("default", kept.pk).state == "running"
    with pytest.raises(FlowNotFound):
        flow_state("default", gone.pk)


def _jobs(*arguments: str) -> str:
    out = StringIO()
    call_command("jobs", *arguments, stdout=out)
    return out.getvalue()
