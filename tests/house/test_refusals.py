"""What is said to requests that get no further than the door."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.test import Client, RequestFactory

from dms_project import refusals
from dms_project.refusals import (
    BUSY,
    DATABASE_AWAY,
    MALFORMED_HOST,
    NO_SCHEMA,
    SUSPENDED,
    UNKNOWN_HOST,
    Refusal,
    refuse,
)
from dms_project.thread_reserve import ThreadReserve
from dms_project.wsgi import busy

ALL = [BUSY, DATABASE_AWAY, MALFORMED_HOST, NO_SCHEMA, SUSPENDED, UNKNOWN_HOST]
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def ask(refusal: Refusal, path: str = "/", **headers: str) -> Any:
    return refuse(RequestFactory().get(path, headers=headers), refusal)


@pytest.mark.parametrize("refusal", ALL)
def test_a_browser_gets_a_page_that_needs_nothing_from_here(refusal: Refusal) -> None:
    answer = ask(refusal, **BROWSER)
    page = answer.content.decode()
    assert answer.status_code == refusal.status
    assert refusal.what in page
    assert not [word for word in ("src=", "href=", "url(", "<script") if word in page]
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert refusals._HASH in answer["Content-Security-Policy"]
    assert style == refusals._STYLE


@pytest.mark.parametrize("refusal", ALL)
def test_the_page_is_in_the_readers_language(refusal: Refusal) -> None:
    page = ask(refusal, **BROWSER, **{"Accept-Language": "de-AT,en;q=0.5"}).content.decode()
    assert '<html lang="de">' in page
    assert refusal.what not in page


def test_before_the_words_are_loaded_it_is_in_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "ready", False)
    assert BUSY.what in ask(BUSY, **BROWSER, **{"Accept-Language": "de"}).content.decode()


@pytest.mark.parametrize("refusal", ALL)
def test_a_program_gets_json_or_a_line_of_text(refusal: Refusal) -> None:
    answer = json.loads(ask(refusal, "/api/documents", **BROWSER).content)
    assert (answer["detail"], answer.get("code", "")) == (refusal.detail, refusal.code)
    assert bool(refusal.code) == (refusal.status == 503)
    text = ask(refusal, Accept="*/*")
    assert text["Content-Type"] == "text/plain; charset=utf-8"
    assert text.content.decode() == f"{refusal.detail}\n"


@pytest.mark.parametrize("refusal", ALL)
def test_no_refusal_is_kept_by_anybody(refusal: Refusal) -> None:
    for path in ("/", "/api/documents"):
        assert ask(refusal, path, **BROWSER)["Cache-Control"] == "no-store"


def test_one_request_too_many_is_refused_at_once_and_the_next_one_served() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slow(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        if environ["PATH_INFO"] != "/probe":
            inside.set()
            go_on.wait(20)
        start_response("200 OK", [])
        return [b"served"]

    reserve = ThreadReserve(slow, limit=1, refuse=busy, needs_a_place=lambda environ: environ["PATH_INFO"] != "/probe")

    def get(path: str = "/") -> tuple[str, bytes]:
        statuses: list[str] = []
        body = reserve(
            RequestFactory().get(path, headers=BROWSER).environ, lambda status, headers: statuses.append(status)
        )
        whole = b"".join(body)
        if hasattr(body, "close"):
            body.close()
        return statuses[0], whole

    first = threading.Thread(target=get)
    first.start()
    inside.wait(20)
    assert get("/probe") == ("200 OK", b"served")
    status, page = get()
    assert status == "503 Service Unavailable"
    assert BUSY.what.encode() in page
    assert get("/api/documents")[1] == b'{"detail": "All places are taken. Try again.", "code": "busy"}'
    go_on.set()
    first.join()
    assert get() == ("200 OK", b"served")


def test_a_host_that_nobody_has_gets_no_static_file(db: None, settings: Any) -> None:
    settings.DEBUG = True  # files are served from where they are
    path = "/static/documents/pages.css"
    assert Client(headers={"host": "acme.localhost"}).get(path).status_code == 200
    assert Client(headers={"host": "localhost"}).get(path).status_code == 200
    assert Client(headers={"host": "nobody.localhost"}).get(path).status_code == 404
