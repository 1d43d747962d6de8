"""The worker's side of ``isolation="process"``: have a child forked for a job, talk to it, and say how it ended.

Nothing that comes from a child is trusted: it is JSON of a bounded size.
"""

import json
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from jobqueue.tracing import traceparent
from jobqueue.worker.executor import Ending, Failure
from jobqueue.worker.fork_server import NOT_FORKED, NUMBER
from jobqueue.worker.isolated_child import Request
from jobqueue.worker.runs import Run

#: Room for the largest result, the text of an error, and what a crash prints.
_ANSWER_MAX_BYTES = 4 * 2**20
#: How long setting Django up may take.
_START_SECONDS = 60.0
_STOP_SECONDS = 2.0
#: Apps are found where this process finds them, wherever it was started.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from jobqueue.worker.fork_server import main; main(*sys.argv[2:])"
)


class NoForkServer(Exception):
    """The process that forks the children can't be started."""


class ForkServer:
    """A process with Django set up and no thread, of which every isolated handler's process is a copy.

    It is started anew if it has died. It ends with this process, however that ends, and its children with it.

    Args:
        using: Alias of the database that the jobs are in.
    """

    def __init__(self, using: str) -> None:
        self._using = using
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(self) -> None:
        """Start it unless it runs, and wait until it is ready.

        Raises:
            NoForkServer: It ended while it was starting; it has said on stderr why.
        """
        with self._lock:
            self._ready_control()

    def stop(self) -> None:
        """End it, and what is left of its children."""
        if not self._lock.acquire(timeout=_STOP_SECONDS):
            return  # somebody is just starting it: it ends with this process
        try:
            if self._control and self._process:
                self._control.close()
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_STOP_SECONDS)
            self._control = self._process = None
        finally:
            self._lock.release()

    def execute(self, run: Run) -> Ending:
        """Run a claim's handler in a child of its own. Never raises."""
        try:
            answer, status = self._fork_and_ask(run)
        except Exception as error:  # noqa: BLE001 - whatever it is, the attempt has failed
            no_process = Failure(type(error).__name__, f"no process could be had for the handler: {error}")
            return Ending(run.claim, time.monotonic() - run.began, failure=no_process)
        result, failure = _understand(run, answer, status)
        return Ending(run.claim, time.monotonic() - run.began, result, failure)

    def _fork_and_ask(self, run: Run) -> tuple["_Answer", int | None]:
        with self._fork() as child:
            run.runs_in(child)
            request = _request(run, self._using)
            return _Answer(child.ask(pickle.dumps(request)), request.mark), child.status

    def _fork(self) -> "_Child":
        ours, theirs = socket.socketpair()
        leash, held = socket.socketpair()
        with theirs, held, self._lock:
            try:
                self._send(theirs, held)
            except OSError:  # it has died since its last child
                self._control = None
                self._send(theirs, held)
        return _Child(ours, leash)

    def _send(self, *sockets: socket.socket) -> None:
        socket.send_fds(self._ready_control(), [b"f"], [each.fileno() for each in sockets])

    def _ready_control(self) -> socket.socket:
        if self._control is None or self._process is None or self._process.poll() is not None:
            self._control, self._process = _start()
        return self._control


def _start() -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    control, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), str(theirs.fileno()), str(os.getpid())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # what a terminal or a process manager sends to our group isn't meant for it
        )
    control.settimeout(_START_SECONDS)
    with suppress(OSError):
        if control.recv(1):
            control.settimeout(None)
            return control, process
    process.kill()
    process.wait()
    control.close()
    raise NoForkServer("the process that forks them could not be started.")


