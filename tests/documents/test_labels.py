"""Tags, correspondents, dates and notes: by upload, PATCH and filter, each change written down."""

import json
from datetime import date
from threading import Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections

from dms_project.tenancy import use
from documents import editing, labels
from documents.models import AuditEntry, Correspondent, Document, Note, Tag
from tests.documents.http import Api
from tests.documents.work import work_off


def patch(api: Api, document_id: str, **changes: Any) -> Any:
    return api.client.patch(f"/api/documents/{document_id}", json.dumps(changes), "application/json")


def ids(api: Api, **parameters: Any) -> list[str]:
    answer = api.get(query_params=parameters)
    assert answer.status_code == 200
    assert answer.json()["count"] == len(answer.json()["items"])
    return [item["id"] for item in answer.json()["items"]]


def last_entry() -> tuple[str, dict[str, Any]]:
    entry = AuditEntry.objects.latest("pk")
    return entry.action, entry.details


def test_tags_are_given_at_upload_and_the_first_spelling_stays(api: Api) -> None:
    first = api.upload(b"one", tags="Invoice, 2026 ,invoice,,").json()
    assert first["tags"] == ["2026", "Invoice"]
    assert last_entry() == ("tagged", {"added": ["2026", "Invoice"], "removed": []})
    assert api.upload(b"two", tags="INVOICE").json()["tags"] == ["Invoice"]
    assert Tag.objects.count() == 2


def test_the_same_bytes_again_add_their_tags(api: Api) -> None:
    document_id = api.upload(b"one", tags="a").json()["id"]
    api.client.delete(f"/api/documents/{document_id}")
    again = api.upload(b"one", tags="b").json()
    assert (again["duplicate"], again["restored"], again["tags"]) == (True, True, ["a", "b"])


@pytest.mark.parametrize("tags", ["x" * 65, ",".join(map(str, range(51)))])
def test_an_upload_with_impossible_tags_stores_nothing(api: Api, tags: str) -> None:
    answer = api.upload(b"one", tags=tags)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_value")
    assert not Document.objects.exists()


def test_each_edit_is_written_down_once(api: Api) -> None:
    document_id = api.upload(b"one", tags="old").json()["id"]
    body = patch(api, document_id, tags=["new", "old"], correspondent=" ACME  Ltd ", document_date="2026-05-04").json()
    assert (body["tags"], body["correspondent"]) == (["new", "old"], "ACME Ltd")
    assert (body["document_date"], body["date_is_guessed"]) == ("2026-05-04", False)
    entries = list(AuditEntry.objects.order_by("pk").values_list("action", "details"))[2:]
    assert entries == [
        ("tagged", {"added": ["new"], "removed": []}),
        ("correspondent_set", {"old": "", "new": "ACME Ltd"}),
        ("dated", {"old": "", "new": "2026-05-04"}),
    ]
    patch(api, document_id, tags=["OLD", "new"], correspondent="acme ltd", document_date="2026-05-04")
    assert AuditEntry.objects.count() == 5
    body = patch(api, document_id, tags=[], correspondent=None, document_date=None).json()
    assert (body["tags"], body["correspondent"], body["document_date"]) == ([], None, None)
    assert AuditEntry.objects.count() == 8


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"unknown": 1}, {"tags": "a"}, {"tags": None}, {"tags": ["a,b"]}, {"tags": ["x" * 65]},
        {"correspondent": 5}, {"correspondent": "x" * 65}, {"document_date": "2026-02-30"},
        {"document_date": ""}, {"document_date": 0}, {"document_date": "2026-02-03T00:00:00"}, {"title": None},
    ],
)  # fmt: skip
def test_an_edit_that_cannot_be_changes_nothing(api: Api, changes: dict[str, Any]) -> None:
    document_id = api.upload(b"one").json()["id"]
    assert patch(api, document_id, **changes).status_code in (400, 422)
    assert AuditEntry.objects.count() == 1


def test_an_edit_is_done_whole_or_not_at_all(api: Api) -> None:
    document_id = api.upload(b"one", "one.txt").json()["id"]
    assert patch(api, document_id, title="New", tags=["a,b"]).status_code == 400
    assert api.get(f"/{document_id}").json()["title"] == "one"


def test_the_date_is_guessed_until_somebody_sets_or_clears_it(api: Api) -> None:
    document_id = api.upload(b"Berlin, 3. Mai 2026").json()["id"]
    work_off()
    body = api.get(f"/{document_id}").json()
    assert (body["document_date"], body["date_is_guessed"]) == ("2026-05-03", True)
    for day in ("2025-01-01", None):
        patch(api, document_id, document_date=day)
        api.client.post(f"/api/documents/{document_id}/reprocess")
        work_off()
        body = api.get(f"/{document_id}").json()
        assert (body["document_date"], body["date_is_guessed"]) == (day, False)


