"""manage.py tenant."""

import io
import json

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from dms_project.tenancy import fleet
from dms_project.tenancy.schemas import create_tenant


def tenant(*arguments):
    out = io.StringIO()
    call_command("tenant", *arguments, stdout=out)
    return out.getvalue()


def answer(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_create_says_where_the_tenant_is_reached(db):
    assert tenant("create", "initech", "--domain", "Initech.localhost:8000") == (
        "Created tenant initech, reached at initech.localhost.\n"
    )
    assert fleet.exists("initech")


def test_create_refuses_a_taken_name_and_a_taken_domain_in_one_line(db):
    for arguments, reason in (
        (["acme", "--domain", "new.localhost"], "There is a tenant 'acme' already: choose another name."),
        (["initech", "--domain", "acme.localhost"], "'acme.localhost' leads to tenant 'acme' already: choose another"),
    ):
        with pytest.raises(CommandError, match=reason) as error:
            tenant("create", *arguments)
        assert "\n" not in str(error.value)


def test_create_needs_a_domain(db):
    with pytest.raises(CommandError, match="--domain"):
        tenant("create", "initech")


def test_list_names_tenants_domains_and_states(db):
    assert tenant("list").splitlines() == ["acme  acme.localhost  migrated", "globex  globex.localhost  migrated"]


def test_list_tells_who_is_behind_and_whose_schema_is_missing(db):
    call_command("migrate", "sessions", "zero", "--tenant", "globex", verbosity=0)
    create_tenant("initech", "initech.localhost")
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA initech CASCADE")
    states = {entry["name"]: entry["state"] for entry in json.loads(tenant("list", "--json"))}
    assert states == {"acme": "migrated", "globex": "behind", "initech": "missing"}


def test_list_for_programs_is_json(db):
    entry = json.loads(tenant("list", "--json"))[0]
    assert entry.keys() == {"name", "domains", "created_at", "state", "suspended"}
    assert entry["domains"] == ["acme.localhost"]


def test_delete_asks_for_the_name(db, monkeypatch, capsys):
    create_tenant("initech", "initech.localhost")
    answer(monkeypatch, "initech\n")
    assert tenant("delete", "initech") == "Deleted tenant initech.\n"
    assert "deletes everything that tenant initech has, its files too." in capsys.readouterr().out
    assert not fleet.exists("initech")


def test_delete_does_nothing_unless_the_name_is_typed(db, monkeypatch):
    create_tenant("initech", "initech.localhost")
    for typed in ("yes\n", "\n", "", "INITECH\n", "globex\n"):
        answer(monkeypatch, typed)
        with pytest.raises(CommandError, match=r"Not confirmed: nothing was deleted\. Programs say --yes\."):
            tenant("delete", "initech")
        assert fleet.exists("initech"), typed


def test_delete_asks_nothing_about_a_tenant_that_there_is_not(db, monkeypatch, capsys):
    answer(monkeypatch, "nobody\n")
    with pytest.raises(CommandError, match="There is no tenant 'nobody'"):
        tenant("delete", "nobody")
    assert capsys.readouterr().out == ""


def test_delete_says_in_one_line_that_the_tenant_is_in_use(committed_db, database_url, monkeypatch):
    monkeypatch.setattr("dms_project.tenancy.schemas.PATIENCE_SECONDS", 0.2)
    create_tenant("initech", "initech.localhost")
    with psycopg.connect(database_url) as reader:
        reader.execute("SELECT * FROM initech.auth_group")
        with pytest.raises(CommandError, match="It is suspended now, and nothing else was changed") as error:
            tenant("delete", "initech", "--yes")
    assert "\n" not in str(error.value)
    assert fleet.exists("initech")


@pytest.mark.parametrize("option", ["--yes", "--no-input", "--noinput"])
def test_delete_asks_no_program(db, option):
    create_tenant("initech", "initech.localhost")
    tenant("delete", "initech", option)
    assert not fleet.exists("initech")


@pytest.mark.parametrize("name", ["nobody", "public", "information_schema", "extensions", "pg_catalog", "Acme", 'a"b'])
def test_delete_refuses_what_is_no_tenant(db, name):
    with pytest.raises(CommandError, match=r"There is no tenant .*manage\.py tenant list"):
        tenant("delete", name, "--yes")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_namespace WHERE nspname IN ('public', 'information_schema', 'extensions')"
        )
        assert cursor.fetchone() == (3,)
