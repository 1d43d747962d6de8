"""Who gets which answer from which route (D13, O16, T13): the whole URL resolver against the table in matrix.txt.

A row has a route's methods and what each person gets: at a tenant's host, and behind the bar at the operators'.

- ``anonymous``, ``reader`` (of a tenant's documents), ``user`` (an editor of them), ``staff`` (may enter the admin,
  where it sees nothing; an editor, too), ``boss`` (a superuser): the people of that host.
- ``unknown``, ``trashed``: what the boss gets for ids that nobody has, and for a document in the trash.
- ``login``: is sent to log in; ``-``: the route has no such id; ``302/403``: Django's two lines differ.

What holds for every route isn't in the table, but in the tests.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from django.urls import URLPattern

from dms_project.tenancy import PUBLIC, use
from tests.access.asking import Answer, ask, send, url_of
from tests.access.routes import routes
from tests.access.world import House, Ids, World, unknown_ids

ROLES = ("anonymous", "reader", "user", "staff", "boss")
OTHER_METHODS = ("POST", "PUT", "DELETE")
REFUSALS = {"login", "400", "401", "403", "404", "405"}
# Django's own views, which don't look at the method.
LENIENT = re.compile(r"/(admin/.*|favicon\.ico|language|login/|api/(openapi\.json|docs)?)$")


@dataclass(frozen=True)
class Row:
    methods: tuple[str, ...]
    route: str
    at: dict[str, dict[str, str]]
    """What each column says, by kind of host."""


def _read(line: str, columns: list[str]) -> Row:
    tenants, operators = (part.split() for part in line.split(" | "))
    method, route, *cells = tenants
    at_operators = dict(zip(columns, operators, strict=False))
    return Row(
        tuple(method.split("+")), route, {"tenant": dict(zip(columns, cells, strict=True)), PUBLIC: at_operators}
    )


@cache
def table() -> list[Row]:
    head, *lines = Path(__file__).with_name("matrix.txt").read_text().splitlines()
    columns = head.partition(" | ")[0].split()[2:]
    return [_read(line, columns) for line in lines]


both_tenants = pytest.mark.parametrize("house", ["acme", "globex", PUBLIC], indirect=True)


@pytest.fixture(params=["acme", PUBLIC])
def house(request: pytest.FixtureRequest, world: World) -> House:
    """The host that is asked."""
    found: House = getattr(world, request.param)
    return found


def expected(row: Row, house: House) -> dict[str, str]:
    return row.at[PUBLIC if house.name == PUBLIC else "tenant"]


def ids_at(house: House, world: World) -> Ids:
    """At the operators' host, ids of what only tenants have are a tenant's."""
    return world.acme.ids | house.ids


def questions() -> Iterator[tuple[Row, str]]:
    for row in table():
        for method in row.methods:
            yield row, method


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    assert {row.route for row in table()} == {route.path for route in routes()}


def test_no_method_of_a_route_stands_in_two_rows() -> None:
    named = sorted((row.route, method) for row, method in questions())
    assert [one for one, next_one in pairwise(named) if one == next_one] == []


def test_every_call_of_the_api_has_its_methods_in_the_table() -> None:
    named = {(row.route, method) for row, method in questions()}
    for route in routes():
        for method in _methods_of_a_call(route.pattern) - {"HEAD"}:
            assert (route.path, method) in named


def _methods_of_a_call(pattern: URLPattern) -> set[str]:
    """Return the methods that django-ninja serves at a path; none for other routes."""
    cells = getattr(pattern.callback, "__closure__", None) or ()
    operations = [each for cell in cells for each in getattr(cell.cell_contents, "operations", [])]
    return {method for operation in operations for method in operation.methods}


@pytest.mark.parametrize("role", ROLES)
def test_each_gets_what_the_table_says_and_who_is_refused_changes_nothing(
    role: str, house: House, world: World
) -> None:
    wrong, changed = {}, {}
    for row, method in questions():
        answer = ask(house, role, method, url_of(row.route, ids_at(house, world)), host=house.name)
        if answer.word != expected(row, house)[role]:
            wrong[method, row.route] = answer.word
        if answer.word in REFUSALS and answer.written:
            changed[method, row.route] = answer.written
    assert (wrong, changed) == ({}, {})


def test_ids_that_nobody_has_and_of_what_lies_in_the_trash(house: House, world: World) -> None:
    wrong = {}
    for row, method in questions():
        for column, ids in (("unknown", unknown_ids(ids_at(house, world))), ("trashed", house.trashed)):
            word = expected(row, house).get(column, "-")
            if word != "-":
                answer = ask(house, "boss", method, url_of(row.route, ids), host=house.name)
                if answer.word not in word.split("/"):
                    wrong[column, method, row.route] = answer.word
    assert wrong == {}


@both_tenants
def test_another_tenants_id_is_answered_like_one_that_nobody_has(house: House, world: World) -> None:
    """But for those of tenants themselves, which operators have."""
    other = world.globex if house is world.acme else world.acme
    different = {}
    for row, method in questions():
        if "<" not in row.route or "(" in row.route or (house is world.public and "tenancy/tenant" in row.route):
            continue
        foreign, unknown = (
            ask(house, "boss", method, url_of(row.route, ids), host=house.name)
            for ids in (other.ids, unknown_ids(other.ids))
        )
        if _seen(foreign) != _seen(unknown):
            different[method, row.route] = (foreign, unknown)
    assert different == {}


def _seen(answer: Answer) -> tuple[object, ...]:
    return answer.word, answer.anonymous_body, answer.headers, answer.written


@both_tenants
def test_a_session_and_a_token_of_another_schema_are_nobodys(house: House, world: World) -> None:
    """Not even those of superusers, or of operators at a tenant's host."""
    strangers = [each for each in (world.acme, world.globex, world.public) if each is not house]
    wrong = {}
    for row, method in questions():
        for stranger in strangers:
            url = url_of(row.route, ids_at(house, world))
            answer = ask(stranger, "boss", method, url, host=house.name)
            if answer.word != expected(row, house)["anonymous"]:
                wrong[stranger.name, method, row.route] = answer.word
    assert wrong == {}


