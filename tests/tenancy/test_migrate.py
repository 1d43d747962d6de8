"""manage.py migrate over a fleet of ten tenants (case T06)."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations import RunPython
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.signals import post_migrate, pre_migrate
from django.test.utils import CaptureQueriesContext

from dms_project.tenancy import current, use
from dms_project.tenancy.routers import lives_in
from dms_project.tenancy.schemas import create_tenant
from tests.tenancy.conftest import NAMES, Fleet
from tests.tenancy.waiting import wait_until

pytestmark = pytest.mark.timeout(300)  # the first test makes the fleet, and each starts a few programs

FIFTH, SEVENTH = NAMES[4], NAMES[6]


def overload(fleet: Fleet, name: str) -> None:
    fleet.sql(f"INSERT INTO {name}.shelves_shelf (load) VALUES (101)")


def waits_for_shelves_of(fleet: Fleet, name: str) -> bool:
    return bool(fleet.sql(f"SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '{name}.shelves_shelf'::regclass"))


def end_other_sessions(fleet: Fleet) -> None:
    """End the server's part of a program that was killed, which goes on waiting for a lock."""
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    fleet.sql(f"SELECT pg_terminate_backend(pid) {others}")
    wait_until(lambda: not fleet.sql(f"SELECT 1 {others}"))


class TestFailure:
    def test_it_stops_at_the_tenant_whose_data_violates_the_constraint_and_names_everything(self, fleet):
        overload(fleet, FIFTH)
        failed = fleet.manage("migrate")
        assert failed.returncode == 1
        assert "Traceback" not in failed.stderr
        first, second = failed.stderr.strip().splitlines()
        assert first == (
            f'CommandError: Stopped at {FIFTH}, shelves.0003_limit_load: check constraint "shelf_is_not_overloaded" '
            f'of relation "shelves_shelf" is violated by some row'
        )
        assert "Migrated: public, t01, t02, t03, t04. Not reached: t06, t07, t08, t09, t10." in second
        assert "run the same command again" in second
        assert list(fleet.shelf_migrations().values()) == [4, 4, 4, 4, 2, 2, 2, 2, 2, 2]

        fleet.sql(f"DELETE FROM {FIFTH}.shelves_shelf WHERE load > 100")
        assert fleet.manage("migrate", "--parallel", "3", "-v0").returncode == 0
        assert set(fleet.shelf_migrations().values()) == {4}

    def test_a_killed_migrate_leaves_whole_migrations_and_is_taken_up_by_the_next(self, fleet, tmp_path):
        with fleet.connect() as session:
            session.execute(f"LOCK TABLE {SEVENTH}.shelves_shelf")
            running = fleet.start(tmp_path / "log", "migrate")
            wait_until(lambda: waits_for_shelves_of(fleet, SEVENTH))
            running.kill()
            running.wait(10)
        end_other_sessions(fleet)
        assert list(fleet.shelf_migrations().values()) == [4, 4, 4, 4, 4, 4, 2, 2, 2, 2]
        assert fleet.manage("migrate", "-v0").returncode == 0
        assert set(fleet.shelf_migrations().values()) == {4}

    def test_an_index_cut_off_half_way_stops_the_next_run_there_and_names_it(self, fleet, tmp_path):
        assert fleet.manage("migrate", "shelves", "0003", "-v0").returncode == 0
        half_made = f"SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('{SEVENTH}.shelves_by_load')"
        with fleet.connect() as session:
            session.execute(f"LOCK TABLE {SEVENTH}.shelves_shelf IN ROW EXCLUSIVE MODE")
            running = fleet.start(tmp_path / "log", "migrate")
            wait_until(lambda: fleet.sql(half_made))
            running.kill()
            running.wait(10)
        end_other_sessions(fleet)
        failed = fleet.manage("migrate", "-v0")
        assert failed.returncode == 1
        assert (
            f'Stopped at {SEVENTH}, shelves.0004_index_load: relation "shelves_by_load" already exists' in failed.stderr
        )
        fleet.sql(f"DROP INDEX {SEVENTH}.shelves_by_load")
        assert fleet.manage("migrate", "-v0").returncode == 0
        assert set(fleet.shelf_migrations().values()) == {4}

    def test_told_to_keep_going_it_migrates_all_others_several_at_once_and_names_those_that_failed(self, fleet):
        fleet.sql(f"DROP SCHEMA {FIFTH} CASCADE")
        overload(fleet, SEVENTH)
        failed = fleet.manage("migrate", "--keep-going", "--parallel", "3")
        assert failed.returncode == 1
        assert f"Failed at {FIFTH}: its schema is missing" in failed.stderr
        assert f"manage.py tenant delete {FIFTH}" in failed.stderr
        assert f"Failed at {SEVENTH}, shelves.0003_limit_load: check constraint" in failed.stderr
        assert (
            f"CommandError: Failed: {FIFTH}, {SEVENTH}.\nMigrated: public, t01, t02, t03, t04, t06, t08"
            in failed.stderr
        )
        assert "t10: migrated" in failed.stdout
        assert fleet.sql("SELECT 1 FROM pg_namespace WHERE nspname = 't05'") == []
        assert fleet.manage("tenant", "delete", FIFTH, "--yes").returncode == 0
        fleet.sql(f"DELETE FROM {SEVENTH}.shelves_shelf WHERE load > 100")
        assert fleet.manage("migrate", "-v0").returncode == 0


