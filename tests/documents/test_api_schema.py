"""The API against its own OpenAPI document: calls that it promises to take, calls that it promises to refuse.

Schemathesis makes both from the document and looks at each answer: no 500, no status and no body that isn't documented,
nothing accepted that is malformed, nothing served without a login. To try more of them by hand, start a web server and

    schemathesis run http://127.0.0.1:8000/api/openapi.json -c all -n 400 -H "Host: acme.localhost:8000" \\
        -H "Authorization: Bearer $TOKEN"
"""

import json
from collections.abc import Iterator
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
from documents.models import DocumentVersion
from documents.processing.findings import Findings, Page
from tests.documents.http import Api

DOCUMENT = json.loads(json.dumps(documented_api.get_openapi_schema()))
# In a form everything is text, so that no title is of a wrong type; and no schema says which bytes are a program.
LENIENT = {
    "include-method": "POST",
    "include-path": "/api/documents",
    "checks": {"negative_data_rejection": {"enabled": False}, "positive_data_acceptance": {"enabled": False}},
}
schema = schemathesis.openapi.from_dict(DOCUMENT, config=schemathesis.Config.from_dict({"operations": [LENIENT]}))
schema.app = get_wsgi_application()


def test_the_document_names_each_call_once() -> None:
    calls = [call for path in DOCUMENT["paths"].values() for call in path.values()]
    assert len({call["operationId"] for call in calls}) == len(calls)


class Caller:
    """A user of acme, whose documents are called by every other id that is made up."""

    def __init__(self) -> None:
        with use("acme"):
            self._api = Api("acme", User.objects.create_user("ada"))
            read, _waiting, trashed = documents = [self._api.upload(b"%d" % number).json() for number in range(3)]
            findings = Findings(1, [Page(1, "text")])
            version = DocumentVersion.objects.get(document=read["id"])
            results.write(version, findings, findings.steps(), hold=lambda: None)
            self._api.client.delete(f"/api/documents/{trashed['id']}")
        self._documents = [document["id"] for document in documents]
        self._jobs = [document["job_id"] for document in documents]
        self.headers = {"Host": "acme.localhost", "Authorization": self._api.client.defaults["HTTP_AUTHORIZATION"]}

    def give_known_id(self, case: Case) -> None:
        for name, known in (("document_id", self._documents), ("job_id", self._jobs)):
            number = _number(case.path_parameters.get(name))
            if number is not None and number % 2:
                case.path_parameters[name] = known[number // 2 % len(known)]


def _number(made_up: object) -> int | None:
    try:
        return made_up if isinstance(made_up, int) else UUID(str(made_up)).int
    except ValueError:
        return None


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


@schema.parametrize()
@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_each_call_does_what_the_document_says(case: Case, caller: Caller) -> None:
    caller.give_known_id(case)
    case.call_and_validate(headers=caller.headers)
