"""What a soak breaks. Each fault is over when its function returns, and is told with all whom it concerned."""

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psycopg

from tests.faults.own_server.server import OwnServer
from tests.faults.proxy import FaultyConnection
from tests.faults.soak.fleet import Fleet, Member
from tests.testjobs import ledger

#: What the workers of a soak run with.
STALE_LOCK_AFTER, SIGN_OF_LIFE_GRACE, SHUTDOWN_GRACE = 8.0, 3.0, 4.0
#: A worker that can't renew for so long, or can't show its sign of life for so long, may lose its claims.
CAN_NOT_RENEW, CAN_NOT_SHOW = STALE_LOCK_AFTER / 2, 1.0

STATEMENTS = (b'"attempts" + 1', b"SET status = 'succeeded'", b'"last_error" = ', b"INSERT INTO processing_jobs")


@dataclass
class Field:
    """Where faults happen."""

    server: OwnServer
    proxy: FaultyConnection
    fleet: Fleet
    chance: random.Random

    def worker(self) -> Member:
        return self.chance.choice(self.fleet.those_of("worker"))

    def seconds(self, least: float, most: float) -> float:
        return self.chance.uniform(least, most)

    def proxied(self) -> list[str]:
        """Return the names of the workers that reach the server through the proxy."""
        port = f":{self.proxy.port}/"
        return [worker.name for worker in self.fleet.those_of("worker") if port in worker.variables["DATABASE_URL"]]

    @contextmanager
    def told(self, kind: str, whom: Callable[[], list[str]] | None, *, costs_claims: bool = False) -> Iterator[None]:
        """Tell of a fault when it is over: ``whom`` names the workers that it concerns; None: all."""
        began, before = time.monotonic(), whom() if whom else []
        try:
            yield
        finally:
            workers = [*before, *whom()] if whom else None  # one may have been started meanwhile
            ledger.write("fault", kind=kind, began=began, workers=workers, costs_claims=costs_claims)


# Workers


def kill_a_worker(place: Field) -> None:
    worker = place.worker()
    with place.told("worker killed", lambda: [worker.name]):
        place.fleet.kill(worker)


def stop_a_worker(place: Field) -> None:
    worker = place.worker()
    # What takes longer than the grace time is given back, and its handler goes on until the process has ended.
    with place.told("worker stopped", lambda: [worker.name], costs_claims=True):
        worker.stop()
        if place.chance.random() < 0.5:
            time.sleep(place.seconds(0, 1))
            worker.signal(signal.SIGTERM)
        place.fleet.await_end([worker])


def freeze_a_worker(place: Field) -> None:
    worker, seconds = place.worker(), place.chance.choice([0.3, 2.0, STALE_LOCK_AFTER + 2 * SIGN_OF_LIFE_GRACE])
    with place.told("worker frozen", lambda: [worker.name], costs_claims=seconds > CAN_NOT_RENEW):
        worker.signal(signal.SIGSTOP)
        time.sleep(seconds)
        worker.signal(signal.SIGCONT)


def kill_a_producer(place: Field) -> None:
    with place.told("producer killed", list):
        place.fleet.kill(place.chance.choice(place.fleet.those_of("producer")))


# The server


def end_sessions(place: Field) -> None:
    with place.told("sessions ended", None):
        place.server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND random() < %s",
            place.chance.choice([0.1, 0.5, 1.0]),
        )


def restart_the_server(place: Field) -> None:
    with place.told("server restarted", None):
        place.server.stop(place.chance.choice([signal.SIGINT, signal.SIGQUIT]))
        time.sleep(place.chance.choice([0, 0, 1, 12]))
        place.server.start()


def crash_a_backend(place: Field) -> None:
    with place.told("backend crashed", None):
        place.server.crash(slowly=place.chance.random() < 0.3)
        place.server.wait_ready()


def make_the_server_read_only(place: Field) -> None:
    with place.told("server read-only", None):
        place.server.set("default_transaction_read_only", "on")
        time.sleep(place.seconds(0.5, 6))
        place.server.set("default_transaction_read_only", "off")


def lock_a_table(place: Field) -> None:
    schema, seconds = place.chance.choice(place.fleet.schemas), place.seconds(0.5, 6)
    with place.told("table locked", None), psycopg.connect(place.server.url) as session:
        session.execute("SET lock_timeout = '5s'")
        try:
            session.execute(f"LOCK TABLE {schema}.processing_jobs IN ACCESS EXCLUSIVE MODE")
        except psycopg.OperationalError:
            return
        time.sleep(seconds)


def use_all_connections(place: Field) -> None:
    seconds = place.seconds(0.5, 5)
    with place.told("connections used up", None, costs_claims=True), ExitStack() as taken:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                taken.enter_context(place.server.connect())
            except psycopg.OperationalError:
                time.sleep(0.1)


# What lies between


def cut_connections(place: Field) -> None:
    seconds = place.chance.choice([0.1, 0.5, 2.0, 6.0])
    with place.told("connections refused", place.proxied, costs_claims=seconds > CAN_NOT_SHOW):
        place.proxy.mode = "refuse"
        time.sleep(seconds)
        place.proxy.mode = "pass"


def swallow_everything(place: Field) -> None:
    seconds = place.chance.choice([1.0, 3.0, 10.0])
    with place.told("black hole", place.proxied, costs_claims=seconds > CAN_NOT_SHOW):
        place.proxy.mode = "blackhole"
        time.sleep(seconds)
        place.proxy.mode = "pass"


def delay_answers(place: Field) -> None:
    with place.told("answers delayed", place.proxied):
        place.proxy.delay = place.seconds(0.01, 0.3)
        time.sleep(place.seconds(1, 5))
        place.proxy.delay = 0.0


def lose_answers_to_commits(place: Field) -> None:
    with place.told("COMMIT not answered", None):
        for _ in range(5):
            act = place.chance.choice(["lose the answer", "cut"])
            trigger = place.proxy.when(b"COMMIT", act, after=place.chance.choice(STATEMENTS))
            trigger.fired.wait(1)
        place.proxy.forget_triggers()


FAULTS: dict[Callable[[Field], None], int] = {
    kill_a_worker: 20,
    stop_a_worker: 10,
    freeze_a_worker: 10,
    kill_a_producer: 5,
    end_sessions: 15,
    restart_the_server: 6,
    crash_a_backend: 4,
    make_the_server_read_only: 4,
    lock_a_table: 6,
    use_all_connections: 4,
    cut_connections: 10,
    swallow_everything: 6,
    delay_answers: 6,
    lose_answers_to_commits: 15,
}


def held_snapshot(server: OwnServer, seconds: float) -> None:
    """Hold an old snapshot, so that no dead row can be removed meanwhile; to be run beside the faults."""
    try:
        with psycopg.connect(server.url) as session:
            session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            session.execute("SELECT count(*) FROM pg_class")
            time.sleep(seconds)
            session.execute("SELECT 1")
    except psycopg.Error:
        pass  # another fault ended it


def choose(chance: random.Random) -> Callable[[Field], None]:
    return chance.choices(list(FAULTS), list(FAULTS.values()))[0]
