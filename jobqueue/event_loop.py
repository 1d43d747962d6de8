"""Run a coroutine function to its end from a thread, on an event loop of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import async_to_sync

from jobqueue.exceptions import SoftTimeLimit


class OnEventLoop:
    """One call. What it does through ``sync_to_async``, like the ORM's ``a...`` methods, runs in the calling thread.

    Args:
        soft_seconds: After so long it is cancelled; None: never. Inside, that is ``asyncio.CancelledError``; if it
            returns normally all the same, that counts.
    """

    def __init__(self, soft_seconds: float | None) -> None:
        self._soft_seconds = soft_seconds
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def __call__(self, function: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        """Return what the coroutine returns.

        Raises:
            SoftTimeLimit: It ended by the limit.
        """
        try:
            return async_to_sync(self._run)(function, args, kwargs)
        except BaseException:
            if self._running:  # an interruption has struck this thread, and the loop's goes on
                loop, task = self._running
                loop.call_soon_threadsafe(task.cancel)
            raise

    async def _run(self, function: Callable[..., Awaitable[Any]], args: Any, kwargs: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - for the type checker: a coroutine that runs has one
        self._running = asyncio.get_running_loop(), task
        try:
            async with asyncio.timeout(self._soft_seconds) as limit:
                return await function(*args, **kwargs)
        except TimeoutError:
            if limit.expired():
                raise SoftTimeLimit from None
            raise
        finally:
            self._running = None
