"""Saved searches, which are their user's own; tags and correspondents renamed and merged."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from documents import roles
from documents.models import AuditEntry, Document, SavedSearch
from tests.documents.http import Api


def post(api: Api, path: str, **body: Any) -> Any:
    return api.client.post(f"/api/{path}", json.dumps(body), "application/json")


def saved(api: Api) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.client.get("/api/searches").json()
    return [{"name": each["name"], **each["asked"]} for each in found]


def test_a_search_is_saved_replaced_listed_and_forgotten_by_its_user_alone(api: Api, tenant: str) -> None:
    answer = post(api, "searches", name="Bills", q="water", tag=["bill", "2026"], since="2026-01-01", type="pdf")
    assert answer.status_code == 201
    asked = {"q": "water", "tag": ["bill", "2026"], "since": "2026-01-01", "type": "pdf"}
    assert saved(api) == [{"name": "Bills", **asked}]
    assert post(api, "searches", name="BILLS", status="failed").status_code == 201
    assert saved(api) == [{"name": "BILLS", "status": "failed"}]

    reader = User.objects.create_user("reader")
    roles.set_role(reader, roles.Role.READER)
    other = Api(tenant, reader)
    assert post(other, "searches", name="Bills", q="mine").status_code == 201
    path = f"/api/searches/{SavedSearch.objects.get(name='BILLS').pk}"
    assert (other.client.delete(path).status_code, api.client.delete(path).status_code) == (404, 204)
    assert (saved(api), saved(other)) == ([], [{"name": "Bills", "q": "mine"}])
    reader.delete()
    assert not SavedSearch.objects.exists()


def test_what_asks_for_nothing_or_has_no_name_is_not_saved_nor_are_very_many(api: Api, user: User) -> None:
    assert post(api, "searches", name="x").status_code == 400
    assert post(api, "searches", name=" ", q="x").status_code == 400
    assert post(api, "searches", name="x", type="nonsense").status_code == 422
    many = (SavedSearch(user=user, name=f"{n}", key=f"{n}", asked={"q": "x"}) for n in range(50))
    SavedSearch.objects.bulk_create(many)
    assert [post(api, "searches", name=name, q="y").status_code for name in ("51", "7")] == [400, 201]


def test_an_operator_can_be_deleted_where_there_are_no_searches(db: None) -> None:
    User.objects.create_user("operator").delete()


def tags_of(*ids: str) -> list[list[str]]:
    return [Document.objects.get(pk=each).names_of_tags for each in ids]


def test_a_tag_is_renamed_or_merged_in_all_documents_with_its_history_and_saved_searches(api: Api) -> None:
    given = {b"a": "bil", b"b": "bil,Bill", b"c": "x"}
    a, b, c = (api.upload(text, tags=tags).json()["id"] for text, tags in given.items())
    api.client.delete(f"/api/documents/{a}")
    post(api, "searches", name="s", tag=["BIL", "x"])
    answer = post(api, "tags/rename", name="bil", new_name="bill")
    assert answer.json() == {"name": "Bill", "documents": 2, "merged": True}
    assert tags_of(a, b, c) == [["Bill"], ["Bill"], ["x"]]
    assert AuditEntry.objects.filter(action="tagged", details={"added": ["Bill"], "removed": ["bil"]}).count() == 2
    assert saved(api) == [{"name": "s", "tag": ["Bill", "x"]}]
    assert [each["name"] for each in api.client.get("/api/tags").json()] == ["Bill", "x"]

    assert post(api, "tags/rename", name="x", new_name="y").json() == {"name": "y", "documents": 1, "merged": False}
    assert post(api, "tags/rename", name="y", new_name="Y").json()["name"] == "Y"
    assert tags_of(c) == [["Y"]]
    assert post(api, "tags/rename", name="x", new_name="z").json()["code"] == "label_not_found"
    assert post(api, "tags/rename", name="Y", new_name="a,b").json()["code"] == "invalid_value"


def test_correspondents_are_merged_too(api: Api) -> None:
    ids = [api.upload(text).json()["id"] for text in (b"a", b"b")]
    for document_id, name in zip(ids, ("ACME Ltd", "Acme Limited"), strict=True):
        body = json.dumps({"correspondent": name})
        api.client.patch(f"/api/documents/{document_id}", body, "application/json")
    post(api, "searches", name="s", correspondent="acme ltd")
    answer = post(api, "correspondents/rename", name="ACME Ltd", new_name="Acme Limited")
    assert answer.json() == {"name": "Acme Limited", "documents": 1, "merged": True}
    assert api.client.get("/api/correspondents").json() == [{"name": "Acme Limited", "documents": 2}]
    assert saved(api) == [{"name": "s", "correspondent": "Acme Limited"}]
    assert AuditEntry.objects.latest("pk").details == {"old": "ACME Ltd", "new": "Acme Limited"}


@pytest.mark.parametrize("path", ["tags/rename", "correspondents/rename"])
def test_readers_rename_nothing(path: str, api: Api, user: User) -> None:
    roles.set_role(user, roles.Role.READER)
    assert post(api, path, name="a", new_name="b").status_code == 403