def test_filters_hold_together_and_with_a_search(api: Api) -> None:
    bill = api.upload(b"money for water", "bill.txt", tags="bill,home").json()["id"]
    other = api.upload(b"money for power", "other.csv", tags="bill").json()["id"]
    work_off()
    patch(api, bill, correspondent="Waterworks", document_date="2026-03-31")
    assert ids(api, tag="BILL") == [other, bill]
    assert ids(api, tag=["bill", "home"]) == [bill]
    assert ids(api, tag="unknown") == []
    assert ids(api, tag=["bill", "BILL", ""]) == [other, bill]
    assert ids(api, tag=[f"tag {number}" for number in range(50)]) == []  # and not in minutes
    assert ids(api, correspondent="waterworks") == [bill]
    assert ids(api, type="pdf") == []
    assert ids(api, since="2026-03-31", until="2026-03-31") == [bill]
    assert ids(api, since="2026-04-01") == [other]  # by the day of its upload
    assert ids(api, until="2026-04-01") == [bill]
    assert ids(api, q="money", tag="bill", status="ready", until="2026-12-31", since="0001-01-01") != []
    assert ids(api, q="water", tag="home", type="text") == [bill]
    assert ids(api, q="power", tag="home") == []


@pytest.mark.parametrize("name", ["since", "until", "type", "status"])
def test_a_filter_that_means_nothing_is_refused(api: Api, name: str) -> None:
    assert api.get(query_params={name: "nonsense"}).status_code == 422


def test_days_at_the_ends_of_time_are_no_error(api: Api) -> None:
    assert ids(api, since="0001-01-01", until="9999-12-31") == []


def test_tags_and_correspondents_in_use_are_counted(api: Api) -> None:
    first, second = (api.upload(content, tags="b,a").json()["id"] for content in (b"1", b"2"))
    patch(api, first, correspondent="Ada")
    patch(api, second, tags=["a"])
    assert api.client.get("/api/tags").json() == [{"name": "a", "documents": 2}, {"name": "b", "documents": 1}]
    api.client.delete(f"/api/documents/{first}")
    assert api.client.get("/api/tags").json() == [{"name": "a", "documents": 1}]
    assert api.client.get("/api/correspondents").json() == []


def test_notes_are_written_listed_and_removed(api: Api, user: User) -> None:
    document_id = api.upload(b"one").json()["id"]
    path = f"/api/documents/{document_id}/notes"
    note = api.client.post(path, json.dumps({"text": " Call back.\r\nToday. "}), "application/json").json()
    assert (note["text"], note["author_name"]) == ("Call back.\nToday.", "alice")
    assert last_entry() == ("noted", {"note": note["id"]})
    assert api.client.get(path).json() == [note]
    user.delete()
    assert Note.objects.get().author_name == "alice"


def test_a_removed_note_is_gone_and_that_is_written_down(api: Api) -> None:
    document_id, other = (api.upload(content).json()["id"] for content in (b"1", b"2"))
    path = f"/api/documents/{document_id}/notes"
    note = api.client.post(path, json.dumps({"text": "x"}), "application/json").json()["id"]
    assert api.client.delete(f"/api/documents/{other}/notes/{note}").json()["code"] == "note_not_found"
    assert api.client.delete(f"{path}/{note}").status_code == 204
    assert last_entry() == ("note_removed", {"note": note})
    assert api.client.delete(f"{path}/{note}").status_code == 404


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\x00", "x" * 10_001, None])
def test_a_note_that_says_nothing_is_refused(api: Api, text: object) -> None:
    document_id = api.upload(b"one").json()["id"]
    answer = api.client.post(f"/api/documents/{document_id}/notes", json.dumps({"text": text}), "application/json")
    assert answer.status_code in (400, 422)
    assert not Note.objects.exists()


def test_two_who_make_the_same_tags_at_a_time_get_the_same_rows(committed_db: None) -> None:
    with use("acme"):
        documents = [Document.objects.create(title="x") for _ in range(6)]
        user = User.objects.create_user("alice")
    orders = [["a", "b", "c", "d"], ["d", "c", "b", "a"]] * 3

    def tag(document: Document, names: list[str]) -> None:
        with use("acme"):
            for name in names:
                editing.edit(document.pk, {"tags": [*names, name]}, user)
        connections.close_all()

    threads = [Thread(target=tag, args=each) for each in zip(documents, orders, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with use("acme"):
        assert Tag.objects.count() == 4
        assert {document.tags.count() for document in Document.objects.all()} == {4}
    connection.close()


def test_folding_is_the_same_whatever_the_database_thinks_of_letters(tenant: str) -> None:
    made = labels.with_names(Correspondent, ["Straße", "STRASSE", "ΣΊΣΥΦΟΣ", "Σίσυφος"])
    assert len(made) == 2
    assert labels.names(Correspondent) == []


def test_a_date_is_kept_as_a_day(api: Api) -> None:
    document_id = api.upload(b"one").json()["id"]
    patch(api, document_id, document_date="1900-01-01")
    assert Document.objects.get().document_date == date(1900, 1, 1)
