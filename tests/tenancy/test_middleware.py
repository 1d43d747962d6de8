"""Which tenant a request belongs to."""

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from dms_project.tenancy import current, use
from dms_project.tenancy.middleware import TenantMiddleware
from dms_project.tenancy.schemas import create_tenant, delete_tenant
from tests.tenancy.sessions import mark, marks, schema_in_force


def serve(view, host, path="/x", **headers):
    return TenantMiddleware(view)(RequestFactory().get(path, headers={"host": host} | headers))


def tell_schema(request):
    return HttpResponse(f"{current()} {schema_in_force()}")


@pytest.mark.parametrize(
    ("host", "schema"),
    [
        ("acme.localhost", "acme"),
        ("acme.localhost:8000", "acme"),
        ("ACME.Localhost", "acme"),
        ("acme.localhost.", "acme"),
        ("globex.localhost", "globex"),
        ("localhost", "public"),
        ("localhost:8000", "public"),
        ("127.0.0.1:8000", "public"),
    ],
)
def test_a_known_host_leads_to_its_schema(db, host, schema):
    assert serve(tell_schema, host).content.decode() == f"{schema} {schema}"
    assert current() == "public"


def test_where_the_operators_have_a_name_the_address_is_none(db, settings):
    """Behind a proxy that guards the operators' name, the address would be an unguarded second one."""
    settings.DMS_OPERATORS_HOST = "Operators.example"
    assert serve(tell_schema, "operators.example").content.decode() == "public public"
    assert serve(tell_schema, "127.0.0.1").status_code == 404


@pytest.mark.parametrize(
    "host",
    [
        "nobody.localhost",
        "acme",
        "acme.localhost.evil.example",
        "xacme.localhost",
        "10.0.0.1",
        "[::1]:8000",
        "xn--bcher-kva.example",
    ],
)
def test_an_unknown_host_gets_404_and_nothing_is_run_for_it(db, host):
    response = serve(lambda request: pytest.fail("served"), host)
    assert response.status_code == 404
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert not response.cookies


@pytest.mark.parametrize(
    "host",
    [
        "acme localhost",
        "acme.localhost, globex.localhost",
        "a/b",
        "acme.localhost:x",
        "b\xfccher.example",
        "a_b.localhost",
        "<script>",
        "'",
        "%",
        "\x00",
        "[::1",
        "@",
    ],
)
def test_a_malformed_host_gets_400(db, host):
    response = serve(lambda request: pytest.fail("served"), host)
    assert response.status_code == 400
    assert host not in response.content.decode()


def test_a_forwarded_host_counts_where_the_settings_say_so_and_nowhere_else(db, settings):
    forwarded = {"x-forwarded-host": "globex.localhost"}
    assert serve(tell_schema, "acme.localhost", **forwarded).content == b"acme acme"
    settings.USE_X_FORWARDED_HOST = True
    assert serve(tell_schema, "acme.localhost", **forwarded).content == b"globex globex"


def test_the_operators_host_can_be_another(db, settings):
    settings.DMS_OPERATORS_HOST = "ops.example"
    assert serve(tell_schema, "ops.example").content == b"public public"
    assert serve(tell_schema, "localhost").status_code == 404


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
@pytest.mark.parametrize("host", ["nobody.localhost", "10.0.0.1", "a/b", ""])
def test_probes_are_served_on_any_host_without_a_look_into_the_database(path, host):
    # No db fixture: pytest-django refuses any access.
    assert serve(lambda request: HttpResponse(current()), host, path).content == b"public"


def test_a_view_that_fails_leaves_no_tenant_behind(db):
    def fail(request):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        serve(fail, "acme.localhost")
    assert current() == schema_in_force() == "public"


def test_a_request_that_outlives_its_tenant_is_answered_as_for_an_unknown_host(committed_db):
    create_tenant("initech", "initech.localhost")

    def outlive(request):
        delete_tenant("initech")
        return HttpResponse(status=500)  # which is what becomes of a table that is gone

    assert serve(outlive, "initech.localhost").status_code == 404
    assert serve(lambda request: HttpResponse(status=500), "acme.localhost").status_code == 500


def test_a_request_without_a_host_belongs_to_nobody(db):
    request = RequestFactory().get("/x")  # which makes up the name of a server
    response = TenantMiddleware(lambda request: pytest.fail("served"))(request)
    assert response.status_code == 400


def test_a_streaming_response_is_computed_in_its_tenant_and_leaves_others_alone(db):
    mark("acme", "globex")

    def stream(request):
        return StreamingHttpResponse(f"{name}\n" for _ in range(3) for name in marks())

    acme, globex = (iter(serve(stream, f"{name}.localhost")) for name in ("acme", "globex"))
    for _ in range(3):
        assert next(acme) == b"acme\n"
        assert current() == "public"
        assert next(globex) == b"globex\n"
    assert list(acme) == list(globex) == []


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators")
def test_an_asynchronous_stream_is_computed_in_its_tenant_too(db):
    async def chunks():
        yield current()
        yield current()

    assert b"".join(serve(lambda request: StreamingHttpResponse(chunks()), "acme.localhost")) == b"acmeacme"


class TestTheWholeStack:
    def test_a_login_counts_in_its_own_tenant_alone(self, db, client):
        for name in ("acme", "globex"):
            with use(name):
                User.objects.create_superuser("demo", password=f"secret of {name}")
        login = {"username": "demo", "password": "secret of acme", "next": "/admin/"}
        assert client.post("/admin/login/", login, headers={"host": "globex.localhost"}).status_code == 200  # refused
        assert client.post("/admin/login/", login, headers={"host": "acme.localhost"}).status_code == 302
        assert client.get("/admin/", headers={"host": "acme.localhost"}).status_code == 200
        elsewhere = client.get("/admin/", headers={"host": "globex.localhost"})
        assert elsewhere.status_code == 302
        assert "/admin/login/" in elsewhere.headers["Location"]
        assert client.get("/admin/", headers={"host": "localhost"}).status_code == 302

    def test_an_unknown_host_sets_no_cookie(self, db, client):
        response = client.get("/admin/login/", headers={"host": "nobody.localhost"})
        assert (response.status_code, dict(response.cookies)) == (404, {})

    def test_the_tenants_are_shown_on_the_operators_host_alone(self, db, client):
        for name in ("public", "acme"):
            with use(name):
                User.objects.create_superuser("boss", password="secret")
        answers = {}
        for host in ("localhost", "acme.localhost"):
            client.post("/admin/login/", {"username": "boss", "password": "secret"}, headers={"host": host})
            index = client.get("/admin/", headers={"host": host})
            listing = client.get("/admin/tenancy/tenant/", headers={"host": host})
            answers[host] = (b"/admin/tenancy/tenant/" in index.content, listing.status_code)
        assert answers == {"localhost": (True, 200), "acme.localhost": (False, 403)}

    def test_a_request_asks_for_its_tenant_in_one_statement(self, db, django_assert_num_queries):
        with django_assert_num_queries(1):
            serve(lambda request: HttpResponse(), "acme.localhost")
