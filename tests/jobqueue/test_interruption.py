"""An interruption is raised inside the call that it is meant for, and never in what the thread does next."""

import logging
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from jobqueue.exceptions import Cancelled, Interruption, SoftTimeLimit
from jobqueue.worker.interruption import InterruptibleCall
from tests.jobqueue.waiting import eventually


def handler(number: int) -> int:
    total = 0
    for step in range(3):
        total += step * number
    return total


def run_and_interrupt_at(opcode: int) -> tuple[bool, object]:
    """Call the handler, and interrupt it just before the given bytecode of all that the call consists of.

    Returns:
        Whether there was such a bytecode, and what came out: the handler's answer, or the interruption.
    """
    call, seen = InterruptibleCall(), 0
    codes = {handler.__code__, InterruptibleCall.__call__.__code__, InterruptibleCall._close.__code__}

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        if frame.f_code not in codes:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            seen += 1
            if seen == opcode + 1:
                call.interrupt(SoftTimeLimit)
        return trace

    outcome: object
    sys.settrace(trace)
    try:
        outcome = call(handler, 7)
    except Interruption as error:
        outcome = error
    finally:
        sys.settrace(None)
    call.interrupt(Cancelled)  # too late for this call, whatever struck it
    for _ in range(100):  # here a late one would be raised
        pass
    return seen > opcode, outcome


def test_an_interruption_at_any_bytecode_of_a_call_stays_in_the_call() -> None:
    outcomes = []
    for opcode in range(10_000):
        reached, outcome = run_and_interrupt_at(opcode)
        if not reached:
            break
        outcomes.append(outcome)

    assert outcome == handler(7)
    assert len(outcomes) > 50
    interrupted = [isinstance(outcome, SoftTimeLimit) for outcome in outcomes]
    assert any(interrupted)
    assert not all(interrupted)
    assert all(isinstance(outcome, SoftTimeLimit) or outcome == handler(7) for outcome in outcomes)


@pytest.fixture
def quick_switching() -> Iterator[None]:
    """Let threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_thousands_of_short_calls_that_another_thread_interrupts_twice_each_leave_nothing_behind(
    quick_switching: None,
) -> None:
    current = InterruptibleCall()
    done = False
    outcomes: list[bool] = []
    leaks: list[BaseException] = []

    def slot() -> None:
        nonlocal current
        try:
            until = time.monotonic() + 1
            while time.monotonic() < until:
                current = InterruptibleCall()
                try:
                    outcomes.append(current(handler, 7) == 42)
                except Interruption:
                    outcomes.append(False)
                for _ in range(20):  # the slot's own code: an interruption that leaks ends this thread
                    pass
        except BaseException as error:  # noqa: BLE001 - any would be a leak
            leaks.append(error)

    def interrupt() -> None:
        while not done:
            call = current
            call.interrupt(SoftTimeLimit)
            call.interrupt(Cancelled)

    threads = [threading.Thread(target=slot), threading.Thread(target=interrupt)]
    for thread in threads:
        thread.start()
    threads[0].join()
    done = True
    threads[1].join()

    assert leaks == []
    assert len(outcomes) > 1_000
    assert outcomes.count(False) > 10


def module_of(thread: threading.Thread) -> str:
    """Return where a thread is just now."""
    return str(sys._current_frames()[thread.ident or 0].f_globals["__name__"])


def test_a_thread_that_is_taking_a_lock_of_the_whole_process_is_interrupted_afterwards() -> None:
    """An exception between taking logging's lock and the ``with`` that frees it would silence everybody."""
    call, started = InterruptibleCall(), threading.Event()
    records = logging.Handler()
    seen: list[type[BaseException]] = []

    def log(_: None) -> None:
        started.set()
        records.acquire()  # waits, inside of logging
        records.release()
        while True:
            time.sleep(0.001)

    def slot() -> None:
        try:
            call(log, None)
        except Interruption as error:
            seen.append(type(error))

    with_lock = threading.Thread(target=slot)
    assert records.lock is not None
    with records.lock:
        with_lock.start()
        assert started.wait(10)
        eventually(lambda: module_of(with_lock) == "logging", what="the thread waits for the lock")
        assert call.interrupt(SoftTimeLimit) is False
    eventually(lambda: call.interrupt(SoftTimeLimit), what="the thread is where it can be interrupted")
    with_lock.join(10)

    assert seen == [SoftTimeLimit]
    assert records.lock.acquire(timeout=5)
