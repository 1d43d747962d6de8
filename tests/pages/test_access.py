"""What a browser is told beside a page. Who gets to see which page: tests/access."""

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from documents.models import AuditEntry, Document, Note
from documents.pages.urls import urlpatterns
from documents.roles import Role, set_role
from tests.documents.servers import use_storage
from tests.pages import made

NAMES = [pattern.name for pattern in urlpatterns]
ACTIONS = ["edit", "trash", "restore", "reprocess", "unlock", "add_note", "remove_note", "purge"]
OF_A_DOCUMENT = ["document", "download", "archive", *ACTIONS]
ACTIONS += ["bulk", "rename_label", "save_search", "remove_search"]
#: What stands in the document's history afterwards, as each document is made here.
WRITTEN_DOWN = [*ACTIONS[:4], *ACTIONS[5:9]]


@pytest.fixture
def client(tenant: str) -> Client:
    """Ada's browser at the tenant of the test, which sends CSRF tokens only if it is told to."""
    browser = Client(enforce_csrf_checks=True, headers={"host": f"{tenant}.localhost"})
    browser.force_login(User.objects.create_user("ada"))
    return browser


@pytest.fixture
def stranger(tenant: str) -> Client:
    return Client(headers={"host": f"{tenant}.localhost"})


def url_of(name: str, document_id: UUID | None = None) -> str:
    ids: dict[str, object] = {"document_id": document_id or uuid4()} if name in OF_A_DOCUMENT else {}
    if name == "remove_note":
        note = Note.objects.create(document_id=document_id, text="A note") if document_id else None
        ids["note_id"] = note.pk if note else 1
    if name == "remove_search":
        ids["search_id"] = 1
    return reverse(f"documents:{name}", kwargs=ids)


def token(client: Client) -> str:
    client.get("/")
    return client.cookies["csrftoken"].value


@pytest.mark.parametrize("name", NAMES)
def test_a_stranger_is_led_to_the_login_and_then_on(name: str, stranger: Client) -> None:
    url = url_of(name)
    answer = stranger.post(url) if name in ACTIONS else stranger.get(url)

    assert answer.status_code == 302
    assert answer.url == f"/login/?next={'/' if name in ACTIONS else url}"


def test_a_part_of_a_page_leads_the_whole_page_to_the_login(stranger: Client) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://{stranger.defaults['HTTP_HOST']}/?q=lease"}
    answer = stranger.get("/states?ids=", headers=headers)

    assert answer["HX-Redirect"] == "/login/?next=/%3Fq%3Dlease"
    assert answer.content == b""


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(ACTIONS)))
def test_no_page_is_kept_by_a_browser_or_a_proxy(name: str, client: Client) -> None:
    answer = client.get(url_of(name, made.document().pk))
    assert {"private", "no-store"} <= set(answer["Cache-Control"].split(", "))


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_needs_the_token_of_the_form(name: str, client: Client) -> None:
    refused = client.post(url_of(name, made.document().pk))
    assert refused.status_code == 403
    assert "This form has expired" in refused.content.decode()


@pytest.mark.parametrize("name", WRITTEN_DOWN)
def test_an_action_is_written_down(name: str, client: Client) -> None:
    document = made.document(trashed=name in ("restore", "purge"))
    if name == "purge":
        set_role(User.objects.get(), Role.ADMIN)
    url, form = url_of(name, document.pk), {"title": "New", "text": "A note", "id": document.pk, "action": "trash"}
    assert not AuditEntry.objects.exists()

    assert client.post(url, form | {"csrfmiddlewaretoken": token(client)}).status_code == 302
    assert AuditEntry.objects.get().actor_name == "ada"


def test_the_operators_host_leads_to_the_admin(db: None) -> None:
    assert Client(headers={"host": "localhost"}).get("/").url == "/admin/"


