"""A bound on how long anybody waits for the store, whatever hangs: a server, a name to be resolved, a mounted disk.

Time-outs of sockets bound each byte, not the whole: a server that sends one byte a second keeps a caller for days.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from documents.exceptions import OutageReason, StorageUnavailable

T = TypeVar("T")

# Calls under way in this process, with those that nobody waits for any more. Far more than there are threads which
# call, so that it only counts while the store hangs, and keeps what hangs from piling up.
_CALLS = 64
_places = threading.BoundedSemaphore(_CALLS)


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return what ``call`` returns, or raise what it raises.

    It runs in a thread of its own. One that takes too long is left to itself: nothing can end it, but it can't keep the
    process from ending either, and what it may still do to the store is an orphan at worst.

    Raises:
        StorageUnavailable: It takes longer than that.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - the caller's, whatever it is
            outcome.set_exception(error)
        finally:
            _places.release()

    if _places.acquire(timeout=seconds):
        threading.Thread(target=run, name="storage", daemon=True).start()
        try:
            return outcome.result(seconds)
        except TimeoutError:
            if outcome.done():
                raise
    raise StorageUnavailable(f"The storage gave no answer within {seconds:g} s.", OutageReason.NO_ANSWER)
