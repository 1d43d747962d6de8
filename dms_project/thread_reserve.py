"""Keep threads of the web server free for some requests while all the others wait for something that hangs."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class ThreadReserve:
    """A WSGI application that lets at most ``limit`` requests into another one.

    One more is refused at once with 503. Otherwise a database that hangs would, request by request, take each thread of
    the server, and a liveness probe would have to wait, too: the orchestrator restarts every process, for nothing.
    """

    def __init__(
        self,
        application: Application,
        limit: int,
        refuse: Application,
        needs_a_place: Callable[[dict[str, Any]], bool],
    ) -> None:
        """Wrap an application.

        Args:
            refuse: Answers those for whom there is no place, at once.
            needs_a_place: Tells the requests that are counted. The others must answer in bounded time themselves.
        """
        self._application = application
        self._refuse = refuse
        self._places = threading.BoundedSemaphore(limit)
        self._needs_a_place = needs_a_place

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if not self._needs_a_place(environ):
            return self._application(environ, start_response)
        if not self._places.acquire(blocking=False):
            return self._refuse(environ, start_response)
        try:
            return _Response(self._application(environ, start_response), self._places.release)
        except BaseException:
            self._places.release()
            raise


class _Response:
    """A response which gives its place back when the server has sent it, or given up."""

    def __init__(self, body: Iterable[bytes], release: Callable[[], None]) -> None:
        self._body = body
        self._release = release

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._body)

    def close(self) -> None:
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            self._release()
