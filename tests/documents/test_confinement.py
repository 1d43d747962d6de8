"""The child process: what a hostile document can't do to the worker, its secrets or the machine."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from documents.processing import child_process
from documents.processing.child_process import ChildKilled
from documents.processing.events import PageRead, from_line, to_line
from documents.processing.findings import Findings
from documents.processing.limits import Limits
from documents.processing.runner import read
from tests.documents import files
from tests.stopwatch import Stopwatch

LIMITS = Limits(seconds=20, memory_bytes=2**30, pages=1000, characters=1_000_000)
ROOT = Path(child_process.__file__).parent.parent.parent


@pytest.fixture
def pdf_path(tmp_path: Path) -> str:
    path = tmp_path / "file.pdf"
    path.write_bytes(files.ten_pages())
    return str(path)


@pytest.fixture
def instead_of_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Have a program of the test run in place of the child, confined and started exactly like it."""
    packages = tmp_path / "packages"

    def replace(program: str, module: str = "child") -> None:
        package = packages / "documents" / "processing"
        package.mkdir(parents=True)
        prelude = (
            "import json, os, signal, sys, time, ctypes, socket\n"
            f"sys.path.insert(0, {str(ROOT)!r})\n"
            "import documents, documents.processing as p\n"
            f"documents.__path__.append({str(ROOT / 'documents')!r})\n"
            f"p.__path__.append({str(ROOT / 'documents' / 'processing')!r})\n"
            "from documents.processing.confinement import confine\n"
            "from documents.processing.events import *\n"
            "from documents.processing.limits import Limits\n"
            "request = json.loads(sys.argv[1])\n"
            "confine(Limits(**request['limits']), request['parent_pid'])\n"
            "first = request.get('first_page', 0)\n"
            "def say(event): print(to_line(event), flush=True)\n"
        )
        (packages / "documents" / "__init__.py").touch()
        (package / "__init__.py").touch()
        (package / f"{module}.py").write_text(prelude + program)
        monkeypatch.setattr(child_process, "_PROJECT", packages)

    return replace


def text_step(findings: Findings) -> tuple[str, str, str]:
    step = findings.steps()[1]
    return step.status.value, str(step.reason), step.detail


def readers_of(path: str) -> list[psutil.Process]:
    """Return the other processes that have a file open, wherever in the tree they are by now."""
    return [each for each in psutil.process_iter() if each.pid != os.getpid() and path in files_of(each)]


def files_of(process: psutil.Process) -> set[str]:
    try:
        return {each.path for each in process.open_files()}
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return set()


def test_a_page_that_crashes_the_parser_costs_one_page(pdf_path: str, instead_of_the_child: object) -> None:
    instead_of_the_child(  # type: ignore[operator]
        "say(Opened(5))\n"
        "for number in range(first, 6):\n"
        "    if number == 3: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    say(PageRead(number, f'wort{number}'))\n"
    )
    findings = read(pdf_path, "application/pdf", LIMITS)
    assert [page.number for page in findings.pages] == [1, 2, 4, 5]
    assert text_step(findings) == ("done", "damaged", "1 page unreadable")


def test_a_document_full_of_crashes_keeps_what_was_read(pdf_path: str, instead_of_the_child: object) -> None:
    instead_of_the_child(  # type: ignore[operator]
        "say(Opened(50))\nif first == 1: say(PageRead(1, 'eins'))\nos.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    findings = read(pdf_path, "application/pdf", LIMITS)
    status, reason, detail = text_step(findings)
    assert (status, reason) == ("failed", "damaged")
    assert "SIGSEGV" in detail
    assert [page.text for page in findings.pages] == ["eins"]


def test_a_parser_that_crashes_at_once_is_a_damaged_document(pdf_path: str, instead_of_the_child: object) -> None:
    instead_of_the_child("ctypes.string_at(0)")  # type: ignore[operator]
    step = read(pdf_path, "application/pdf", LIMITS).steps()[0]
    assert (step.status.value, step.reason, step.detail) == ("failed", "damaged", "the parser crashed (SIGSEGV)")


@pytest.mark.parametrize(
    "hang",
    [
        "time.sleep(600)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass",
        "os.close(1)\ntime.sleep(600)",
        "os.fork()\ntime.sleep(600)",
        "if os.fork(): os._exit(0)\ntime.sleep(600)",
    ],
    ids=["sleeps", "spins", "closes its output", "forks", "leaves a grandchild behind"],
)
def test_a_parser_that_hangs_is_ended_with_all_it_started(
    pdf_path: str, instead_of_the_child: object, hang: str
) -> None:
    instead_of_the_child(hang)  # type: ignore[operator]
    with Stopwatch() as watch:
        findings = read(pdf_path, "application/pdf", Limits(1, 2**30, 10, 1000))
        assert watch.seconds < 5
    assert findings.steps()[0].reason in {"timeout", ""}
    assert readers_of(pdf_path) == []


def test_pages_read_before_the_time_was_up_are_kept(pdf_path: str, instead_of_the_child: object) -> None:
    instead_of_the_child("say(Opened(9))\nsay(PageRead(1, 'eins'))\ntime.sleep(600)")  # type: ignore[operator]
    findings = read(pdf_path, "application/pdf", Limits(1, 2**30, 10, 1000))
    assert text_step(findings) == (
        "failed",
        "timeout",
        "reading it took longer than 1 s and was ended after page 1 of 9",
    )
    assert [page.text for page in findings.pages] == ["eins"]


def test_a_parser_that_says_nothing_is_a_damaged_document(pdf_path: str, instead_of_the_child: object) -> None:
    instead_of_the_child("")  # type: ignore[operator]
    assert read(pdf_path, "application/pdf", LIMITS).steps()[0].reason == "damaged"


def test_a_text_too_large_for_the_memory_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"words " * 40_000_000)
    started = psutil.Process().memory_info().rss
    step = read(str(path), "text/plain", Limits(30, 300 * 2**20, 10_000, 200_000_000)).steps()[0]
    assert (step.status.value, step.reason) == ("failed", "too_large")
    assert step.detail == "reading it takes more than 300 MiB of memory"
    assert psutil.Process().memory_info().rss - started < 50 * 2**20


