"""What the process of an isolated handler does, from its fork to its end."""

import contextlib
import ctypes
import faulthandler
import json
import logging
import math
import os
import pickle
import resource
import signal
import socket
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from jobqueue import tracing
from jobqueue.conf import conf
from jobqueue.exceptions import SoftTimeLimit
from jobqueue.handlers import HandlerFunction, JobContext
from jobqueue.json_values import storable_result_json
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.tenant_source import tenant_source
from jobqueue.worker.connection_hygiene import close_connections
from jobqueue.worker.executor import Claim, Ending, execute

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
#: What is left of a memory limit for telling that it was reached.
_RESERVE_BYTES = 16 * 2**20
#: The kernel's choice when the machine has no memory left: rather this process than a worker.
_OOM_SCORE = 500
_SHORTEST_SECONDS = 0.001


@dataclass(frozen=True)
class Request:
    """What the child is to do."""

    using: str
    tenant: str
    job: ProcessingJob
    #: The answer stands behind this, and what a crash prints before it.
    mark: bytes
    #: By ``time.monotonic``, which all processes of a machine share.
    soft_at: float | None
    killed_at: float | None
    memory_limit_bytes: int | None
    cpu_seconds: float | None
    #: Of the span that the handler's are to stand in.
    traceparent: str | None


def live(channel: socket.socket, parent: int) -> None:
    """Read the request from the channel, do it, write the answer, and end the process.

    Args:
        channel: To the worker.
        parent: Process id of the fork server; when that is gone, this process ends.
    """
    os.setsid()  # with a group of its own, which ends with it
    _die_with(parent)
    request = _read_request(channel)
    faulthandler.enable(channel.fileno())
    _confine(request, channel)
    connection_created.connect(_be_missed, weak=False)
    call = _Alarm(request.soft_at)
    with tracing.inside(request.traceparent):
        ending = execute(Claim(request.tenant, request.job), Queue(request.using), tenant_source(), call)
    faulthandler.cancel_dump_traceback_later()
    resource.setrlimit(resource.RLIMIT_DATA, (resource.getrlimit(resource.RLIMIT_DATA)[1],) * 2)
    close_connections()  # before the answer: an open transaction may have the job's row locked
    tracing.flush()
    channel.sendall(request.mark + _answer(ending))
    with contextlib.suppress(Exception):
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)


def _read_request(channel: socket.socket) -> Request:
    parts = []
    while part := channel.recv(2**16):
        parts.append(part)
    request: Request = pickle.loads(b"".join(parts))  # noqa: S301 - from the worker, whose copy this is
    return request


def _answer(ending: Ending) -> bytes:
    failure = json.dumps(asdict(ending.failure)) if ending.failure else "null"
    result = storable_result_json(ending.result) or "null"
    return f'{{"failure": {failure}, "result": {result}}}'.encode()


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _confine(request: Request, channel: socket.socket) -> None:
    with contextlib.suppress(OSError):
        score = Path("/proc/self/oom_score_adj")
        score.write_text(str(max(_OOM_SCORE, int(score.read_text()))))
    if request.memory_limit_bytes is not None:
        # Not RLIMIT_AS: that also counts what is only reserved, gigabytes for some programs.
        limit = _data_bytes() + request.memory_limit_bytes
        _limit(resource.RLIMIT_DATA, limit, limit + _RESERVE_BYTES)
    if request.cpu_seconds is not None:
        seconds = math.ceil(request.cpu_seconds)
        _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
        faulthandler.register(signal.SIGXCPU, channel.fileno(), chain=True)  # says where, and ends the process
    if request.killed_at is not None:
        # Shortly before this process is killed, it says where it hangs.
        left = request.killed_at - time.monotonic()
        faulthandler.dump_traceback_later(max(0.8 * left, left - 1, _SHORTEST_SECONDS), file=channel.fileno())


def _limit(which: int, soft: int, hard: int) -> None:
    """Lower a limit; one that is lower already stays."""
    present = resource.getrlimit(which)[1]
    if present != resource.RLIM_INFINITY:
        hard = min(hard, present)
    resource.setrlimit(which, (min(soft, hard), hard))


def _data_bytes() -> int:
    """Return how much private memory this process has, as RLIMIT_DATA counts it; 0 if nobody tells."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except OSError:
        return 0


def _be_missed(*, connection: BaseDatabaseWrapper, **kwargs: object) -> None:
    """Have the server notice within seconds if this process is killed, even while a statement waits for a lock."""
    if connection.vendor == "postgresql" and conf().sign_of_life_grace is not None and connection.autocommit:
        with contextlib.suppress(Exception):  # not every system can tell
            connection.connection.execute("SET client_connection_check_interval = '1s'")


class _Alarm:
    """Calls a handler, and raises ``SoftTimeLimit`` inside it at a moment; None: never."""

    def __init__(self, at: float | None) -> None:
        self._at = at
        self._armed = False

    def __call__(self, function: HandlerFunction, context: JobContext) -> Any:
        if self._at is None:
            return function(context)
        signal.signal(signal.SIGALRM, self._ring)
        try:
            self._armed = True
            signal.setitimer(signal.ITIMER_REAL, max(self._at - time.monotonic(), _SHORTEST_SECONDS))
            return function(context)
        finally:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed = False
            raise SoftTimeLimit