def test_every_answer_carries_a_policy_for_the_browser(client: Client) -> None:
    strict = "default-src 'none'; script-src 'self'; style-src 'self'; "
    for path in ("/", "/trash/", "/login/", "/nothing", "/api/documents", "/static/documents/pages.css"):
        answer = client.get(path)
        assert answer["Content-Security-Policy"].startswith(strict), path
        assert "unsafe" not in answer["Content-Security-Policy"]
        assert answer["X-Content-Type-Options"] == "nosniff"
    assert client.get("/")["X-Frame-Options"] == "DENY"
    assert client.get("/")["Referrer-Policy"] == "same-origin"
    assert "script-src" not in client.get("/admin/")["Content-Security-Policy"]
    assert "unsafe" not in client.get("/admin/")["Content-Security-Policy"]


QUESTIONS = [
    *("page=0", "page=-1", "page=999999999999999999999999999999", "page=1e3", "page=\u0663"),
    *("status=unknown", "status=", "q=%00", "q=%ff%fe", "q=<->%20%26%20:*", "q='\"", "q=%22unclosed", "q=%25_"),
    *("tag=", "tag=x&tag=y", "type=x", "since=2026-02-30", "since=x&until=0001-01-01", "until=9999-12-31"),
    *("q=\u2018\u2019\u02bb\uff07", "q=%F0%9F%97%9D", "q=" + "a" * 3000),
]


def test_no_question_breaks_the_list(client: Client) -> None:
    document = made.document()
    for query in QUESTIONS:
        for headers in ({}, {"HX-Request": "true"}):
            assert client.get(f"/?{query}", headers=headers).status_code == 200, query
        assert client.get(f"/documents/{document.pk}/?{query}").status_code == 200, query


def test_states_of_what_is_no_id_are_a_bad_request(client: Client) -> None:
    for ids in ("", "x", "1,2", f"{uuid4()},", "%00"):
        assert client.get(f"/states?ids={ids}").status_code == 400, ids


def test_markup_in_names_and_texts_is_shown_as_it_was_typed(client: Client) -> None:
    evil = "<script>alert(1)</script>"
    document = made.document(f"{evil} \"'>", f"{evil} word </div>")
    for path in ("/", "/?q=word", f"/documents/{document.pk}/", f"/documents/{document.pk}/?q=word"):
        page = client.get(path).content.decode()
        assert evil not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page, path
    Document.objects.update(deleted_at=document.created_at)
    assert evil not in client.get("/trash/").content.decode()


def test_an_original_that_is_gone_is_told_on_a_page(client: Client, settings: Any, tmp_path: Path) -> None:
    use_storage(settings, {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": tmp_path}})
    answer = client.get(url_of("download", made.document().pk))
    assert answer.status_code == 410
    assert "The original can’t be read" in answer.content.decode()


def test_behind_the_last_page_comes_the_last_page(client: Client) -> None:
    for number in range(51):
        made.document(f"Lease {number}")
    assert client.get("/?page=9").context["page"] == 2
    assert len(client.get("/?page=9").context["rows"]) == 1


@pytest.mark.parametrize("path", ["/", "/trash/", "/document", "/?q=lease"])
def test_a_reader_is_offered_nothing_that_changes_documents(client: Client, path: str) -> None:
    """But to log out, to choose the language, and to save what they search for."""
    document = made.document()
    made.document(trashed=True)
    path = url_of("document", document.pk) if path == "/document" else path
    forms = 'method="post" action="'
    assert "data-choose" in client.get("/").content.decode()
    assert client.get(path).content.decode().count(forms) >= 2
    set_role(User.objects.get(), Role.READER)
    page = client.get(path).content.decode()
    offered = {part.partition('"')[0] for part in page.split(forms)[1:]}
    assert offered - {"/searches"} == {"/logout/", "/language"}
    assert "data-choose" not in page
    assert 'id="uploads"' not in page


def test_only_an_admin_is_offered_to_delete_for_good(client: Client) -> None:
    made.document(trashed=True)
    assert "/purge" not in client.get("/trash/").content.decode()
    set_role(User.objects.get(), Role.ADMIN)
    assert "/purge" in client.get("/trash/").content.decode()
