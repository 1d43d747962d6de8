"""O01: PostgreSQL goes away and comes back; workers wait for it, finish what they had, and go on by themselves."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from scripts.postgres import EmbeddedPostgres
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import ROOT, TENANTS, WorkerProcess, environment
from tests.testjobs import ledger

SET_UP = """
import sys
import django
django.setup()
from django.core.management import call_command
from dms_project.tenancy.schemas import create_tenant
call_command("migrate", verbosity=0)
for name in sys.argv[1:]:
    create_tenant(name, f"{name}.localhost")
"""


class Server:
    """A PostgreSQL of the test's own, which it may stop."""

    def __init__(self, folder: Path) -> None:
        self.embedded = EmbeddedPostgres(folder, durable=False)
        self.embedded.prepare()
        self.start()

    @property
    def url(self) -> str:
        return self.embedded.url

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.embedded.command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self.embedded.wait_ready(self.process)

    def stop(self, how: signal.Signals) -> None:
        with suppress(psutil.NoSuchProcess):
            psutil.Process(self.process.pid).send_signal(how)
        self.process.wait(30)

    def enqueue(self, job_type: str, payload: str = "{}") -> dict[str, int]:
        """Enqueue in each tenant and return the ids."""
        insert = "INSERT INTO {}.processing_jobs (job_type, payload) VALUES (%s, %s) RETURNING id"
        with psycopg.connect(self.url) as session:
            return {
                tenant: session.execute(insert.format(tenant), [job_type, payload]).fetchone()[0]  # type: ignore[index]
                for tenant in TENANTS
            }

    def states(self, jobs: dict[str, int]) -> set[tuple[str, int]]:
        """Return status and attempts of these jobs."""
        with psycopg.connect(self.url) as session:
            look = "SELECT status, attempts FROM {}.processing_jobs WHERE id = %s"
            return {session.execute(look.format(tenant), [pk]).fetchone() for tenant, pk in jobs.items()}  # type: ignore[misc]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "server")
    yield server
    server.stop(signal.SIGQUIT)
    server.embedded.home.remove()


@pytest.fixture
def variables(server: Server, tmp_path: Path) -> dict[str, str]:
    """The environment of a worker on that server, where both tenants are."""
    variables = environment(server.url, tmp_path / "ledger", sign_of_life_grace=3)
    subprocess.run([sys.executable, "-c", SET_UP, *TENANTS], cwd=ROOT, env=variables, check=True)
    return variables


@pytest.fixture
def worker(variables: dict[str, str], tmp_path: Path) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(["--concurrency", "3"], variables, tmp_path / "worker.log")
    yield worker
    worker.end()
    print(worker.output)  # shown when the test has failed


def test_a_worker_outlives_restarts_of_the_database(server: Server, worker: WorkerProcess, tmp_path: Path) -> None:
    go = tmp_path / "go"
    running = server.enqueue("test.sleep", f'{{"until": "{go}", "offline": true}}')
    eventually(lambda: len(ledger.read(tmp_path / "ledger", "start")) == 2, what="both jobs run")

    # While its jobs run: they end while the database is away, which is recorded when it is back.
    server.stop(signal.SIGQUIT)
    worker.has_said("the database fails")
    go.touch()
    worker.has_said("keeper: the database fails")
    server.start()
    eventually(lambda: server.states(running) == {("succeeded", 1)}, within=15, what="the outcomes are recorded")
    assert len(ledger.read(tmp_path / "ledger", "start")) == 2

    # While it is idle.
    server.stop(signal.SIGINT)
    server.start()
    canary = server.enqueue("test.ok")
    eventually(lambda: server.states(canary) == {("succeeded", 1)}, within=15, what="the canary is done")
    assert worker.alive
    assert "Traceback" not in worker.output

    # While the database is away it can be stopped.
    server.stop(signal.SIGQUIT)
    worker.signal(signal.SIGTERM)
    assert worker.status(within=15) == 0
