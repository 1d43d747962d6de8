"""What hundreds of tenants cost, in statements (case T16)."""

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dms_project.tenancy import fleet
from dms_project.tenancy.rollout import plan_rollout
from tests.tenancy.test_middleware import serve

MANY = 300
# As far as these commands look: a schema, and what was applied in it. It costs a hundredth of a whole tenant.
CREATE = f"""
    DO $$ BEGIN FOR n IN 1..{MANY} LOOP
        EXECUTE format('CREATE SCHEMA many_%s', n);
        EXECUTE format('CREATE TABLE many_%s.django_migrations AS TABLE acme.django_migrations', n);
        INSERT INTO public.tenants (schema_name) VALUES ('many_' || n);
    END LOOP; END $$
"""


def statements(action):
    with CaptureQueriesContext(connection) as queries:
        action()
    return len(queries)


def create_many():
    with connection.cursor() as cursor:
        cursor.execute(CREATE)


ACTIONS = {
    "migrate": lambda: call_command("migrate", verbosity=0),
    "migrate --check": lambda: call_command("migrate", check_unapplied=True, verbosity=0),
    "migrate --plan": lambda: call_command("migrate", plan=True, verbosity=0),
    "showmigrations": lambda: call_command("showmigrations", verbosity=0),
    "tenant list": lambda: call_command("tenant", "list"),
    "readyz": lambda: plan_rollout(connection),
}


def test_with_nothing_to_do_a_hundred_tenants_cost_one_statement(db, capsys):
    with_two = {name: statements(action) for name, action in ACTIONS.items()}
    create_many()
    with_many = {name: statements(action) for name, action in ACTIONS.items()}
    assert with_many == {name: count + MANY // 100 for name, count in with_two.items()}


def test_one_request_and_one_look_at_the_fleet_cost_the_same_whatever_there_is(db):
    create_many()
    assert statements(lambda: serve(lambda request: HttpResponse(), "acme.localhost")) == 1
    assert statements(fleet.names) == 1
    assert len(fleet.names()) == MANY + 3


def test_the_operators_list_reads_no_more_than_the_tenants_of_a_page(db):
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("operator"))
    create_many()
    assert statements(lambda: client.get("/admin/tenancy/tenant/")) < 25 * 6 + 20
