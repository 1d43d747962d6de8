"""Names of tenants and hosts: one rule at every door (case T02)."""

import io

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import DataError, IntegrityError, connection, transaction

from dms_project.tenancy import TenantNotFound, use
from dms_project.tenancy.models import Domain, Tenant
from dms_project.tenancy.names import is_tenant_name, normalise_host, validate_host
from dms_project.tenancy.schemas import create_tenant, delete_tenant
from tests.tenancy.sessions import schema_in_force

REFUSED = [
    "a-b", "Upper", "ACME", "123", "1a", "_a", 'a"b', "a'b", "a;drop schema public", "a b", "a,b", "a.b", "pg_x",
    "pg_temp", "public", "information_schema", "extensions", "$user", '"$user"', "", " ", "a" * 64, "a" * 100,
    "ü" * 40, "aü", "🦊", "acme\n", "acme ", " acme", "..", "a/../b", "%", "a%s", "a\\b", "a\x00b", "-- ", "\uff41cme",
]  # fmt: skip
ACCEPTED = ["select", "user", "a_1", "pgx", "x" * 63]


def schemas():
    with connection.cursor() as cursor:
        cursor.execute("SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_' ORDER BY 1")
        return [row[0] for row in cursor.fetchall()]


@pytest.mark.parametrize("name", REFUSED)
class TestRefusedNames:
    def test_by_the_command_with_a_reason(self, db, name):
        before = schemas()
        with pytest.raises(CommandError) as error:
            call_command("tenant", "create", "--domain=new.localhost", "--", name, stdout=io.StringIO())
        assert "name" in str(error.value) or "blank" in str(error.value)
        assert schemas() == before
        assert not Domain.objects.filter(host="new.localhost").exists()

    def test_by_the_function(self, db, name):
        before = schemas()
        with pytest.raises(ValidationError):
            create_tenant(name, "new.localhost")
        assert schemas() == before

    def test_by_the_model(self, db, name):
        with pytest.raises(ValidationError):
            Tenant(schema_name=name).full_clean()

    def test_by_the_database(self, db, name):
        # A NUL comes no further than the driver, and what is too long no further than the column.
        with pytest.raises((IntegrityError, DataError, ValueError)), transaction.atomic():
            Tenant.objects.create(schema_name=name)

    def test_by_use(self, db, name):
        if name == "public":
            return
        with pytest.raises(TenantNotFound), use(name):
            pytest.fail("entered")


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_accepted_name_works_from_creation_to_deletion(committed_db, name):
    before = schemas()
    call_command("tenant", "create", name, "--domain", "new.localhost", stdout=io.StringIO())
    with use(name):
        assert schema_in_force() == name
    call_command("migrate", "sessions", "zero", "--tenant", name, verbosity=0)
    call_command("migrate", "--tenant", name, verbosity=0)
    call_command("tenant", "delete", name, "--yes", stdout=io.StringIO())
    assert schemas() == before
    with pytest.raises(TenantNotFound), use(name), connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def test_a_name_is_taken_whatever_its_case(db):
    assert not is_tenant_name("Acme")
    with pytest.raises(ValidationError, match="already"):
        create_tenant("acme", "new.localhost")


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("acme.example.org", "acme.example.org"),
        ("ACME.Example.ORG", "acme.example.org"),
        ("acme.example.org.", "acme.example.org"),
        ("acme.example.org:8000", "acme.example.org"),
        ("  acme.localhost ", "acme.localhost"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
def test_a_host_is_kept_as_requests_are_matched(written, normal):
    assert normalise_host(written) == normal
    validate_host(normal)
    if written != normal:
        with pytest.raises(ValidationError):
            validate_host(written)


@pytest.mark.parametrize(
    "host",
    ["", " ", "http://acme.example", "acme.example/x", "a b", "-a.example", "a-.example", "a..b", ".a",
     "a_b.example", "a" * 64 + ".example", "a." * 127 + "example", "[::1]", "acme.example:x", "a\n.example", "a'b",
     "*.example", "a\x00b"],
)  # fmt: skip
def test_what_is_no_host_is_refused_with_a_reason(db, host):
    with pytest.raises(ValidationError, match="host"):
        create_tenant("newone", host)
    assert not Tenant.objects.filter(schema_name="newone").exists()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1"])
def test_the_operators_host_leads_to_no_tenant(db, host):
    with pytest.raises(ValidationError, match="operators"):
        create_tenant("newone", host)


def test_a_host_leads_to_one_tenant(db):
    with pytest.raises(ValidationError, match="already"):
        create_tenant("newone", "ACME.localhost.")
    assert "newone" not in schemas()


def test_the_database_refuses_a_host_in_another_form(db):
    with pytest.raises(IntegrityError, match="domain_host_is_valid"), transaction.atomic():
        Domain.objects.create(host="ACME.example", tenant=Tenant.objects.get(schema_name="acme"))


def test_deleting_an_unknown_tenant_changes_nothing(db):
    before = schemas()
    for name in ("nobody", "public", "information_schema", "extensions", "pg_catalog"):
        with pytest.raises(TenantNotFound):
            delete_tenant(name)
    assert schemas() == before
