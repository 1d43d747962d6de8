"""``/metrics``: the truth of the database as text, for those who may read it, in bounded time and size. Case O18."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from dms_project import metrics
from dms_project.operators import fleet_counts
from dms_project.operators.exposition import LABELLED_TENANTS, OTHERS, lines
from dms_project.operators.fleet_counts import FleetCounts, Sample
from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.rows.counts import LIMIT, Counts
from tests.house.clone import Answer, Run, eventually, get
from tests.house.test_health import postgres, suspended, web

TOKEN = "a-token-for-the-metrics-0815"
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def parse(text: str) -> dict[str, float]:
    """Return the samples by name and labels; whatever is no line of the format fails."""
    samples: dict[str, float] = {}
    described: set[str] = set()
    for line in text.splitlines():
        if about := re.fullmatch(r"# (HELP|TYPE) (\w+) (.+)", line):
            described.add(f"{about[1]} {about[2]}")
            continue
        sample = re.fullmatch(r'((\w+)(?:\{\w+="\w+"(?:,\w+="\w+")*\})?) (\d+(?:\.\d+)?)', line)
        assert sample, line
        assert {f"HELP {sample[2]}", f"TYPE {sample[2]}"} <= described, line
        assert sample[1] not in samples, f"{sample[1]} is there twice"
        samples[sample[1]] = float(sample[3])
    return samples


def exposed(fleet: FleetCounts) -> dict[str, float]:
    return parse("".join(f"{line}\n" for line in lines(fleet)))


def read(seconds: float = 60) -> dict[str, float]:
    """Look at the test's own database."""
    fleet = FleetCounts()
    fleet.refresh(seconds)
    return exposed(fleet)


@pytest.mark.django_db
def test_the_numbers_are_those_of_each_tenants_tables() -> None:
    with use("acme"):
        queue = Queue()
        for _ in range(5):
            queue.enqueue("test.any", {})
        queue.dequeue("w1")
        queue.fail(queue.dequeue("w1"), "no use", retry=False)
        queue.complete(queue.dequeue("w1"))
        ProcessingJob.objects.filter(status="pending").update(available_at=datetime.now(UTC) - timedelta(hours=1))
    with use("globex"):
        Queue().enqueue("test.any", {}, available_at=datetime.now(UTC) + timedelta(hours=1))

    found = read()

    assert {name: found[f'dms_jobs{{tenant="acme",status="{name}"}}'] for name in ("pending", "processing")} == {
        "pending": 2, "processing": 1
    }  # fmt: skip
    assert found['dms_jobs{tenant="acme",status="dead_letter"}'] == 1
    assert found['dms_jobs{tenant="globex",status="pending"}'] == 1
    assert 3600 <= found['dms_oldest_due_job_seconds{tenant="acme"}'] < 3660
    assert found['dms_oldest_due_job_seconds{tenant="globex"}'] == 0
    assert found['dms_tenants{state="counted"}'] == 3
    assert (found["dms_database_up"], found["dms_job_counts_cut_off"]) == (1, 0)


@pytest.mark.parametrize(
    "trouble", ["ALTER TABLE acme.processing_jobs RENAME TO elsewhere", "LOCK acme.processing_jobs"]
)
def test_a_tenant_that_can_not_be_read_is_counted_as_such_and_hides_nobody(
    trouble: str, committed_db: None, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_counts, "_STATEMENT_TIMEOUT", "100ms")
    with psycopg.connect(database_url) as other:
        other.execute(trouble)
        if "RENAME" in trouble:
            other.commit()
        found = read()
        other.rollback()
        if "RENAME" in trouble:
            other.execute("ALTER TABLE acme.elsewhere RENAME TO processing_jobs")

    assert found['dms_tenants{state="unreadable"}'] == 1
    assert 'dms_jobs{tenant="acme",status="pending"}' not in found
    assert 'dms_jobs{tenant="globex",status="pending"}' in found


def test_labels_are_bounded_and_nothing_is_lost_in_the_sum() -> None:
    fleet = FleetCounts()
    fleet.now = NOW
    for number in range(300):
        oldest = NOW - timedelta(seconds=number) if number == 7 else None
        fleet.samples[f"tenant_{number}"] = Sample(Counts(number, 1, 2, oldest, 0), 0.0)

    found = exposed(fleet)

    assert len(found) < 5 * (LABELLED_TENANTS + 1) + 10
    assert 'dms_jobs{tenant="tenant_299",status="pending"}' in found
    assert found[f'dms_oldest_due_job_seconds{{tenant="{OTHERS}"}}'] == 7
    for status, total in (("pending", sum(range(300))), ("processing", 300), ("dead_letter", 600)):
        assert sum(value for name, value in found.items() if f'status="{status}"' in name) == total


