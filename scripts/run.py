"""``make run``: set everything up that is not, then run web application and worker until Ctrl-C."""

from __future__ import annotations

import asyncio
import fcntl
import http.client
import json
import os
import secrets
import signal
import socket
import sys
from pathlib import Path
from typing import IO

from dms_project.env import one_line_errors
from dms_project.environment import Environment
from scripts.demo import LOGINS, OPERATOR, TENANTS, Login
from scripts.leash import leashed
from scripts.postgres import EmbeddedPostgres, PostgresError
from scripts.postgres_home import HomeError
from scripts.private_files import write_private
from scripts.process_manager import ProcessManager, Program

CLONE = Path(__file__).resolve().parent.parent
VAR = CLONE / "var"
PROGRAMS = ("setup", "postgres", "web", "worker")


def main() -> None:
    with one_line_errors():
        port = Environment().integer("PORT", 8000, least=1, most=65535)
        VAR.mkdir(mode=0o700, exist_ok=True)
        lock = _only_one_per_clone()
        _refuse_taken(port)
    try:
        with lock:
            sys.exit(asyncio.run(_run(port)))
    except (HomeError, PostgresError) as error:
        sys.exit(f"error: {error}")


def _only_one_per_clone() -> IO[str]:
    lock = (VAR / "run.lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        sys.exit(f"error: `make run` is already running in this clone (process {lock.read().strip()})")
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the web server does
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            sys.exit(f"error: port {port} can't be used ({error.strerror}); choose another with `make run PORT=8001`")


async def _run(port: int) -> int:
    manager = ProcessManager(PROGRAMS)
    manager.stop_on_signals()
    environment = os.environ | {"PORT": str(port), "PYTHONUNBUFFERED": "1"}
    try:
        if "DATABASE_URL" not in os.environ:
            environment["DATABASE_URL"] = await _start_postgres(manager)
        environment |= _development_settings(environment)
        setup = Program("setup", leashed([sys.executable, "-m", "scripts.demo"]), environment)
        status = await manager.run_once(setup)
        if status == 0 and not manager.stop_requested.is_set():
            manager.start(Program("web", leashed(_web()), environment))
            manager.start(Program("worker", leashed(_worker()), environment, grace_seconds=35))
            announcement = asyncio.create_task(_announce(port))
            await manager.stop_requested.wait()
            announcement.cancel()
        return 0 if manager.stop_requested.is_set() else status
    finally:
        await manager.stop("web", "worker")
        await manager.stop("postgres")


async def _start_postgres(manager: ProcessManager) -> str:
    server = EmbeddedPostgres(VAR / "postgres")
    server.prepare()
    manager.say("postgres", f"data in {server.home.base}")
    manager.start(Program("postgres", server.command, cwd="/", stop_signal=signal.SIGINT))
    await asyncio.to_thread(server.wait_ready)
    return server.url


def _development_settings(environment: dict[str, str]) -> dict[str, str]:
    """Settings for this clone, random where they must be secret, also written down for manage.py beside a run."""
    path = VAR / "development.env"
    known = dict(line.split("=", 1) for line in path.read_text().splitlines()) if path.exists() else {}
    settings = {
        "DJANGO_DEBUG": environment.get("DJANGO_DEBUG", "true"),
        "DJANGO_SECRET_KEY": environment.get("DJANGO_SECRET_KEY")
        or known.get("DJANGO_SECRET_KEY", secrets.token_urlsafe(50)),
    }
    written = settings | {"DATABASE_URL": environment["DATABASE_URL"]}
    write_private(path, "".join(f"{name}={value}\n" for name, value in written.items()))
    return settings


async def _announce(port: int) -> None:
    """Print where to go and with which login, once the web application has loaded and answers."""
    while not await asyncio.to_thread(_answers, port):
        await asyncio.sleep(0.05)
    logins: dict[str, Login] = json.loads(LOGINS.read_text())
    for tenant in TENANTS:
        login = logins[tenant]
        print(
            f"{tenant}  http://{tenant}.localhost:{port}  user {login['user']}  "
            f"password {login['password']}  token {login['token']}"
        )
    operator = logins["public"]
    print(f"operators  http://localhost:{port}/admin/  user {OPERATOR}  password {operator['password']}", flush=True)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/readyz")
        connection.getresponse()
        return True
    except OSError:
        return False
    finally:
        connection.close()


def _web() -> list[str]:
    return [sys.executable, "-m", "gunicorn", "-c", "python:dms_project.gunicorn_conf", "dms_project.wsgi"]


def _worker() -> list[str]:
    return [sys.executable, "manage.py", "runworker"]


if __name__ == "__main__":
    main()
