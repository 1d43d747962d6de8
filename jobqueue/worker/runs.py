"""One attempt while it runs, and what may be done to it from outside."""

import sys
import threading
import time
import traceback
from typing import Protocol

from jobqueue import handlers
from jobqueue.exceptions import Cancelled, Interruption, SoftTimeLimit, TimedOut
from jobqueue.limits import Limits
from jobqueue.worker.executor import Claim, Ending, Failure
from jobqueue.worker.interruption import InterruptibleCall
from jobqueue.worker.programs import end_programs
from jobqueue.worker.thread_connections import ThreadConnections

_NEVER = float("inf")
_NO_LIMITS = Limits()
#: How long a handler that was told of its cancellation has to end, before its thread is left behind.
CANCEL_GRACE_SECONDS = 10.0
#: How soon to try again while the thread is where no interruption may strike.
_RETRY_SECONDS = 0.005


class Killable(Protocol):
    """A process that a handler runs in."""

    def kill(self) -> None:
        """End it, whatever it does."""


class Run:
    """Made by the slot's thread that runs the claim. Its limits are watched over by one other thread.

    Args:
        claim: What is run.
        connections: The thread's own.
    """

    # There is one for each job: it costs a microsecond or two.
    __slots__ = (
        "_child",
        "_connections",
        "_interrupt_at",
        "_interruption",
        "_reason",
        "_settled",
        "began",
        "call",
        "claim",
        "give_up_at",
        "given_up",
        "isolated",
        "limits",
        "thread",
    )

    def __init__(self, claim: Claim, connections: ThreadConnections) -> None:
        handler = handlers.registered().get(claim.job.job_type)
        self.claim = claim
        self.began = time.monotonic()
        self.limits = handler.limits_of(claim.job) if handler else _NO_LIMITS
        #: Whether the handler runs in a process of its own.
        self.isolated = self.limits.isolation == "process"
        self.thread = connections.thread
        self.call = InterruptibleCall()
        self._connections = connections
        self._child: Killable | None = None
        self._settled = threading.Lock()
        # An isolated handler rings its own alarm.
        self._interrupt_at = _NEVER if self.isolated else self.began + self.limits.soft_seconds
        self._interruption: type[Interruption] = SoftTimeLimit
        self._reason: type[Interruption] = TimedOut
        #: When it is given up.
        self.give_up_at = self.began + self.limits.seconds
        #: Why it was ended from outside, if it was.
        self.given_up: Failure | None = None

    @property
    def next_at(self) -> float:
        """When something is to be done about it."""
        return min(self._interrupt_at, self.give_up_at)

    @property
    def interrupted(self) -> bool:
        """Whether an exception struck the handler at a moment of nobody's choice."""
        return self.call.interrupted

    def settle(self) -> bool:
        """Return True to the first who asks: to the thread that reports the ending, or to the one that gives it up."""
        return self._settled.acquire(blocking=False)

    def runs_in(self, child: Killable) -> None:
        """Name the process that the handler runs in."""
        self._child = child
        if self.given_up:
            child.kill()

    # From the thread that watches

    def interrupt_if_due(self, now: float) -> None:
        """Raise inside the handler what is due."""
        if self._interrupt_at <= now:
            done = self.call.interrupt(self._interruption)
            self._interrupt_at = _NEVER if done else now + _RETRY_SECONDS

    def cancel(self, now: float) -> None:
        """Ask the handler to end, or kill its process."""
        self._interruption, self._interrupt_at = Cancelled, now
        self._reason = Cancelled
        self.give_up_at = now if self.isolated else min(self.give_up_at, now + CANCEL_GRACE_SECONDS)

    def give_up(self) -> Ending | None:
        """End it from outside.

        Returns:
            How it ended, for whoever records it; None if the slot's thread will tell, or has.
        """
        now = time.monotonic()
        self._interrupt_at = self.give_up_at = _NEVER
        failure = self._why()
        if self.isolated:
            self.kill(failure)
            return None
        if not self.settle():
            return None
        self.given_up = failure
        self.call.interrupt(self._reason)  # for when it comes back from where it hangs
        self._connections.cut()
        end_programs(self.thread.native_id)
        return Ending(self.claim, now - self.began, failure=failure)

    def kill(self, why: Failure) -> None:
        """Kill the process that the handler runs in."""
        self.given_up = self.given_up or why
        if self._child:
            self._child.kill()

    def _why(self) -> Failure:
        timed_out = self._reason is TimedOut
        text = f"timed out after {self.limits.seconds:g} s" if timed_out else str(self._reason())
        frame = None if self.isolated else sys._current_frames().get(self.thread.ident or 0)
        if frame:
            text += "\n\nThe thread was here, most recent call last:\n"
            text += "".join(traceback.format_stack(frame, limit=20))
        return Failure(self._reason.__name__, text)