class _Child:
    """A handler's process, seen from the slot's thread that waits for it.

    Args:
        channel: To talk with the child.
        leash: To the fork server: it tells of the child's end through it, and kills the child when we let go.
    """

    def __init__(self, channel: socket.socket, leash: socket.socket) -> None:
        self._channel = channel
        self._leash = leash
        self._pid: int | None = None
        #: As ``subprocess`` has it: negative for a signal; or ``NOT_FORKED``. None: the fork server ended, too.
        self.status: int | None = None

    def __enter__(self) -> "_Child":
        return self

    def __exit__(self, *exception: object) -> None:
        self._channel.close()
        self._leash.close()

    def kill(self) -> None:
        """Have it killed with its process group. May be called from any thread, at any time."""
        with suppress(OSError):
            self._leash.shutdown(socket.SHUT_WR)

    def ask(self, request: bytes) -> bytes:
        """Send the request, and return all it writes until it ends. Its status is known then."""
        with suppress(OSError):  # it is being killed
            self._channel.sendall(request)
            self._channel.shutdown(socket.SHUT_WR)
        answer = bytearray()
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(self._leash, select.POLLIN)
        while True:
            ready = {number for number, _ in poll.poll()}
            if self._channel.fileno() in ready and not self._read(answer):
                poll.unregister(self._channel)
            elif self._leash.fileno() in ready and self._hear_the_end():
                # What it started may have the channel open for longer, so that its end means nothing.
                self._channel.setblocking(False)
                with suppress(BlockingIOError):
                    while self._read(answer):
                        pass
                return bytes(answer)

    def _read(self, answer: bytearray) -> bool:
        try:
            data = self._channel.recv(2**16)
        except ConnectionError:
            return False
        answer += data
        if len(answer) > _ANSWER_MAX_BYTES:
            self.kill()
            del answer[_ANSWER_MAX_BYTES:]
        return bool(data)

    def _hear_the_end(self) -> bool:
        """Hear one thing of the fork server; return False if that is the child's beginning."""
        data = b""
        with suppress(OSError):
            data = self._leash.recv(NUMBER.size)
        if len(data) < NUMBER.size:
            # The fork server is dead, and the child with it. What that has started is not.
            with suppress(OSError):
                if self._pid:
                    os.killpg(self._pid, signal.SIGKILL)
            return True
        (number,) = NUMBER.unpack(data)
        if self._pid is None:
            self._pid = number
            return False
        self.status = number
        return True


@dataclass
class _Answer:
    written: bytes
    mark: bytes

    def split(self) -> tuple[str, bytes]:
        """Return what was printed, by a crash mostly, and the answer proper; either may be empty."""
        printed, _, answer = self.written.partition(self.mark)
        return printed.decode(errors="replace"), answer


def _request(run: Run, using: str) -> Request:
    limits = run.limits
    return Request(
        using=using,
        tenant=run.claim.tenant,
        job=run.claim.job,
        mark=uuid4().bytes,
        soft_at=_moment(run.began + limits.soft_seconds),
        killed_at=_moment(run.began + limits.seconds),
        memory_limit_bytes=limits.memory_limit_bytes,
        cpu_seconds=limits.cpu_limit.total_seconds() if limits.cpu_limit else None,
        traceparent=traceparent(),
    )


def _moment(at: float) -> float | None:
    return None if at == float("inf") else at


def _understand(run: Run, answer: _Answer, status: int | None) -> tuple[Any, Failure | None]:
    """Return the result and, if there is none, why."""
    printed, said = answer.split()
    if said and status == 0:
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            content = json.loads(said)
            return content["result"], _failure(content["failure"])
    if run.given_up:
        return None, Failure(run.given_up.kind, _with(run.given_up.text, printed))
    if len(answer.written) >= _ANSWER_MAX_BYTES:
        return None, Failure("TooLong", f"the handler's process wrote more than {_ANSWER_MAX_BYTES} bytes to us")
    return None, Failure("ProcessEnded", _with(_end(run, status), printed))


def _failure(said: dict[str, Any] | None) -> Failure | None:
    if said is None:
        return None
    return Failure(str(said["kind"])[:100], str(said["text"]), bool(said["may_retry"]))


def _end(run: Run, status: int | None) -> str:
    if status == NOT_FORKED:
        return "no process could be forked for the handler"
    if status is None:
        return "the handler's process ended, and with it the process that forks them"
    if status >= 0:
        return f"the handler's process ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    text = f"the handler's process ended with {name}"
    if status == -signal.SIGXCPU:
        text += f": it has computed for {run.limits.cpu_limit}"
    elif status == -signal.SIGKILL:
        text += ": somebody killed it, or the machine had no memory left"
    return text


def _with(text: str, printed: str) -> str:
    return f"{text}\n\n{printed}".rstrip()
