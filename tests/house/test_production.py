"""The web server on production settings: https only, cookies of one host, and probes that need neither."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dotenv import dotenv_values

from tests.house.clone import Run, clean_environment, get
from tests.house.test_health import web

HTTPS = {"X-Forwarded-Proto": "https"}  # as the proxy on this machine says


@pytest.fixture(scope="module")
def production(pristine_clone: Path, running: Run) -> Iterator[int]:
    """The port of a web server on production settings, with the running system's database."""
    url = dotenv_values(running.clone / "var/development.env")["DATABASE_URL"]
    assert url
    settings = {"DATABASE_URL": url, "DJANGO_DEBUG": "false", "DJANGO_SECRET_KEY": "0123456789abcdefghij" * 3}
    for command in (["collectstatic", "--noinput"], ["documents", "prepare-storage"]):
        subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=pristine_clone, env=clean_environment(**settings), check=True, capture_output=True,
        )  # fmt: skip
    with web(pristine_clone, **settings) as port:
        yield port


def test_probes_are_not_sent_to_https(production: int) -> None:
    for path in ("/healthz", "/readyz"):
        assert get(production, path, "10.1.2.3").status == 200


def test_everything_else_is(production: int) -> None:
    answer = get(production, "/admin/login/", "acme.localhost")
    assert answer.status == 301
    assert answer.headers["location"].startswith("https://acme.localhost")


def test_a_cookie_belongs_to_one_host_and_to_https(production: int) -> None:
    page = get(production, "/admin/login/", "acme.localhost", **HTTPS)
    assert page.status == 200
    assert page.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
    cookie = page.headers["set-cookie"]
    assert cookie.startswith("__Host-csrftoken=")
    assert "; Secure" in cookie
    assert "domain" not in cookie.lower()


def test_static_files_are_served_for_ever_under_names_of_their_content(production: int) -> None:
    page = get(production, "/api/docs", "acme.localhost", **HTTPS).body
    asset = page.partition('src="')[2].partition('"')[0]
    answer = get(production, asset, "acme.localhost", **HTTPS)
    assert answer.status == 200
    assert "immutable" in answer.headers["cache-control"]


def test_an_error_shows_nothing_of_the_inside(production: int) -> None:
    missing = get(production, "/api/nothing", "acme.localhost", **HTTPS)
    assert missing.status == 404
    assert "urlconf" not in missing.body.lower()
    assert get(production, "/admin/", "unknown.example.org", **HTTPS).status == 404
