"""What the API says to requests that reach none of its calls, or break one before it begins: JSON, never a page."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dms_project.tenancy import use
from tests.documents.http import Api

BASE64 = (
    b'--B\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n'
    b"Content-Transfer-Encoding: base64\r\n\r\nx\r\n--B--\r\n"
)
UNKNOWN_ID = "00000000-0000-0000-0000-000000000000"
MULTIPART = "multipart/form-data; boundary=B"
FIELD = b'--B\r\nContent-Disposition: form-data; name="%d"\r\n\r\nx\r\n'
FILE = b'--B\r\nContent-Disposition: form-data; name="%d"; filename="x"\r\n\r\nx\r\n'


@pytest.fixture
def tenant(db: None) -> Iterator[str]:
    """One tenant is enough: nothing here reaches its documents."""
    with use("acme"):
        yield "acme"


@pytest.fixture(autouse=True, params=[False, True], ids=["in production", "in development"])
def debug(request: pytest.FixtureRequest, settings: Any) -> None:
    settings.DEBUG = request.param


def detail(answer: Any, status: int) -> str:
    assert answer.status_code == status
    assert answer["Content-Type"].startswith("application/json")
    assert answer.get("Content-Length") in (None, str(len(answer.content)))
    body = json.loads(answer.content)
    assert body.keys() == {"detail"}
    assert isinstance(body["detail"], str)
    return body["detail"]


@pytest.mark.parametrize(
    "path", ["", "nothing", "documents/", "documents/x", "documents//x", f"documents/{UNKNOWN_ID}/x", "jobs/-1", "%00"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_told_where_the_calls_are_listed(api: Api, method: str, path: str) -> None:
    assert "/api/docs" in detail(api.client.generic(method, f"/api/{path}"), 404)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "", {"GET", "HEAD", "POST"}),
        ("POST", f"/{UNKNOWN_ID}", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("GET", f"/{UNKNOWN_ID}/restore", {"POST"}),
        ("OPTIONS", "", {"GET", "HEAD", "POST"}),
        ("BREW", f"/{UNKNOWN_ID}/text", {"GET", "HEAD"}),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(api: Api, method: str, path: str, allowed: set[str]) -> None:
    answer = api.client.generic(method, f"/api/documents{path}")
    assert method in detail(answer, 405)
    assert set(answer["Allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    ("content_type", "body", "reason"),
    [
        ("multipart/form-data", b"x", "boundary"),
        ("multipart/form-data; boundary=\xfc", b"x", "boundary"),
        (MULTIPART, BASE64, "base64"),
        (MULTIPART, b"".join(FIELD % n for n in range(1002)) + b"--B--\r\n", "1000 fields"),
        (MULTIPART, b"".join(FILE % n for n in range(12)) + b"--B--\r\n", "10 files"),
        ("application/x-www-form-urlencoded", b"&".join(b"%d=x" % n for n in range(1002)), "1000 fields"),
    ],
)
def test_a_malformed_body_is_told_what_is_wrong_with_it(api: Api, content_type: str, body: bytes, reason: str) -> None:
    assert reason in detail(api.client.generic("POST", "/api/documents", body, content_type), 400)


def test_fields_of_more_than_a_mebibyte_are_too_large(api: Api) -> None:
    large = b"x" * (2**20 + 1)
    field = b'--B\r\nContent-Disposition: form-data; name="title"\r\n\r\n' + large + b"\r\n--B--\r\n"
    assert "1048576 bytes" in detail(api.client.generic("POST", "/api/documents", field, MULTIPART), 413)
    path = f"/api/documents/{UNKNOWN_ID}"
    assert "1048576 bytes" in detail(api.client.generic("PATCH", path, large, "application/json"), 413)


def test_a_query_of_too_many_fields_is_refused(api: Api) -> None:
    query = "&".join(f"x{n}=" for n in range(1002))
    assert "1000 fields" in detail(api.client.get(f"/api/documents?{query}"), 400)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 100_000, b"NaN"])
def test_json_that_is_none_is_a_bad_request(api: Api, body: bytes) -> None:
    answer = api.client.generic("PATCH", f"/api/documents/{UNKNOWN_ID}", body, "application/json")
    assert answer.status_code in (400, 422)
    assert "detail" in answer.json()


def test_the_browser_of_a_session_gets_json_too(tenant: str, user: User) -> None:
    browser = Client(enforce_csrf_checks=True, headers={"host": f"{tenant}.localhost", "accept": "text/html"})
    browser.force_login(user)
    detail(browser.post("/api/documents"), 403)
    detail(browser.get("/api/nothing"), 404)
    browser.get("/")
    token = {"X-CSRFToken": browser.cookies["csrftoken"].value}
    detail(browser.generic("POST", "/api/documents", b"x", "multipart/form-data", headers=token), 400)


def test_a_stranger_is_told_how_to_log_in(tenant: str) -> None:
    answer = Client(headers={"host": f"{tenant}.localhost"}).get("/api/documents")
    assert detail(answer, 401) == "Unauthorized"
    assert answer["WWW-Authenticate"] == "Bearer"


def test_the_operators_host_has_no_such_calls(db: None) -> None:
    assert "operators' host" in detail(Client(headers={"host": "localhost"}).get("/api/documents"), 404)


def test_a_host_that_nobody_has_answers_as_json(db: None) -> None:
    detail(Client(headers={"host": "nobody.localhost"}).get("/api/documents"), 404)


def test_conditions_and_ranges_that_fail_keep_their_headers(api: Api) -> None:
    path = f"/{api.upload(b'content').json()['id']}/download"
    changed = api.get(path, headers={"If-Match": '"another"'})
    detail(changed, 412)
    assert changed["ETag"]
    behind = api.get(path, headers={"Range": "bytes=99-"})
    detail(behind, 416)
    assert behind["Content-Range"] == "bytes */7"


def test_an_error_of_ours_tells_nothing_of_the_inside(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("secret of the inside")

    monkeypatch.setattr("documents.listing.list_documents", fail)
    api.client.raise_request_exception = False
    assert "secret" not in detail(api.get(), 500)
