"""One tenant dumped and restored as docs/how-to/tenants.md says, beside the others."""

import subprocess
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection

from dms_project.tenancy import use
from dms_project.tenancy.schemas import create_tenant, delete_tenant
from jobqueue.queue import Queue
from jobqueue.tenants.models import Wakeup
from scripts.postgres_home import INSTALLED


def run(program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's programs, of those that come with the embedded server."""
    packages = Path(pytest.__file__).parents[1]
    done = subprocess.run([packages / INSTALLED / "bin" / program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_restored_tenant_is_as_it_was_and_its_jobs_go_on(
    committed_db: None, database_url: str, tmp_path: Path
) -> None:
    if connection.pg_version < 180000:
        pytest.skip("an older server doesn't know what a newer pg_restore sets")
    dump = str(tmp_path / "initech.dump")
    create_tenant("initech", "initech.localhost")
    with use("initech"):
        User.objects.create_user("bill")
        job = Queue().enqueue("test.ok", {"number": 7}).pk
    run("pg_dump", "--format=custom", "--schema=initech", f"--file={dump}", database_url)

    delete_tenant("initech")
    create_tenant("initech", "initech.localhost")
    call_command("tenant", "suspend", "initech")
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA initech CASCADE")
    run("pg_restore", "--single-transaction", "--no-owner", f"--dbname={database_url}", dump)
    Wakeup.objects.all().delete()
    call_command("migrate", "--tenant", "initech", verbosity=0)
    call_command("tenant", "resume", "initech")

    with use("initech"):
        assert User.objects.get().username == "bill"
        assert Queue().status(job) == "pending"
        assert Queue().enqueue("test.ok", {}).pk > job
        assert Queue().dequeue("w1").payload == {"number": 7}
    assert Wakeup.objects.filter(tenant="initech").exists()
    call_command("migrate", check_unapplied=True, verbosity=0)
    delete_tenant("initech")  # still a schema of ours
