"""German and English."""

import subprocess
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.need import need
from tests.pages import made
from tests.pages.site import ROOT

CATALOGUES = [ROOT / folder / "locale/de/LC_MESSAGES/django.po" for folder in ("dms_project", "jobqueue")]
each_catalogue = pytest.mark.parametrize("catalogue", CATALOGUES, ids=("pages", "queue"))


@pytest.fixture
def client(tenant: str) -> Client:
    browser = Client(headers={"host": f"{tenant}.localhost"})
    browser.force_login(User.objects.create_user("ada"))
    return browser


def test_the_browsers_language_is_used_until_another_is_chosen(client: Client) -> None:
    german = {"Accept-Language": "de-CH, en;q=0.5"}
    made.document("Mietvertrag")
    assert "1 Dokument" in client.get("/", headers=german).content.decode()
    assert "1 document" in client.get("/", headers={"Accept-Language": "fr"}).content.decode()

    answer = client.post("/language", {"language": "en", "next": "/trash/"}, headers=german)

    assert answer.url == "/trash/"
    assert "The trash is empty" in client.get("/trash/", headers=german).content.decode()


def test_each_language_is_offered_by_its_own_name(client: Client) -> None:
    for language in ("de", "en"):
        page = client.get("/", headers={"Accept-Language": language}).content.decode()
        assert "Deutsch</button>" in page
        assert "English</button>" in page


def test_choosing_a_language_leads_nowhere_else(client: Client) -> None:
    assert client.post("/language", {"language": "de", "next": "https://example.com/"}).url == "/"


@each_catalogue
def test_the_compiled_words_are_those_of_the_source(catalogue: Path, tmp_path: Path) -> None:
    need("msgfmt")
    subprocess.run(["msgfmt", "--output-file", tmp_path / "django.mo", catalogue], check=True)
    assert (tmp_path / "django.mo").read_bytes() == catalogue.with_suffix(".mo").read_bytes(), "run scripts/translate"


@each_catalogue
def test_every_word_is_translated(catalogue: Path) -> None:
    need("msgfmt")
    said = subprocess.run(
        ["msgfmt", "--statistics", "--output-file", "/dev/null", catalogue], capture_output=True, text=True, check=True
    ).stderr
    assert "untranslated" not in said
    assert "fuzzy" not in said
