"""Asking for a route as somebody, with nothing left behind, and what came of it."""

import json
import re
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from django.db import connection, reset_queries
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.access.world import DOCUMENT, JOB, NOTE, SCHEMA, SEARCH, UPLOAD, House, Ids

_PLACEHOLDER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>.*?\)")
API = ("/api/documents", "/api/jobs", "/api/tags", "/api/correspondents", "/api/searches", "/api/uploads")
# What the API is sent, by the end of the address.
_BODIES = {
    "/notes": {"text": "New"},
    "/searches": {"name": "New", "q": "new"},
    "/rename": {"name": "nobody has it", "new_name": "New"},
    "/unlock": {"password": "x"},
}
_NO_DOCUMENT = "00000000-0000-4000-8000-000000000000"
_WRITES = re.compile(r'(?:INSERT INTO|UPDATE|DELETE FROM) "?([\w".]+?)"? ')
# Written whoever asks: that a session begins or ends, that a token was used.
_NO_DEEDS = re.compile(r'[A-Z ]+ "django_session"|UPDATE "tokens_apitoken" SET "last_used_at"')


@dataclass(frozen=True)
class Answer:
    """``word``: the status, or ``login`` if one is sent to log in. ``kept``: by whom, and by which headers;
    ``written``: tables that were written to.
    """

    status: int
    word: str
    body: str
    headers: frozenset[str]
    kept: str
    written: frozenset[str]

    @property
    def anonymous_body(self) -> str:
        """The body without what differs between two requests for the same thing: ids and tokens."""
        return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+|(?<=csrfmiddlewaretoken).{0,99}", "*", self.body)


def url_of(path: str, ids: Ids) -> str:
    """Fill a route's placeholders in."""
    model = "/".join(path.split("/")[2:4])

    values = {
        "document_id": ids.get(DOCUMENT, _NO_DOCUMENT),
        "job_id": ids.get(JOB),
        "tenant": ids.get(SCHEMA, "nobody"),
        "search_id": ids.get(SEARCH, 0),
        "upload_id": ids.get(UPLOAD, _NO_DOCUMENT),
        "note_id": ids.get(NOTE, 0),
        "app_label": "documents",
        "url": "nothing",
    }

    def value(placeholder: re.Match[str]) -> str:
        name = placeholder[1] or placeholder[2]
        return str(values[name] if name in values else ids[model])

    url = _PLACEHOLDER.sub(value, path)
    if path in ("/states", "/zip", "/api/documents/zip", "/bulk", "/api/documents/bulk"):
        return f"{url}?{'ids' if url == '/states' else 'id'}={ids.get(DOCUMENT, _NO_DOCUMENT)}"
    return url


def ask(house: House, role: str, method: str, url: str, *, host: str) -> Answer:
    """Send a request to a host as somebody of a house, by token where the API is called; take back what it did."""
    browser = house.browser(role, host)
    headers = house.bearer(role) if url.startswith(API) else {}
    return send(browser, method, url, headers)


def send(browser: Client, method: str, url: str, headers: dict[str, str]) -> Answer:
    reset_queries()  # the log keeps but the last thousands, and what it keeps is copied each time
    savepoint = connection.savepoint()
    try:
        with CaptureQueriesContext(connection) as queries:
            response = _request(browser, method, url, headers)
        body = b"".join(response) if response.streaming else response.content
    finally:
        connection.savepoint_rollback(savepoint)
    to_login = response.status_code == 302 and "/login/" in response["Location"]
    statements = [query["sql"] for query in queries if not _NO_DEEDS.match(query["sql"])]
    written = frozenset(found[1] for found in map(_WRITES.match, statements) if found)
    word = "login" if to_login else str(response.status_code)
    headers = frozenset(response.headers)
    kept = f"{response.get('Cache-Control', '')}; by {response.get('Vary', '')}"
    return Answer(response.status_code, word, body.decode(errors="replace"), headers, kept, written)


def _request(browser: Client, method: str, url: str, headers: dict[str, str]) -> Any:
    if url.startswith("/api/uploads"):
        tus = {"tus-resumable": "1.0.0", "upload-length": "5", "upload-offset": "0"}
        body = b"x" if method == "PATCH" else b""
        return browser.generic(method, url, body, "application/offset+octet-stream", headers=headers | tus)
    if method == "POST" and url == "/api/documents":
        file = BytesIO(b"new")
        file.name = "new.txt"
        return browser.post(url, {"file": file}, headers=headers)
    if method == "POST" and url.startswith("/api/documents/bulk"):
        bulk = {"action": "trash", "ids": [url.partition("=")[2]]}
        return browser.post(url, json.dumps(bulk), "application/json", headers=headers)
    if method == "POST" and url.startswith("/bulk"):
        return browser.post(url, {"action": "trash", "id": url.partition("=")[2]}, headers=headers)
    if method == "POST" and url.startswith("/api/") and url.endswith(tuple(_BODIES)):
        body = next(body for ending, body in _BODIES.items() if url.endswith(ending))
        return browser.post(url, json.dumps(body), "application/json", headers=headers)
    if method == "POST":
        return browser.post(url, {"title": "New", "text": "New", "post": "yes", "new_name": "New"}, headers=headers)
    if method == "PATCH":
        return browser.patch(url, json.dumps({"title": "New"}), "application/json", headers=headers)
    return browser.generic(method, url, headers=headers)
