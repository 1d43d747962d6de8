"""The sign of life of a worker in a random walk: shown, or not."""

import psycopg

from jobqueue.sign_of_life import LOCK_CLASS


class Sign:
    """An advisory lock on a session of its own."""

    def __init__(self, url: str, key: int = 4711) -> None:
        self.key = key
        self.shown = False
        self._session = psycopg.connect(url, autocommit=True)

    def show(self) -> None:
        if not self.shown:
            self._session.execute("SELECT pg_advisory_lock(%s, %s)", [LOCK_CLASS, self.key])
        self.shown = True

    def vanish(self) -> None:
        self._session.execute("SELECT pg_advisory_unlock_all()")
        self.shown = False

    def close(self) -> None:
        self._session.close()