def test_counts_that_were_cut_off_say_so() -> None:
    fleet = FleetCounts()
    fleet.now = NOW
    fleet.samples["acme"] = Sample(Counts(LIMIT, 3, LIMIT, None, 0), 0.0)

    assert exposed(fleet)["dms_job_counts_cut_off"] == 2


@pytest.mark.django_db
def test_a_fleet_too_large_for_one_look_comes_round_and_says_what_is_missing() -> None:
    fleet = FleetCounts()
    seen = []
    for _ in range(3):
        fleet.refresh(0)  # the time for one tenant
        seen.append((len(fleet.samples), fleet.unread))
    first = {name: sample.read_at for name, sample in fleet.samples.items()}
    fleet.refresh(0)

    assert seen == [(1, 2), (2, 1), (3, 0)]
    assert [name for name, sample in fleet.samples.items() if sample.read_at != first[name]] == ["public"]


@pytest.mark.django_db
def test_one_look_costs_a_tenant_three_statements(django_assert_max_num_queries: Any) -> None:
    """And that of its table; what it reads there is bounded by ``jobqueue.rows.counts``."""
    fleet = FleetCounts()
    fleet.refresh(60)
    with django_assert_max_num_queries(3 + 3 * 3):
        fleet.refresh(60)


# --- Who may read it --------------------------------------------------------------------------------------------------


@pytest.fixture
def ask(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Ask the middleware alone: who may is decided before anything is read."""
    settings.DMS_METRICS_TOKEN = TOKEN
    monkeypatch.setattr(metrics, "_answer", lambda: "dms_database_up 1\n")
    serve = metrics.MetricsMiddleware(lambda request: HttpResponse(status=404))

    def ask(address: str, **headers: str) -> int:
        return serve(RequestFactory().get("/metrics", REMOTE_ADDR=address, headers=headers)).status_code

    return ask


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1"])
def test_this_machine_may_read_it_but_not_through_a_proxy_on_it(
    address: str, ask: Callable[..., int], settings: Any
) -> None:
    settings.DMS_CLIENT_ADDRESS_HEADER = "X-Client"
    assert ask(address) == 200
    for header in ("X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Forwarded", "Via", "X-Client"):
        assert ask(address, **{header: "127.0.0.1"}) == 401


@pytest.mark.parametrize("address", ["10.1.2.3", "", "unix:", "::ffff:10.1.2.3"])
def test_others_need_the_token(address: str, ask: Callable[..., int]) -> None:
    assert ask(address) == 401
    assert ask(address, Authorization=f"Bearer {TOKEN}") == 200
    assert ask(address, Authorization=f"Bearer {TOKEN}", X_Forwarded_For="10.1.2.3") == 200
    for wrong in ("Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer ü"):
        assert ask(address, Authorization=wrong) == 401


def test_a_wrong_token_is_refused_on_this_machine_too(ask: Callable[..., int]) -> None:
    assert ask("127.0.0.1", Authorization="Bearer wrong") == 401


def test_where_there_is_no_token_none_is_right(ask: Callable[..., int], settings: Any) -> None:
    settings.DMS_METRICS_TOKEN = None
    for guess in ("Bearer ", "Bearer None", "Bearer x"):
        assert ask("10.1.2.3", Authorization=guess) == 401


@pytest.mark.django_db
def test_it_needs_no_known_host_and_gives_no_cookie(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_answer", lambda: "dms_database_up 1\n")
    answer = Client(headers={"host": "10.1.2.3"}).get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert not answer.cookies


# --- A real server ----------------------------------------------------------------------------------------------------


def test_it_answers_soon_and_an_outage_is_told_in_bounded_time(running: Run) -> None:
    answer = get(running.port, "/metrics")
    found = parse(answer.body)
    assert answer.seconds < 2
    assert (found["dms_database_up"], found['dms_tenants{state="counted"}']) == (1, 3)
    with suspended(postgres(running)):
        silent = eventually(lambda: unless_up(running))  # the first may be given an answer that is a second old
        assert parse(silent.body) == {"dms_database_up": 0}
        assert silent.seconds < 2


def unless_up(run: Run) -> Answer | None:
    answer = get(run.port, "/metrics")
    return None if parse(answer.body)["dms_database_up"] else answer


def test_without_a_database_it_says_so_at_once(pristine_clone: Path) -> None:
    with web(pristine_clone, DATABASE_URL="postgresql://nobody@%2fnonexistent/none") as port:
        answer = get(port, "/metrics")
    assert (answer.status, parse(answer.body)) == (200, {"dms_database_up": 0})
