"""T11, O07: PgBouncer between us and PostgreSQL. Tenants are never mixed; a project without them works."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, connections

from dms_project.tenancy import use
from tests.faults.pooler import PgBouncer
from tests.faults.proxy import FaultyConnection
from tests.jobqueue.concurrency import threads
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import TENANTS, BothTenants, WorkerProcess, environment
from tests.programs import run_manage
from tests.testjobs import ledger

STEPS = 300
REFUSED = "a connection pooler stands before PostgreSQL, which in transaction mode would mix tenants; connect directly"


@pytest.fixture
def pooler(request: pytest.FixtureRequest, database_url: str, proxy: FaultyConnection) -> Iterator[PgBouncer]:
    """A pooler of the kind that the test names."""
    pooler = PgBouncer(database_url, proxy, **request.param)
    yield pooler
    pooler.remove()


def pooled(**kind: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("pooler", [kind], indirect=True, ids=[kind["mode"]])


@contextmanager
def new_threads_connect_through(pooler: PgBouncer) -> Iterator[None]:
    connection.ensure_connection()  # this thread's own remains as it is
    place = {"HOST": "127.0.0.1", "PORT": str(pooler.port)}
    with pytest.MonkeyPatch.context() as patch:
        for key, value in place.items():
            patch.setitem(connections.databases["default"], key, value)
        yield


def read_in(tenant: str, steps: int = STEPS) -> list[str]:
    """Ask again and again, in autocommit, in which schema we are; return each answer that is another."""
    wrong = []
    for _ in range(steps):
        with use(tenant), connection.cursor() as cursor:
            cursor.execute("SELECT current_schema()")
            schema = cursor.fetchone()[0]
            if schema != tenant:
                wrong.append(schema)
    return wrong


@pooled(mode="transaction", size=1)
def test_tenants_are_refused_behind_a_pooler_in_transaction_mode(
    both: BothTenants, start: Start, pooler: PgBouncer
) -> None:
    """T11: nothing of any tenant is read or written, whoever asks, and each says why in one line."""
    waiting = both.enqueue("test.ok")

    def read(tenant: str) -> None:
        with pytest.raises(OperationalError, match=REFUSED):
            read_in(tenant)
        assert connection.connection is None

    with new_threads_connect_through(pooler), threads(1) as run:
        for tenant in TENANTS:
            run(read, tenant).result(30)

    migrate = run_manage(["migrate"], environment(pooler.url, both.ledger_file))
    assert migrate.returncode == 1
    (line,) = migrate.stderr.splitlines()
    assert REFUSED in line

    worker = start(variables={"DATABASE_URL": pooler.url})
    worker.has_said(f"the database fails ({REFUSED}")
    assert waiting.are(status="pending", attempts=0)
    assert worker.terminate() == 0
    assert "Traceback" not in worker.output


@pooled(mode="session", size=4)
def test_tenants_are_kept_apart_behind_a_pooler_in_session_mode_that_is_declared(
    committed_db: None, pooler: PgBouncer, settings: Any
) -> None:
    settings.TENANCY_SESSION_POOLER = True

    with new_threads_connect_through(pooler), threads(4) as run:
        wrong = [run(read_in, tenant) for tenant in TENANTS * 2]
        assert [reader.result(60) for reader in wrong] == [[]] * 4


# A project without tenants


class PlainProject:
    """The plain project in a database of its own, behind a pooler in transaction mode."""

    def __init__(self, url: str, pooler: PgBouncer, folder: Path) -> None:
        self.url = url  # past the pooler
        self.pooler = pooler
        self.folder = folder
        self.ledger_file = folder / "ledger"
        self.workers: list[WorkerProcess] = []
        self._variables = environment(pooler.url, self.ledger_file, stale_lock_after=2) | {
            "DJANGO_SETTINGS_MODULE": "tests.plain_project.pooled_settings"
        }
        migrate = run_manage(["migrate", "-v0"], self._variables)
        assert migrate.returncode == 0, migrate.stderr

    def start(self, *arguments: str) -> WorkerProcess:
        log = self.folder / f"worker-{len(self.workers)}.log"
        self.workers.append(WorkerProcess(arguments, self._variables, log))
        return self.workers[-1]

    def execute(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as session:
            cursor = session.execute(statement, parameters)  # type: ignore[arg-type]  # the test's own text
            return cursor.fetchall() if cursor.description else []

    def enqueue(self, job_type: str, payload: str = "{}", number: int = 1) -> list[int]:
        insert = (
            "INSERT INTO processing_jobs (job_type, payload) SELECT %s, %s FROM generate_series(1, %s) RETURNING id"
        )
        return [pk for (pk,) in self.execute(insert, job_type, payload, number)]

    def become(self, jobs: list[int], attempts: int = 1) -> None:
        """Wait until the jobs are done, with so many attempts each."""
        look = "SELECT DISTINCT status, attempts FROM processing_jobs WHERE id = ANY (%s)"
        eventually(lambda: self.execute(look, jobs) == [("succeeded", attempts)], within=40, what=str(jobs))

    def runs(self, job: int) -> int:
        return sum(entry["job"] == job for entry in ledger.read(self.ledger_file, "start"))


@pytest.fixture
def project(database_url: str, proxy: FaultyConnection, tmp_path: Path) -> Iterator[PlainProject]:
    name = f"{connection.settings_dict['NAME']}_pooled"
    with psycopg.connect(database_url, autocommit=True) as session:
        session.execute(f"DROP DATABASE IF EXISTS {name}")
        session.execute(f"CREATE DATABASE {name}")
    url = f"{database_url.rpartition('/')[0]}/{name}"
    pooler = PgBouncer(url, proxy, mode="transaction", size=3)
    project = PlainProject(url, pooler, tmp_path)
    yield project
    for worker in project.workers:
        worker.end()
        print(worker.output)
    pooler.remove()
    with psycopg.connect(database_url, autocommit=True) as session:
        session.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_workers_behind_a_pooler_in_transaction_mode_drain_outlive_its_restart_and_rescue(
    project: PlainProject, tmp_path: Path
) -> None:
    """O07: two workers with more connections than the pooler has sessions for them."""
    go = tmp_path / "go"
    workers = [project.start("--name", name, "--concurrency", "3") for name in ("first", "second")]
    project.become(project.enqueue("test.ok", number=60))

    # The pooler goes away and comes back.
    running = project.enqueue("test.sleep", f'{{"until": "{go}", "offline": true}}', number=2)
    eventually(lambda: sum(map(project.runs, running)) == 2, what="both run")
    project.pooler.stop()
    for worker in workers:
        worker.has_said("the database fails")
    go.touch()
    project.pooler.start()
    project.become(running)
    project.become(project.enqueue("test.ok", number=20))
    assert [project.runs(job) for job in running] == [1, 1]

    # A worker dies: nothing but the age of its locks tells.
    go.unlink()
    (job,) = project.enqueue("test.sleep", f'{{"until": "{go}", "offline": true}}')
    eventually(lambda: project.runs(job) == 1, what="it runs")
    ((holder,),) = project.execute("SELECT locked_by FROM processing_jobs WHERE id = %s", job)
    dead = workers[("first", "second").index(holder)]
    assert dead.kill() == -signal.SIGKILL
    eventually(lambda: project.runs(job) == 2, within=30, what="it runs again")
    go.touch()
    project.become([job], attempts=2)

    # Nothing of ours is left on sessions that belong to everybody.
    for name in ("lock_timeout", "idle_in_transaction_session_timeout"):
        with project.pooler.connect() as session:
            assert session.execute(f"SHOW {name}").fetchone() == ("0",)
            assert session.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
    (left,) = [worker for worker in workers if worker.alive]
    assert left.terminate() == 0
    assert "Traceback" not in left.output
