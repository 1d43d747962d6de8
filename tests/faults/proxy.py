"""A connection between a client and a server that fails on command."""

import re
import select
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

_LOOK_SECONDS = 0.05
#: What PostgreSQL says once when a session begins: its backend's process id, and a key to cancel with.
_BACKEND_KEY_DATA = re.compile(rb"K\x00\x00\x00\x0c(.{4}).{4}", re.DOTALL)

#: How a client has a statement prepared under a name, and runs it by that name.
_PARSE = re.compile(rb"P.{4}(_pg3_\w+)\x00([^\x00]*)\x00", re.DOTALL)
_BIND = re.compile(rb"B.{4}[^\x00]*\x00(_pg3_\w+)\x00", re.DOTALL)


@dataclass
class Trigger:
    """Does something to a connection, once, when the client says ``text`` after it has said ``after``."""

    text: bytes
    #: ``lose the answer``: it arrives, and the connection is closed instead of answered; ``cut``: closed before it
    #: arrives; ``swallow``: it doesn't arrive, and from then on nothing passes, either way.
    act: str
    after: bytes = b""
    fired: threading.Event = field(default_factory=threading.Event)


class Link:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        #: As the proxy's; None: the proxy's.
        self.mode: str | None = None
        self.answered = 0
        #: Of PostgreSQL; None until the session has begun.
        self.backend_pid: int | None = None
        #: The triggers whose time comes with their text.
        self.armed: list[Trigger] = []
        self._prepared: dict[bytes, bytes] = {}

    def texts(self, data: bytes) -> bytes:
        """Return what the client says with the text of the prepared statements that it runs."""
        self._prepared |= dict(_PARSE.findall(data))
        return data + b"".join(self._prepared.get(name, b"") for name in _BIND.findall(data))


class FaultyConnection:
    """A TCP proxy in front of a server, or of a PostgreSQL that listens in a folder.

    ``mode`` says what becomes of connections, also of those that are open:

    ``pass``: nothing; ``refuse``: closed at once; ``silence``: nothing comes back; ``blackhole``: nothing passes,
    either way, and nobody is told; ``trickle``: an answer comes a byte at a time, ten a second; ``cut``: closed after
    ``cut_after`` bytes of an answer; ``say``: the answer is ``said``, and the server never learns of the question.
    ``delay`` seconds pass before each answer.
    """

    def __init__(self, target_port: int, target_host: str = "127.0.0.1") -> None:
        self.mode = "pass"
        self.cut_after = 0
        self.said = b""
        self.delay = 0.0
        #: Whether new connections are taken.
        self.open = True
        #: How many have been tried.
        self.connected = 0
        #: Where new connections lead.
        self.target = (target_host, target_port)
        self._links: set[Link] = set()
        self._triggers: list[Trigger] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def links(self) -> list[Link]:
        """The connections that are open."""
        return list(self._links)

    def link_to(self, backend_pid: int) -> Link:
        """Return the connection to this backend of PostgreSQL."""
        return next(link for link in self.links if link.backend_pid == backend_pid)

    def when(self, text: bytes, act: str, after: bytes = b"") -> Trigger:
        """Do something (see ``Trigger``) to the next connection on which a client says ``text``, ``after`` another."""
        self._triggers.append(Trigger(text, act, after))
        return self._triggers[-1]

    def forget_triggers(self) -> None:
        """Do nothing of what hasn't been done yet."""
        self._triggers.clear()

    def close(self) -> None:
        """End every connection and take no more."""
        self.mode = "refuse"
        for link in self.links:
            link.mode = "refuse"
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self.connected += 1
        with client, suppress(OSError):
            if self.mode == "refuse" or not self.open:
                return
            with self._connect() as server:
                link = Link(client, server)
                self._links.add(link)
                try:
                    self._pump(link)
                finally:
                    self._links.discard(link)

    def _connect(self) -> socket.socket:
        host, port = self.target
        if not host.startswith("/"):
            return socket.create_connection(self.target)
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{host}/.s.PGSQL.{port}")
        return server

    def _pump(self, link: Link) -> None:
        while (mode := link.mode or self.mode) != "refuse":
            if mode == "blackhole":
                time.sleep(_LOOK_SECONDS)
                continue
            readable, _, _ = select.select([link.client, link.server], [], [], _LOOK_SECONDS)
            for source in readable:
                data = source.recv(65536)
                if not data:
                    return
                passed = self._ask(link, data) if source is link.client else self._answer(link, data, mode)
                if not passed:
                    return

    def _ask(self, link: Link, data: bytes) -> bool:
        """Pass on what the client says; return whether the connection goes on."""
        if self.mode == "say":
            link.client.sendall(self.said)
            return False
        said = link.texts(data)
        link.armed += [each for each in self._triggers if each.after in said and each not in link.armed]
        trigger = next((each for each in self._triggers if each.text in said and each in link.armed), None)
        if trigger:
            with suppress(ValueError):  # another connection was quicker, or it was forgotten
                self._triggers.remove(trigger)
        act = trigger.act if trigger else ""
        if act in ("", "lose the answer"):
            link.server.sendall(data)
        if act == "lose the answer":
            link.server.recv(1)
        if act == "swallow":
            link.mode = "blackhole"
        if trigger:
            trigger.fired.set()
        return act in ("", "swallow")

    def _answer(self, link: Link, data: bytes, mode: str) -> bool:
        if link.backend_pid is None and (found := _BACKEND_KEY_DATA.search(data)):
            link.backend_pid = int.from_bytes(found[1], "big")
        if mode == "silence":
            return True
        if mode == "cut":
            data = data[: max(self.cut_after - link.answered, 0)]
            if not data:
                return False
        if mode == "trickle":
            return self._trickle(link, data)
        if self.delay:
            time.sleep(self.delay)
        link.answered += len(data)
        link.client.sendall(data)
        return True

    def _trickle(self, link: Link, data: bytes) -> bool:
        for byte in data:
            time.sleep(0.1)
            if self.mode != "trickle":
                return False
            link.client.sendall(bytes([byte]))
        return True