def test_output_without_end_is_cut_off(pdf_path: str, instead_of_the_child: object) -> None:
    instead_of_the_child("while True: os.write(1, b'x' * 65536)")  # type: ignore[operator]
    findings = read(pdf_path, "application/pdf", Limits(20, 2**30, 10, 1000))
    assert findings.steps()[0].reason == "damaged"
    assert readers_of(pdf_path) == []


def test_a_child_that_others_killed_says_nothing_about_the_document(
    pdf_path: str, instead_of_the_child: object
) -> None:
    instead_of_the_child("os.kill(os.getpid(), signal.SIGKILL)")  # type: ignore[operator]
    with pytest.raises(ChildKilled):
        read(pdf_path, "application/pdf", LIMITS)


def test_the_child_has_no_secrets_no_network_and_can_write_nothing(
    pdf_path: str, instead_of_the_child: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t")
    listener = __import__("socket").create_server(("127.0.0.1", 0))
    instead_of_the_child(  # type: ignore[operator]
        "found = [name for name, value in os.environ.items() if 's3cr3t' in value]\n"
        f"try: socket.create_connection(('127.0.0.1', {listener.getsockname()[1]}), 1); found.append('network')\n"
        "except OSError: pass\n"
        f"file = open({str(tmp_path / 'written')!r}, 'wb', buffering=0)\n"
        "try: file.write(b'x'); found.append('disk')\n"
        "except OSError: pass\n"
        "say(Opened(1, ' '.join(found) or 'nothing'))\n"
    )
    findings = read(pdf_path, "application/pdf", LIMITS)
    assert findings.steps()[0].detail == "1 page; nothing"


def test_the_child_dies_with_its_worker(pdf_path: str, instead_of_the_child: object, tmp_path: Path) -> None:
    instead_of_the_child("time.sleep(600)")  # type: ignore[operator]
    program = (
        "from pathlib import Path\n"
        "from documents.processing import child_process, runner\n"
        f"child_process._PROJECT = Path({str(child_process._PROJECT)!r})\n"
        f"from {__name__} import LIMITS\n"
        f"runner.read({pdf_path!r}, 'application/pdf', LIMITS)\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    deadline = time.monotonic() + 20
    while not (started := psutil.Process(worker.pid).children()) and time.monotonic() < deadline:
        time.sleep(0.02)
    # It binds itself to its parent's life before anything else; wait until it is past that.
    while started[0].status() != psutil.STATUS_SLEEPING and time.monotonic() < deadline:
        time.sleep(0.02)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    started[0].wait(20)


def test_an_exception_of_the_listener_ends_the_child(pdf_path: str, instead_of_the_child: object) -> None:
    instead_of_the_child("say(Opened(9))\ntime.sleep(600)")  # type: ignore[operator]

    def lost(findings: Findings) -> None:
        raise RuntimeError("the lock was lost")

    with pytest.raises(RuntimeError):
        read(pdf_path, "application/pdf", LIMITS, lost)
    assert readers_of(pdf_path) == []


def test_many_threads_read_at_a_time(pdf_path: str) -> None:
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(len(read(pdf_path, "application/pdf", LIMITS).pages)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [10] * 6


@pytest.mark.parametrize("text", ["\0", "\ud800", "line\nbreak\u2028", "😀"])
def test_no_text_breaks_the_framing(text: str) -> None:
    line = to_line(PageRead(1, text))
    assert "\n" not in line
    assert from_line(line.encode()) == PageRead(1, text)
    assert json.loads(line)["event"] == "PageRead"