class TestTwoAtOnce:
    def test_the_second_says_that_it_waits_and_then_finds_nothing_to_do(self, fleet, tmp_path):
        with fleet.connect() as session:
            session.execute("LOCK TABLE t03.shelves_shelf")
            first = fleet.start(tmp_path / "first", "migrate")
            wait_until(lambda: waits_for_shelves_of(fleet, "t03"))
            second = fleet.start(tmp_path / "second", "migrate")
            wait_until(lambda: (tmp_path / "second").read_text().startswith("Waiting: somebody else is migrating"))
            session.rollback()
            assert (first.wait(60), second.wait(60)) == (0, 0)
        assert "Applying" in (tmp_path / "first").read_text()
        assert "No migrations to apply" in (tmp_path / "second").read_text()
        assert set(fleet.shelf_migrations().values()) == {4}


class TestSelection:
    def test_one_app_goes_back_and_forth_in_every_tenant(self, fleet):
        assert fleet.manage("migrate", "-v0").returncode == 0
        assert fleet.manage("migrate", "shelves", "0002", "-v0").returncode == 0
        assert set(fleet.shelf_migrations().values()) == {2}
        for name in NAMES:
            overload(fleet, name)  # the constraint is gone in each of them
            fleet.sql(f"DELETE FROM {name}.shelves_shelf WHERE load > 100")
        assert fleet.manage("migrate", "shelves", "0003", "-v0").returncode == 0
        assert set(fleet.shelf_migrations().values()) == {3}
        assert fleet.manage("migrate", "shelves", "zero", "-v0").returncode == 0
        assert set(fleet.shelf_migrations().values()) == {0}
        assert fleet.sql("SELECT 1 FROM pg_tables WHERE tablename = 'shelves_shelf'") == []

    def test_one_tenant_alone_and_what_is_due_in_the_others_is_told(self, fleet):
        assert fleet.manage("migrate", "--tenant", "t02", "-v0").returncode == 0
        checked = fleet.manage("migrate", "--check")
        assert checked.returncode == 1
        assert "t01, t03, t04, t05, t06, t07, t08, t09, t10:" in checked.stdout
        planned = fleet.manage("migrate", "--plan")
        assert planned.returncode == 0
        assert "shelves.0003_limit_load\n    Create constraint shelf_is_not_overloaded on model shelf" in planned.stdout
        shown = fleet.manage("showmigrations", "shelves")
        assert (
            "t02:\nshelves\n [X] 0001_shelf\n [X] 0002_first_shelves\n [X] 0003_limit_load\n [X] 0004_index_load\n"
            in shown.stdout
        )
        assert (
            "t09, t10:\nshelves\n [X] 0001_shelf\n [X] 0002_first_shelves\n [ ] 0003_limit_load\n [ ] 0004_index_load\n"
            in shown.stdout
        )
        assert [name for name, count in fleet.shelf_migrations().items() if count == 4] == ["t02"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nothing"], "No installed app with label 'nothing'"),
        (["sessions", "0009"], "No migration of 'sessions' begins with '0009'"),
        (["auth", "000"], "More than one migration of 'auth' begins with '000'"),
        (["messages"], "App 'messages' has no migrations"),
        (["auth", "--run-syncdb"], "App 'auth' has migrations"),
        (["documents", "--tenant", "public"], "App 'documents' has no tables in 'public'"),
        (["tenancy", "--tenant", "acme"], "App 'tenancy' has no tables in 'acme'"),
        (["--tenant", "nobody"], "There is no tenant 'nobody'"),
        (["auth", "--prune"], "--prune is not available"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(db, arguments, reason):
    with pytest.raises(CommandError, match=reason) as error:
        call_command("migrate", *arguments)
    assert "\n" not in str(error.value)


def test_a_database_that_is_away_is_said_in_one_line():
    away = Fleet("postgresql://postgres@127.0.0.1:1/away").manage("migrate")
    assert away.returncode == 1
    assert away.stderr.startswith("CommandError: The database can't be reached: ")
    assert len(away.stderr.strip().splitlines()) == 1


class TestReceivers:
    """What listens to Django's signals around a migrate."""

    @pytest.fixture
    def without_sessions(self, db):
        for name in ("acme", "globex"):
            call_command("migrate", "sessions", "zero", tenant=name, verbosity=0)

    def test_a_migration_whose_aftermath_fails_is_not_recorded(self, without_sessions):
        def fail(**kwargs):
            raise ZeroDivisionError("no permissions today")

        post_migrate.connect(fail, sender=apps.get_app_config("sessions"))
        try:
            with pytest.raises(CommandError, match=r"Stopped at acme, sessions\.0001_initial: no permissions today"):
                call_command("migrate", tenant="acme", verbosity=0)
        finally:
            post_migrate.disconnect(fail, sender=apps.get_app_config("sessions"))
        with use("acme"):
            assert "django_session" not in connection.introspection.table_names()
        call_command("migrate", verbosity=0)
        call_command("migrate", check_unapplied=True, verbosity=0)

    def test_operations_that_are_added_for_one_schema_do_not_pile_up_in_the_next(self, without_sessions):
        ran_in = []

        def add(plan, **kwargs):
            for migration, _ in plan:
                migration.operations.append(RunPython(lambda apps, editor: ran_in.append(current())))

        pre_migrate.connect(add, sender=apps.get_app_config("sessions"))
        try:
            call_command("migrate", verbosity=0)
        finally:
            pre_migrate.disconnect(add, sender=apps.get_app_config("sessions"))
        assert ran_in == ["acme", "globex"]


class TestNothingToDo:
    def test_it_says_so_once(self, db, capsys):
        call_command("migrate")
        assert capsys.readouterr().out == "No migrations to apply; schemas: 3.\n"
        call_command("migrate", check_unapplied=True)

    def test_each_further_tenant_costs_no_further_statement(self, db):
        with CaptureQueriesContext(connection) as with_two:
            call_command("migrate", verbosity=0)
        create_tenant("initech", "initech.localhost")
        create_tenant("umbrella", "umbrella.localhost")
        with CaptureQueriesContext(connection) as with_four:
            call_command("migrate", verbosity=0)
        assert len(with_four) == len(with_two)

    def test_permissions_come_back_where_a_tenant_is_named(self, tenant):
        Permission.objects.all().delete()
        call_command("migrate", verbosity=0)
        assert not Permission.objects.exists()
        call_command("migrate", tenant=tenant, verbosity=0)
        assert Permission.objects.exists()


def test_schemas_that_are_there_but_empty_are_filled(db):
    with connection.cursor() as cursor:
        for name in ("acme", "globex"):
            cursor.execute(f"DROP SCHEMA {name} CASCADE")
            cursor.execute(f"CREATE SCHEMA {name}")
    call_command("migrate", verbosity=0)
    call_command("migrate", check_unapplied=True, verbosity=0)
    for name in ("acme", "globex"):
        with use(name):
            assert Permission.objects.exists()


class TestWhatIsWhere:
    def test_a_tenant_records_its_own_apps_alone(self, tenant):
        apps = set(MigrationRecorder(connection).applied_migrations())
        labels = {app for app, _ in apps}
        assert "documents" in labels
        assert "tenancy" not in labels

    def test_public_records_its_own_apps_alone(self, db):
        labels = {app for app, _ in MigrationRecorder(connection).applied_migrations()}
        assert "tenancy" in labels
        assert "documents" not in labels

    def test_permissions_and_content_types_are_those_of_the_apps_that_live_there(self, tenant):
        assert ContentType.objects.filter(app_label="documents").exists()
        assert Permission.objects.filter(content_type__app_label="documents").exists()
        assert not ContentType.objects.filter(app_label="tenancy").exists()

    def test_every_model_has_its_table_and_no_other_schema_has_it(self, db):
        with connection.cursor() as cursor:
            cursor.execute("SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('public', 'acme')")
            tables = set(cursor.fetchall())
        for model in apps.get_models(include_auto_created=True):
            if not model._meta.managed or model._meta.app_label == "testjobs":
                continue
            table = model._meta.db_table.rpartition(".")[2].strip('"')
            for schema in ("public", "acme"):
                assert ((schema, table) in tables) == lives_in(model._meta.app_label, schema), (schema, table)
