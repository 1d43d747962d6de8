"""``make run`` in a fresh copy, with nothing on the machine but Python and make: the whole system, from outside."""

from __future__ import annotations

import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil

from tests.house.clone import Run, clean_environment, eventually, free_port, get, make

LINE = (
    r"^(?P<tenant>%s)  http://%s\.localhost:(?P<port>\d+)  "
    r"user (?P<user>\S+)  password (?P<password>\S+)  token (?P<token>\S+)$"
)


def login(run: Run, tenant: str) -> re.Match[str]:
    return run.wait_for(LINE % (tenant, tenant))


def bearer(run: Run, tenant: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {login(run, tenant)['token']}"}


def test_it_prints_where_to_go_and_how_to_log_in(running: Run) -> None:
    acme, globex = login(running, "acme"), login(running, "globex")
    assert acme["port"] == globex["port"] == str(running.port)
    assert acme["user"] == "demo"
    assert acme["password"] != globex["password"]
    assert acme["token"] != globex["token"]


def test_a_token_works_at_its_tenant_alone(running: Run) -> None:
    token = bearer(running, "acme")
    listed = get(running.port, "/api/documents", "acme.localhost", **token).json
    assert (listed["items"], listed["count"]) == ([], 0)
    assert get(running.port, "/api/documents", "globex.localhost", **token).status == 401
    assert get(running.port, "/api/documents", "acme.localhost").status == 401
    assert get(running.port, "/api/documents", "localhost", **token).status == 404


def test_the_documentation_comes_from_this_server_alone(running: Run) -> None:
    page = get(running.port, "/api/docs", "acme.localhost")
    assert page.status == 200
    assets = re.findall(r'(?:src|href)="([^"]+)"', page.body)
    assert any(asset.endswith("swagger-ui-bundle.js") for asset in assets)
    for asset in assets:
        assert asset.startswith("/static/")
        assert get(running.port, asset, "acme.localhost").status == 200


def test_the_admin_is_there_for_tenants_and_operators(running: Run) -> None:
    for host in ("acme.localhost", "globex.localhost", "localhost"):
        assert get(running.port, "/admin/login/", host).status == 200


def test_secrets_lie_in_files_of_their_owner_alone(running: Run) -> None:
    for name in ("demo.json", "development.env"):
        assert stat.S_IMODE((running.clone / "var" / name).stat().st_mode) == 0o600
    log = running.output
    for line in log.splitlines():
        if "token " not in line:
            assert login(running, "acme")["token"] not in line


def test_manage_py_works_beside_it_without_any_variable(running: Run) -> None:
    listed = subprocess.run(
        [sys.executable, "manage.py", "token", "list", "--tenant", "acme"],
        cwd=running.clone, env=clean_environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert "demo  make run  active" in listed.stdout, listed.stderr


def test_a_second_run_in_the_same_clone_says_so_in_one_line(running: Run) -> None:
    second = make(running.clone, "run", f"PORT={free_port()}")
    assert second.returncode == 2
    error, _ = second.stderr.splitlines()  # the other line is make's own
    assert error.startswith("error: `make run` is already running in this clone (process ")


def test_a_port_that_is_taken_is_said_in_one_line_before_anything_starts(running: Run, clone: Path) -> None:
    refused = make(clone, "run", f"PORT={running.port}")
    assert refused.returncode == 2
    error, _ = refused.stderr.splitlines()
    assert error.startswith(f"error: port {running.port} can't be used")
    assert refused.stdout == ""
    assert not (clone / "var/postgres").exists()


def test_a_web_process_that_was_killed_comes_back(running: Run) -> None:
    killed = running.program("gunicorn")
    killed.kill()
    running.wait_for("^web +. killed by SIGKILL; starting again")
    eventually(lambda: answers(running))
    assert running.program("gunicorn").pid != killed.pid


def answers(run: Run) -> bool:
    try:
        return get(run.port, "/healthz").status == 200
    except OSError:
        return False


def test_kill_9_of_the_manager_leaves_nothing_and_the_next_run_has_the_same_data(running: Run) -> None:
    token = bearer(running, "acme")
    processes = running.processes()
    running.program("scripts.run").kill()
    assert psutil.wait_procs(processes, timeout=30)[1] == []

    running.start()
    running.wait_for("^operators ")
    assert bearer(running, "acme") == token
    assert get(running.port, "/api/documents", "acme.localhost", **token).status == 200


def test_ctrl_c_ends_everything(running: Run) -> None:
    assert running.stop(signal.SIGINT) == []
    assert not answers(running)

    running.start()
    running.wait_for("^operators ")


def test_a_database_that_is_not_there_is_said_in_one_line(clone: Path) -> None:
    environment = clean_environment(DATABASE_URL="postgresql://nobody:secret@127.0.0.1:1/none")
    failed = subprocess.run(
        ["make", f"VENV={sys.prefix}", "run", f"PORT={free_port()}"],
        cwd=clone, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert failed.returncode == 2
    (line,) = failed.stdout.splitlines()
    assert "error: the database that DATABASE_URL names" in line
    assert "secret" not in failed.stdout + failed.stderr
