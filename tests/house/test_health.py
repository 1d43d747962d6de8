"""Probes of a real web server while its database is stopped, hangs, or lacks migrations. Cases O01, O08 and O09."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from dotenv import dotenv_values

from scripts.leash import leashed
from scripts.postgres import EmbeddedPostgres
from tests.house.clone import Answer, Run, clean_environment, eventually, free_port, get
from tests.house.test_run import bearer

HOST = "acme.localhost"


@contextmanager
def suspended(process: psutil.Process) -> Iterator[None]:
    """Stop a process and its children as a hanging machine would: nothing is closed, nothing answers."""
    family = [process, *process.children(recursive=True)]
    for each in family:
        each.suspend()
    try:
        yield
    finally:
        for each in family:
            each.resume()


@contextmanager
def web(clone: Path, **environment: str) -> Iterator[int]:
    """A web server alone, in its port; it need not be ready."""
    port = free_port()
    settings = {"PORT": str(port), "DJANGO_DEBUG": "true", **environment}
    process = psutil.Popen(
        leashed([sys.executable, "-m", "gunicorn", "-c", "python:dms_project.gunicorn_conf", "dms_project.wsgi"]),
        cwd=clone, env=clean_environment(**settings), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        eventually(lambda: listens(port))
        yield port
    finally:
        process.terminate()
        process.wait(20)


def listens(port: int) -> bool:
    try:
        return get(port, "/healthz").status == 200
    except OSError:
        return False


def ready(run: Run) -> bool:
    return get(run.port, "/readyz").status == 200


def unless_ready(run: Run) -> Answer | None:
    answer = get(run.port, "/readyz")
    return answer if answer.status == 503 else None


def postgres(run: Run) -> psutil.Process:
    return run.program("bin/postgres -D")


def test_healthz_answers_within_two_seconds_of_the_start_of_the_web_process(pristine_clone: Path) -> None:
    def seconds_of_a_start() -> float:
        started = time.monotonic()
        with web(pristine_clone, DATABASE_URL="postgresql://nobody@%2fnonexistent/none") as port:
            took = time.monotonic() - started - waited_for_a_processor(port)
            assert get(port, "/healthz").json == {"status": "ok"}
        return took

    # One start that is fast enough proves it: whatever else the machine does can only slow it down.
    assert any(seconds_of_a_start() < 2 for _ in range(3))


def waited_for_a_processor(port: int) -> float:
    """Seconds for which other programs on this machine kept the web server on ``port`` waiting; Linux counts them."""
    servers = [each for each in psutil.Process().children(recursive=True) if each.environ().get("PORT") == str(port)]
    statistics = [Path(f"/proc/{server.pid}/schedstat") for server in servers]
    return sum(int(each.read_text().split()[1]) for each in statistics if each.exists()) / 1e9


def test_readyz_says_that_every_part_is_there(running: Run) -> None:
    eventually(lambda: ready(running))
    assert get(running.port, "/readyz").json == {
        "status": "ok", "database": "ok", "migrations": "ok", "storage": "ok"
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_needs_no_known_host_and_gets_no_cookie(path: str, running: Run) -> None:
    eventually(lambda: ready(running))
    for host in ("10.1.2.3", "unknown.example.org", "acme.localhost", "bad_host!"):
        answer = get(running.port, path, host)
        assert answer.status == 200
        assert "set-cookie" not in answer.headers


def test_while_the_database_hangs_healthz_answers_at_once_and_readyz_names_it(running: Run) -> None:
    token = bearer(running, "acme")
    get(running.port, "/api/documents", HOST, **token)
    with suspended(postgres(running)):
        # More requests than the server has threads, all of them waiting for the database.
        waiting = [
            threading.Thread(target=try_get, args=(running.port, "/api/documents", token), daemon=True)
            for _ in range(40)
        ]
        for request in waiting:
            request.start()
        time.sleep(0.5)
        for _ in range(5):
            answer = get(running.port, "/healthz")
            assert answer.status == 200
            assert answer.seconds < 0.5
        unready = eventually(lambda: unless_ready(running))
        assert unready.seconds < 3
        assert unready.json == {
            "status": "unavailable", "database": "down", "migrations": "down", "storage": "ok"
        }  # fmt: skip
    eventually(lambda: ready(running))
    assert get(running.port, "/api/documents", HOST, **token).status == 200


def try_get(port: int, path: str, headers: dict[str, str]) -> None:
    with suppress(OSError):
        get(port, path, HOST, timeout=30, **headers)


def test_when_the_database_restarts_requests_get_503_and_then_recover(running: Run) -> None:
    token = bearer(running, "acme")
    assert get(running.port, "/api/documents", HOST, **token).status == 200
    web_server = running.program("gunicorn")
    statuses = set()
    for stop in (signal.SIGINT, signal.SIGQUIT):  # fast, immediate
        postgres(running).send_signal(stop)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            answer = get(running.port, "/api/documents", HOST, **token)
            statuses.add(answer.status)
            if answer.status == 200 and 503 in statuses:
                break
            if answer.status == 503:
                assert answer.json["code"] == "database_unavailable"
                assert get(running.port, "/healthz").seconds < 0.5
        assert answer.status == 200
    assert statuses == {200, 503}
    assert web_server.is_running(), "an outage is no reason to restart"
    eventually(lambda: ready(running))


def test_a_page_for_people_gets_503_too(pristine_clone: Path) -> None:
    with web(pristine_clone, DATABASE_URL="postgresql://nobody@%2fnonexistent/none") as port:
        for host in ("localhost", "acme.localhost"):
            answer = get(port, "/admin/", host, Cookie=f"sessionid={'x' * 32}")
            assert answer.status == 503
            assert "nonexistent" not in answer.body


def test_readyz_names_storage_that_can_not_be_used(pristine_clone: Path, running: Run) -> None:
    url = dotenv_values(running.clone / "var/development.env")["DATABASE_URL"]
    assert url
    with web(pristine_clone, DATABASE_URL=url, DMS_STORAGE_DIR="/dev/null/storage") as port:
        answer = get(port, "/readyz")
        assert answer.status == 503
        assert answer.json == {
            "status": "unavailable", "database": "ok", "migrations": "ok",
            "storage": "down", "storage_reason": "not_mounted",
        }  # fmt: skip
        assert "/dev/null" not in answer.body


def test_readyz_names_pending_migrations(pristine_clone: Path, tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "postgres", durable=False)
    try:
        with server.running() as url, web(pristine_clone, DATABASE_URL=url) as port:
            answer = get(port, "/readyz")
            assert answer.status == 503
            assert answer.json["database"] == "ok"
            assert answer.json["migrations"] == "pending"
    finally:
        server.home.remove()


def test_clients_that_say_nothing_or_half_of_it_keep_no_thread_waiting(pristine_clone: Path) -> None:
    """More of each kind than there are threads; the web server as it comes would answer none of the rest."""
    half, rest = b"GET /healthz HTTP/1.1\r\nHo", b"st: x\r\nConnection: close\r\n\r\n"
    upload = b"POST /api/documents HTTP/1.1\r\nHost: acme.localhost\r\nContent-Length: 1000\r\n\r\n--"
    with (
        web(pristine_clone, DATABASE_URL="postgresql://nobody@%2fnonexistent/none") as port,
        ExitStack() as connections,
    ):

        def say(*words: bytes) -> socket.socket:
            client = connections.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            client.sendall(b"".join(words))
            return client

        for words in (b"", half, upload):
            for _ in range(20):
                say(words)
        assert get(port, "/healthz", timeout=60).status == 200

        slow = say(half)
        assert get(port, "/healthz", timeout=60).status == 200
        slow.sendall(rest)
        assert slow.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"

        both = say(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", half, rest)
        assert both.makefile("rb").read().count(b"HTTP/1.1 200 OK\r\n") == 2
