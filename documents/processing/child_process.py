"""Starting a child process that handles a document, listening to it, ending it, and telling why it ended."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, cast

from documents.processing.findings import Reason
from documents.processing.limits import Limits

_PROJECT = Path(__file__).resolve().parent.parent.parent


class ChildKilled(Exception):
    """Somebody else killed the child: a shutdown, the kernel short of memory. It says nothing about the document."""


class ChildProcess:
    """One run of the child process, as a context manager that leaves no process behind."""

    def __init__(
        self,
        module: str,
        file: int,
        mime_type: str,
        limits: Limits,
        environment: Mapping[str, str],
        *,
        secret: str = "",
        output: int | None = None,
        **request: Any,
    ) -> None:
        """Start the process.

        Args:
            module: Of this package; what the process runs.
            file: The descriptor of the open document.
            environment: What the process finds in its environment beside what Python needs.
            secret: What the process finds on its standard input; shorter than a pipe is long.
            output: The descriptor of an open file that it may write to.
            request: What the module is told beside path, type and limits.
        """
        self._limits = limits
        self._timed_out = False
        request |= {
            "path": f"/dev/fd/{file}",  # inherited: the child needs no name, and learns none
            "mime_type": mime_type,
            "limits": asdict(limits),
            "parent_pid": os.getpid(),
        }
        if output is not None:
            request["output"] = f"/dev/fd/{output}"
        program = [sys.executable, "-P", "-s", "-m", f"documents.processing.{module}", json.dumps(request)]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, arguments as a list
            program,
            stdin=subprocess.PIPE if secret else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": str(_PROJECT), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", **environment},
            start_new_session=True,
            pass_fds=[file] if output is None else [file, output],
        )
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError), self._process.stdin:
                self._process.stdin.write(secret.encode())
        self._output = cast(IO[bytes], self._process.stdout)
        self._deadline = threading.Timer(limits.seconds, self._time_out)

    def __enter__(self) -> None:
        self._deadline.start()

    def __exit__(self, *exc_info: object) -> None:
        if exc_info[0] is not None:
            self._kill()
        self._output.close()
        # Not reaped yet, so its number can't have passed to another process when its session is killed.
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self._deadline.cancel()
        self._kill()
        self._process.wait()

    def lines(self, room: int) -> Iterator[bytes]:
        """Yield what the child says, until it ends or has said more than ``room`` bytes."""
        while line := self._output.readline(room):
            room -= len(line)
            if not line.endswith(b"\n"):
                return
            yield line

    def why_it_broke_off(self) -> tuple[Reason, str] | None:
        """Return None if the child came to its end by itself."""
        code = self._process.returncode
        if self._timed_out or code == -signal.SIGXCPU:
            return Reason.TIMEOUT, f"reading it took longer than {self._limits.seconds} s and was ended"
        if code == 0:
            return None
        if code == -signal.SIGKILL:
            raise ChildKilled("The process that read the document was killed from outside.")
        return Reason.DAMAGED, f"the parser crashed ({_name_of(code)})"

    def _time_out(self) -> None:
        self._timed_out = True
        self._kill()

    def _kill(self) -> None:
        # The whole group: whatever it may have started goes with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _name_of(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
