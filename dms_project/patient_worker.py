"""gunicorn's threaded worker, made patient: a client that is slow, or says nothing, keeps no thread waiting.

As it comes, the worker gives each connection to a thread at once, which waits there for the head of a request; after an
answer it waits for the rest of a body that nobody has read, and the loop that serves all connections for the client to
close. So 200 slow clients kept ``/healthz`` from being answered. Here that loop watches these connections beside the
others. What still takes a thread, for as long as the client likes, is the body of a request that was let in: from these
``ThreadReserve`` keeps some threads free.
"""

import selectors
import socket
import time
from functools import partial
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker

#: For the head of a request; and for a client that was answered to close the connection.
HEAD_SECONDS, CLOSING_SECONDS = 10.0, 2.0
#: What has come of a body that nobody has read is taken off the connection, so that it can be used again.
_UNREAD_BODY_SECONDS = 0.05
_HEAD_MAX_BYTES = 64 * 1024
_HEADS_END = b"\r\n\r\n"


class PatientWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn brings no types
    """Overrides where a request begins and where a connection ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        #: Until when each connection that the loop itself watches may stay as it is, by the monotonic clock.
        self._deadlines: dict[TConn, float] = {}
        self._looked_at = 0.0

    def enqueue_req(self, conn: TConn) -> None:
        """Give a connection to a thread as soon as the head of its request is there."""
        if self.cfg.is_ssl or _read_ahead(conn) or _head_is_there(conn.sock):
            conn.data_ready = True
            super().enqueue_req(conn)
        else:
            self._watch(conn, time.monotonic() + HEAD_SECONDS, self._more_has_come)

    def finish_request(self, conn: TConn, fs: Any) -> None:
        """Keep a connection for its next request, or close it, without waiting for the client."""
        if not fs.cancelled() and fs.exception() is None and fs.result():
            super().finish_request(conn, fs)
            return
        try:
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(conn)
        else:  # closed at once, it would be reset if more came, and the answer lost
            self._watch(conn, time.monotonic() + CLOSING_SECONDS, self._rest_has_come)

    def murder_pending(self) -> None:
        """Close connections whose time is up; when the worker is to stop, all of them."""
        super().murder_pending()
        now = time.monotonic()
        if self.alive and now - self._looked_at < 1:
            return
        self._looked_at = now
        for conn in [conn for conn, deadline in self._deadlines.items() if deadline < now or not self.alive]:
            self._forget(conn)
            self._close(conn)

    def _keepalive_after(self, conn: TConn, keepalive: bool) -> bool:
        return keepalive and bool(conn.parser.finish_body(deadline=time.monotonic() + _UNREAD_BODY_SECONDS))

    def _watch(self, conn: TConn, deadline: float, callback: Any) -> None:
        conn.sock.setblocking(False)
        self._deadlines[conn] = deadline
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(callback, conn))

    def _forget(self, conn: TConn) -> float:
        self.poller.unregister(conn.sock)
        return self._deadlines.pop(conn)

    def _close(self, conn: TConn) -> None:
        self.nr_conns -= 1
        conn.close()

    def _more_has_come(self, conn: TConn, sock: socket.socket) -> None:
        deadline = self._forget(conn)
        if _head_is_there(sock):
            conn.data_ready = True
            super().enqueue_req(conn)
        else:
            self._watch(conn, deadline, self._more_has_come)

    def _rest_has_come(self, conn: TConn, sock: socket.socket) -> None:
        try:
            more = sock.recv(_HEAD_MAX_BYTES)
        except OSError:
            more = b""
        if not more:
            self._forget(conn)
            self._close(conn)


def _read_ahead(conn: TConn) -> bool:
    """Say whether a thread has read the beginning of the next request already."""
    return conn.parser is not None and not conn.is_http2 and bool(conn.parser.unreader.buf.getvalue())


def _head_is_there(sock: socket.socket) -> bool:
    """Look at what has come, and leave it there. True, too, if the client has closed or sends an endless head."""
    try:
        come = sock.recv(_HEAD_MAX_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
    there = not come or _HEADS_END in come or len(come) == _HEAD_MAX_BYTES
    # Else the loop would be told of the same bytes for ever.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1 if there else len(come) + 1)
    return there
