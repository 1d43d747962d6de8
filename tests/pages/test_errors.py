"""Errors as pages. No test here may use the database: pytest-django sees to that."""

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from dms_project import outage
from documents.pages import errors

HANDLERS = {
    400: errors.bad_request,
    403: errors.forbidden,
    404: errors.not_found,
    410: errors.gone,
    500: errors.server_error,
    503: errors.unavailable,
}


@pytest.mark.parametrize("status", HANDLERS)
def test_an_error_is_a_page_in_either_language_without_a_database(status: int) -> None:
    request = RequestFactory().get("/x", headers={"Accept-Language": "de-AT,de;q=0.9"})
    answer = HANDLERS[status](request)

    assert answer.status_code == status
    assert '<html lang="de"' in answer.content.decode()
    assert "documents/pages.css" in answer.content.decode()


@pytest.mark.parametrize(("path", "kind"), [("/", "text/html; charset=utf-8"), ("/api/documents", "application/json")])
def test_an_outage_is_told_to_people_as_a_page(path: str, kind: str) -> None:
    def fails(request: object) -> HttpResponse:
        request.met_outage = True
        return HttpResponse(status=500)

    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    answer = outage.OutageMiddleware(fails)(RequestFactory().get(path, headers=browser))

    assert (answer.status_code, answer["Content-Type"]) == (503, kind)
    assert answer["Retry-After"]
