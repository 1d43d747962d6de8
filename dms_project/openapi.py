"""The API's OpenAPI document: what ninja knows of each call, and what holds for all of them."""

from http import HTTPStatus
from typing import Any

from ninja import NinjaAPI
from ninja.openapi.docs import ABS_TPL_PATH, Swagger
from ninja.openapi.schema import OpenAPISchema

_SAFE = {"get", "head"}
_MAY_HAVE_A_BODY = {"post", "patch"}
# As ninja makes it; the schema of the other errors, Problem, comes with the calls.
_INVALID = {
    "title": "Invalid",
    "description": "Which values can't be used, and why.",
    "type": "object",
    "required": ["detail"],
    "properties": {
        "detail": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "loc", "msg"],
                "properties": {
                    "type": {"type": "string"},
                    "loc": {"type": "array", "items": {"type": ["string", "integer"]}},
                    "msg": {"type": "string"},
                    "ctx": {"type": "object"},
                },
            },
        }
    },
}


class Documentation(Swagger):
    """The page that shows the document, from this server's files; ninja's takes a CDN's unless it is an app."""

    template_cdn = str(ABS_TPL_PATH / "swagger.html")


class DocumentedAPI(NinjaAPI):
    """Adds the errors that any call may answer with, and tells HEAD from the GET that it is served by."""

    def get_openapi_schema(self, **kwargs: Any) -> OpenAPISchema:
        """Return the document."""
        document = super().get_openapi_schema(**kwargs)
        document["components"]["schemas"]["Invalid"] = _INVALID
        for operations in document["paths"].values():
            for method, operation in operations.items():
                answers = _errors(method, operation) | operation["responses"]
                operations[method] = operation | {"responses": dict(sorted(answers.items()))}
            if "head" in operations:
                operations["head"] = _without_bodies(operations["head"])
        return document


def _errors(method: str, operation: dict[str, Any]) -> dict[int, Any]:
    statuses = {401, 404, 503}
    takes_values = any(parameter["in"] == "query" for parameter in operation["parameters"])
    if method not in _SAFE:
        statuses |= {403}
    if method in _MAY_HAVE_A_BODY:
        statuses |= {411}
    if "requestBody" in operation:
        statuses |= {413}
        takes_values = True
    if takes_values:
        statuses |= {400, 422}
    answers = {status: _answer(status) for status in statuses}
    if takes_values and method in _SAFE:  # by the web server, before there is a call
        answers[414] = {"description": "URI Too Long", "content": {"text/html": {}}}
    return answers


def _answer(status: int) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{'Invalid' if status == HTTPStatus.UNPROCESSABLE_ENTITY else 'Problem'}"}
    return {"description": HTTPStatus(status).phrase, "content": {"application/json": {"schema": schema}}}


def _without_bodies(operation: dict[str, Any]) -> dict[str, Any]:
    answers = {status: {"description": answer["description"]} for status, answer in operation["responses"].items()}
    return operation | {"operationId": f"{operation['operationId']}_head", "responses": answers}