def test_head_is_answered_as_get_is(house: House, world: World) -> None:
    wrong = {}
    for row, method in questions():
        if method == "GET" and not LENIENT.match(row.route):
            answer = ask(house, "boss", "HEAD", url_of(row.route, ids_at(house, world)), host=house.name)
            if answer.word != expected(row, house)["boss"]:
                wrong[row.route] = answer.word
    assert wrong == {}


def test_a_method_that_is_not_in_the_table_is_refused_or_does_no_more_than_get(house: House, world: World) -> None:
    named = {(row.route, method) for row, method in questions()}
    wrong = {}
    for route in dict.fromkeys(row.route for row in table()):
        for method in OTHER_METHODS:
            if (route, method) in named:
                continue
            answer = ask(house, "boss", method, url_of(route, ids_at(house, world)), host=house.name)
            fine = answer.status < 500 and not answer.written if LENIENT.match(route) else answer.status == 405
            if not fine:
                wrong[method, route] = answer
    assert wrong == {}


def test_nothing_that_a_login_opens_is_kept_by_a_proxy(house: House, world: World) -> None:
    """Case T13. What is refused to strangers, the boss gets for himself alone, or for this cookie."""
    kept = {}
    for row, method in questions():
        if method == "GET" and expected(row, house)["anonymous"] in REFUSALS:
            answer = ask(house, "boss", method, url_of(row.route, ids_at(house, world)), host=house.name)
            if answer.status == 200 and "private" not in answer.kept and "Cookie" not in answer.kept:
                kept[row.route] = answer.kept
    assert kept == {}


def test_without_the_token_of_the_form_no_browser_changes_anything(house: House, world: World) -> None:
    """Neither with another host's."""
    wrong = {}
    for row, method in questions():
        if method in ("GET", "OPTIONS"):
            continue
        for token in ({}, {"X-CSRFToken": "x" * 32}):
            browser = house.browser("boss", house.name, enforce_csrf_checks=True)
            browser.cookies["csrftoken"] = "y" * 32
            answer = send(browser, method, url_of(row.route, ids_at(house, world)), token)
            if answer.written or (answer.word not in REFUSALS and not LENIENT.match(row.route)):
                wrong[method, row.route, bool(token)] = answer
    assert wrong == {}


MALFORMED = ["x", "%00", "99999999999999999999", "%F0%9F%97%9D", "1/2"]


def test_a_malformed_id_is_no_server_error(house: House) -> None:
    broken = {}
    for row in table():
        if "<" in row.route and "(" not in row.route:
            for text in MALFORMED:
                url = re.sub(r"<.*?>", text, row.route)
                answer = ask(house, "boss", row.methods[0], url, host=house.name)
                if answer.status >= 500:
                    broken[url] = answer
    assert broken == {}


def test_no_other_way_leads_to_the_originals(house: House, world: World) -> None:
    document = world.acme.ids["documents/document"]
    for path in ("/media/", "/storage/", "/static/", "/"):
        for key in (f"acme/{document}/1/original", f"{document}/1/original", "../../etc/passwd"):
            assert ask(house, "boss", "GET", f"{path}{key}", host=house.name).status == 404


def test_a_login_ends_with_its_user(world: World) -> None:
    from django.contrib.auth.models import User

    with use("acme"):
        User.objects.filter(username="boss").update(is_active=False)
    different = {}
    for row, method in questions():
        answer = ask(world.acme, "boss", method, url_of(row.route, world.acme.ids), host="acme")
        if answer.word != row.at["tenant"]["anonymous"]:
            different[method, row.route] = answer.word
    assert different == {}
