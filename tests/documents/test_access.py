"""Who may reach what: a matrix made from the URLs themselves, so that a new call is covered or fails here (D13)."""

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from dms_project.tenancy import use
from documents.api import jobs_router, router
from tests.documents.http import Api
from tests.documents.work import work_off

OTHER = {"acme": "globex", "globex": "acme"}
SECRET = b"secret words"

# Every call that takes an id, as (method, path).
CALLS = sorted(
    (method, prefix + re.sub(r"{\w+:", "{", path))
    for prefix, one_router in (("/api/documents", router), ("/api/jobs", jobs_router))
    for path, view in one_router.path_operations.items()
    for operation in view.operations
    for method in operation.methods
    if "{" in path
)
BODIES = {"PATCH": {"title": "x"}}

Ids = dict[str, Any]


def call(api: Api, method: str, path: str, ids: Ids) -> Any:
    body = json.dumps(BODIES.get(method, {}))
    headers = {"range": "bytes=0-0"} if path.endswith("/download") else {}
    return api.client.generic(method, path.format(**ids), body, "application/json", headers=headers)


def ids_of(api: Api) -> Ids:
    body = api.upload(SECRET).json()
    return {"document_id": body["id"], "job_id": body["job_id"]}


def unknown_ids() -> Ids:
    return {"document_id": uuid4(), "job_id": 999_999_999}


def statuses(api: Api, ids: Ids) -> dict[tuple[str, str], int]:
    return {(method, path): call(api, method, path, ids).status_code for method, path in CALLS}


@pytest.fixture
def stranger(tenant: str) -> Api:
    """A superuser of the other tenant, at that tenant's host."""
    with use(OTHER[tenant]):
        return Api(OTHER[tenant], User.objects.create_superuser("boss"))


def test_the_matrix_has_a_row_for_every_call() -> None:
    assert {path.rpartition("/")[2] for _, path in CALLS} == {
        "{document_id}",
        "download",
        "text",
        "restore",
        "reprocess",
        "{job_id}",
    }
    assert {method for method, _ in CALLS} == {"GET", "HEAD", "POST", "PATCH", "DELETE"}


def test_nobody_without_a_login_gets_anything(api: Api, tenant: str) -> None:
    anonymous = Api(tenant, None)
    assert statuses(anonymous, ids_of(api)) == dict.fromkeys(CALLS, 401)
    assert statuses(anonymous, unknown_ids()) == dict.fromkeys(CALLS, 401)
    for method, path in (("GET", "/api/documents"), ("POST", "/api/documents")):
        assert anonymous.client.generic(method, path).status_code == 401


def test_another_tenants_id_answers_like_one_that_does_not_exist(api: Api, stranger: Api) -> None:
    ids = ids_of(api)
    foreign, unknown = ({row: call(stranger, *row, each) for row in CALLS} for each in (ids, unknown_ids()))
    for row in CALLS:
        assert foreign[row].status_code == unknown[row].status_code == 404, row
        assert foreign[row].headers.keys() == unknown[row].headers.keys(), row
        shown = re.sub(rb"[0-9a-f-]{36}|\d+", b"ID", foreign[row].content)
        assert shown == re.sub(rb"[0-9a-f-]{36}|\d+", b"ID", unknown[row].content), row
    assert api.get(f"/{ids['document_id']}").json()["title"] == "file"


def test_another_tenants_token_opens_nothing(api: Api, stranger: Api, tenant: str) -> None:
    stranger.client.defaults["HTTP_HOST"] = f"{tenant}.localhost"
    assert statuses(stranger, ids_of(api)) == dict.fromkeys(CALLS, 401)


def test_an_inactive_user_is_nobody(api: Api, user: User) -> None:
    ids = ids_of(api)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert statuses(api, ids) == dict.fromkeys(CALLS, 401)


def test_a_deleted_document_is_unknown_to_everything_but_restore(api: Api) -> None:
    ids = ids_of(api)
    work_off()
    api.client.delete(f"/api/documents/{ids['document_id']}")
    documents = [row for row in CALLS if "document_id" in row[1]]
    found = {row: call(api, *row, ids).status_code for row in documents if not row[1].endswith("restore")}
    assert set(found.values()) == {404}
    assert call(api, "POST", "/api/documents/{document_id}/restore", ids).status_code == 200


def test_the_tenants_own_user_gets_an_answer_to_every_call(api: Api) -> None:
    ids = ids_of(api)
    work_off()
    for method, path in reversed(CALLS):  # DELETE comes last
        assert call(api, method, path, ids).status_code in (200, 202, 204, 206), (method, path)


def test_no_other_way_leads_to_the_originals(api: Api, tenant: str) -> None:
    body = api.upload(SECRET).json()
    for path in ("/media/", "/storage/", "/static/", "/"):
        assert api.client.get(f"{path}{tenant}/{body['id']}/1/original").status_code == 404
