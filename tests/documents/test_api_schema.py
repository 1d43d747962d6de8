"""The API against its own OpenAPI document: calls that it promises to take, calls that it promises to refuse.

Schemathesis makes both from the document and looks at each answer: no 500, no status and no body that isn't documented,
nothing accepted that is malformed, nothing served without a login. ``API_CALLS=5000`` makes about so many calls, new
ones each time, and says how many; otherwise they are few and the same each time.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, settings
from schemathesis import Case

from dms_project.api import api as documented_api
from dms_project.tenancy import use
from documents import results
from documents.editing import add_note
from documents.models import DocumentVersion
from documents.processing.findings import Findings, Page
from documents.resumable import begin
from documents.roles import Role, set_role
from documents.searches import save
from tests.documents.http import Api

CALLS = int(os.environ.get("API_CALLS", "0"))
DOCUMENT = json.loads(json.dumps(documented_api.get_openapi_schema()))
if not CALLS:  # what HEAD takes and answers is what GET does
    for calls in DOCUMENT["paths"].values():
        calls.pop("head", None)
OPERATIONS = sum(len(calls) for calls in DOCUMENT["paths"].values())
# In a form everything is text, so that no title is of a wrong type; and no schema says which bytes are a program, nor
# how many an upload lacks.
LENIENT = [
    {
        "include-method": method,
        "include-path": path,
        "checks": {"negative_data_rejection": {"enabled": False}, "positive_data_acceptance": {"enabled": False}},
    }
    for method, path in (
        ("POST", "/api/documents"),
        ("POST", "/api/uploads"),
        ("PATCH", "/api/uploads/{upload_id}"),
    )
]
schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
schema = schemathesis.openapi.from_dict(DOCUMENT, config=schemathesis.Config.from_dict({"operations": LENIENT}))
schema.app = get_wsgi_application()


def test_the_document_names_each_call_once() -> None:
    calls = [call for path in DOCUMENT["paths"].values() for call in path.values()]
    assert len({call["operationId"] for call in calls}) == len(calls)


class Caller:
    """An admin of acme, whose documents are called by every other id that is made up."""

    def __init__(self) -> None:
        with use("acme"):
            ada = User.objects.create_user("ada")
            set_role(ada, Role.ADMIN)
            self._api = Api("acme", ada)
            read, _waiting, trashed = documents = [self._api.upload(b"%d" % number).json() for number in range(3)]
            findings = Findings(1, [Page(1, "text")])
            version = DocumentVersion.objects.get(document=read["id"])
            results.write(version, findings, findings.steps(), hold=lambda: None)
            search = save(ada, "Bills", {"q": "bill"})
            upload = begin(ada, 5, "later.txt")
            note = add_note(UUID(read["id"]), "Call them.", ada)
            self._api.client.delete(f"/api/documents/{trashed['id']}")
        self._documents = [document["id"] for document in documents]
        self._known = {
            "document_id": self._documents,
            "job_id": [document["job_id"] for document in documents],
            "note_id": [note.pk],
            "search_id": [search.pk],
            "upload_id": [str(upload.pk)],
        }
        self.headers = {
            "Host": "acme.localhost",
            "Authorization": self._api.client.defaults["HTTP_AUTHORIZATION"],
            "Tus-Resumable": "1.0.0",
        }

    def give_known_ids(self, case: Case) -> None:
        for name, made_up in case.path_parameters.items():
            case.path_parameters[name] = _or_known(made_up, self._known[name])
        for holder, name in ((case.query, "id"), (case.body, "ids")):
            if isinstance(holder, dict) and isinstance(holder.get(name), list):
                holder[name] = [_or_known(made_up, self._documents) for made_up in holder[name]]


def _or_known(made_up: Any, known: list[Any]) -> Any:
    try:
        number = made_up if isinstance(made_up, int) else UUID(str(made_up)).int
    except ValueError:
        return made_up
    return known[number // 2 % len(known)] if number % 2 else made_up


@pytest.fixture
def caller(db: None) -> Iterator[Caller]:
    ada = Caller()
    # As Django's own client does: in a test's transaction a request must not close the connection.
    around_a_request = (request_started, request_finished)
    for signal in around_a_request:
        signal.disconnect(close_old_connections)
    yield ada
    for signal in around_a_request:
        signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def answers() -> Iterator[Counter[int]]:
    """How often each status was answered."""
    counted: Counter[int] = Counter()
    yield counted
    if CALLS:
        print(f"\n{counted.total()} calls of {OPERATIONS} operations, by status: {dict(sorted(counted.items()))}")


@schema.parametrize()
@settings(
    max_examples=CALLS // OPERATIONS or 5,
    deadline=None,
    derandomize=not CALLS,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_each_call_does_what_the_document_says(case: Case, caller: Caller, answers: Counter[int]) -> None:
    caller.give_known_ids(case)
    answers[case.call_and_validate(headers=caller.headers).status_code] += 1
