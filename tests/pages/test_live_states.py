"""How a page follows what the worker does, and what that costs."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Request, expect

from documents import lifecycle
from documents.models import Document
from documents.states import DocumentStatus
from jobqueue.models import ProcessingJob
from tests.pages import made
from tests.pages.people import File, Person
from tests.pages.site import Site


@pytest.fixture
def client(tenant: str) -> Client:
    browser = Client(headers={"host": f"{tenant}.localhost"})
    browser.force_login(User.objects.create_user("ada"))
    return browser


def processing(title: str = "Lease") -> Document:
    document = made.document(title, status=DocumentStatus.PROCESSING)
    lifecycle.enqueue_processing(document, 1)
    return document


def test_nothing_is_asked_when_all_have_ended(client: Client) -> None:
    made.document()
    assert 'hx-get="/states' not in client.get("/").content.decode()


def test_one_request_asks_for_all_that_have_not_ended(client: Client) -> None:
    made.document("Done")
    ids = [str(processing(f"Lease {n}").pk) for n in range(3)]

    page = client.get("/").content.decode()
    assert page.count("/states?ids=") == 1
    answer = client.get("/states", {"ids": ",".join(ids)}).content.decode()

    assert all(f'id="state-{each}"' in answer for each in ids)
    assert "hx-trigger" in answer


def test_what_has_ended_is_shown_once_and_not_asked_for_again(client: Client) -> None:
    ended, gone = processing("Ended"), processing("Gone")
    Document.objects.filter(pk=ended.pk).update(status=DocumentStatus.READY)
    Document.objects.filter(pk=gone.pk).update(deleted_at=gone.created_at)

    answer = client.get("/states", {"ids": f"{ended.pk},{gone.pk}"}).content.decode()

    assert f'<li class="row" id="row-{ended.pk}" hx-swap-oob="true">' in answer
    assert f'<li id="row-{gone.pk}" hx-swap-oob="delete">' in answer
    assert "hx-trigger" not in answer


@pytest.mark.parametrize("status", ["dead_letter", "failed"])
def test_a_document_whose_job_died_does_not_wait_for_ever(status: str, client: Client) -> None:
    document = processing()
    ended = {"status": status, "finished_at": document.created_at if status == "failed" else None}
    ProcessingJob.objects.filter(pk=document.job_id).update(**ended)

    page = client.get(f"/documents/{document.pk}/").content.decode()

    assert "Reading was interrupted" in page
    assert "Try again" in page
    assert "hx-trigger" not in page
    client.post(f"/documents/{document.pk}/reprocess")
    assert "Waiting" in client.get(f"/documents/{document.pk}/").content.decode()


@pytest.mark.parametrize(("attempts", "said"), [(0, "Waiting"), (1, "Will be tried again")])
def test_a_job_that_waits_says_for_what(attempts: int, said: str, client: Client) -> None:
    document = processing()
    ProcessingJob.objects.filter(pk=document.job_id).update(attempts=attempts)
    assert said in client.get("/").content.decode()


def test_a_document_shows_at_which_step_its_reading_is_and_what_each_job_did(client: Client) -> None:
    document = processing()
    job = ProcessingJob.objects.filter(pk=document.job_id)
    path = f"/documents/{document.pk}/"
    assert "Read the text: waiting" in client.get(path).content.decode()
    lock = {"locked_at": document.created_at, "locked_by": "w", "lock_token": uuid4(), "attempts": 1}
    job.update(status="processing", progress=42, **lock)
    page = client.get(path).content.decode()
    assert "Read the text: running (42" in page
    assert "Make it searchable: waiting" in page

    history = [{"ended_at": "2026-11-30T10:00:00Z", "outcome": "failed", "error": "no room"}]
    job.update(status="pending", locked_at=None, locked_by=None, progress=None, history=history)
    done = {"name": "thumbnail", "status": "done", "reason": "", "detail": "", "job_id": document.job_id}
    Document.objects.filter(pk=document.pk).update(status="ready", job_id=None, steps=[done])
    job.update(payload={"step": "thumbnail"})
    page = client.get(path).content.decode()
    assert 'Reading failed <span class="quiet">(Make a picture of the first page)</span>' in page
    assert "Draw it again" in page


def test_a_list_costs_as_many_statements_with_fifty_documents_as_with_one(
    client: Client, django_assert_max_num_queries: Callable[..., object]
) -> None:
    ids = [str(processing(f"Lease {n}").pk) for n in range(50)]
    with django_assert_max_num_queries(13):
        client.get("/")
    with django_assert_max_num_queries(16):
        client.get("/?q=lease")
    with django_assert_max_num_queries(8):
        client.get("/states", {"ids": ",".join(ids)})


def test_a_page_follows_until_all_have_ended_and_then_is_still(site: Site, ada: Person) -> None:
    page = ada.page
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request) if "/states" in request.url else None)
    ada.upload(*[File(f"Note {n}.txt", f"Note {n}".encode()) for n in range(5)])
    page.click("[data-close]")
    expect(page.locator(".chip.waiting")).to_have_count(5)

    with page.expect_request("**/states*"), page.expect_response("**/states*"):
        pass
    assert asked[-1].url.count("%2C") + asked[-1].url.count(",") == 4

    with site.worker():
        expect(page.locator(".chip.ready")).to_have_count(5, timeout=30_000)
    expect(page.locator("#watch[hx-get]")).to_have_count(0)
    before = len(asked)
    page.wait_for_timeout(3_500)  # two rounds would have come
    assert len(asked) == before


def test_an_open_document_shows_its_text_when_it_has_been_read_and_keeps_a_half_typed_title(
    site: Site, ada: Person
) -> None:
    page = ada.page
    ada.upload(File("Note.txt", b"The zeppelin is late."))
    ada.document("Note")
    expect(page.get_by_text("The text appears here")).to_be_visible()
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Title", exact=True).fill("Half a ti")

    with site.worker():
        expect(page.locator(".prose")).to_have_text("The zeppelin is late.", timeout=30_000)

    expect(page.get_by_label("Title", exact=True)).to_have_value("Half a ti")
    expect(page.locator("#facts .chip")).to_have_text("Ready")
    expect(page.get_by_role("button", name="Read again")).to_be_visible()


def test_when_the_server_is_gone_the_page_says_so_and_goes_on_asking(site: Site, ada: Person) -> None:
    page = ada.page
    ada.upload(File("Note.txt", b"The zeppelin is late."))

    ada.context.set_offline(True)
    expect(page.get_by_text("No connection to the documents")).to_be_visible()
    ada.context.set_offline(False)

    expect(page.get_by_text("No connection to the documents")).to_be_hidden()
    ada.complaints.clear()  # of being offline


def test_when_the_session_has_ended_the_page_leads_to_the_login_and_back(ada: Person) -> None:
    page = ada.page
    ada.upload(File("Note.txt", b"The zeppelin is late."))
    ada.go("/?q=note")
    ada.context.clear_cookies()

    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert page.url.endswith("/login/?next=/%3Fq%3Dnote")
