"""Tenants that are suspended, resumed, renamed and deleted, beside real workers."""

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dms_project.operators import fleet_work
from dms_project.tenancy import fleet, served, use
from dms_project.tenancy.lifecycle import resume_tenant, suspend_tenant
from dms_project.tenancy.schemas import create_tenant
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.tenants.models import Wakeup
from tests.jobqueue.concurrency import threads
from tests.jobqueue.conftest import Start, both, start  # noqa: F401 - fixtures
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins


def tenant(*arguments: str) -> str:
    out = io.StringIO()
    call_command("tenant", *arguments, stdout=out)
    return out.getvalue()


def ask(host: str, path: str = "/", **headers: str) -> tuple[int, str]:
    answer = Client(headers={"host": host} | headers).get(path)
    return answer.status_code, answer.content.decode()


class TestSuspending:
    def test_requests_of_the_suspended_tenant_alone_are_answered_plainly(self, db: None) -> None:
        assert tenant("suspend", "acme").startswith("Suspended acme: requests are refused,")
        assert tenant("suspend", "acme") == "acme was suspended before.\n"

        assert ask("acme.localhost", "/api/documents") == (
            503,
            '{"detail": "This site is suspended.", "code": "suspended"}',
        )
        upload = Client(headers={"host": "acme.localhost"}).post("/api/documents", {"file": io.BytesIO(b"x")})
        assert upload.status_code == 503
        status, page = ask("acme.localhost", accept="text/html")
        assert status == 503
        assert "This site is suspended" in page
        assert ask("globex.localhost", "/api/documents")[0] == 401
        assert "acme  acme.localhost  migrated, suspended" in tenant("list")

        assert tenant("resume", "acme") == "Resumed acme.\n"
        assert tenant("resume", "acme") == "acme was not suspended.\n"
        assert ask("acme.localhost", "/api/documents")[0] == 401

    def test_workers_are_not_told_of_it_and_whoever_looks_after_its_data_is(self, db: None) -> None:
        suspend_tenant("acme")
        assert served.names() == ["public", "globex"]
        assert fleet.names() == ["public", "acme", "globex"]

    def test_what_waited_is_woken_when_it_is_resumed(self, db: None) -> None:
        suspend_tenant("acme")
        Wakeup.objects.all().delete()  # as workers do
        resume_tenant("acme")
        assert list(Wakeup.objects.values_list("tenant", flat=True)) == ["acme"]

    @pytest.mark.parametrize("verb", ["suspend", "resume"])
    def test_there_must_be_such_a_tenant(self, db: None, verb: str) -> None:
        with pytest.raises(CommandError, match="There is no tenant 'nobody'"):
            tenant(verb, "nobody")

    def test_running_jobs_end_no_others_begin_and_go_on_when_it_is_resumed(
        self,
        both: BothTenants,  # noqa: F811 - a fixture
        start: Start,  # noqa: F811 - a fixture
        tmp_path: Path,
    ) -> None:
        running = both.enqueue("test.sleep", {"until": str(tmp_path / "go")})
        first = start("--concurrency", "2")
        both.have_started(running)
        suspend_tenant("acme")
        (tmp_path / "go").touch()
        running.become("succeeded")
        assert first.terminate() == 0

        waiting = both.enqueue("test.ok", {})
        assert start("--drain").status() == 0
        assert [row.status for row in waiting.rows()] == ["pending", "succeeded"]

        resume_tenant("acme")
        assert start("--drain").status() == 0
        assert waiting.are(status="succeeded", attempts=1)


class TestAnotherHost:
    def test_the_new_one_leads_there_at_once_and_the_old_one_nowhere(self, db: None) -> None:
        said = tenant("rename-host", "acme.localhost", "Rockets.example:8000")
        assert said == "acme is reached at rockets.example now, and at acme.localhost no more.\n"
        assert ask("rockets.example", "/api/documents")[0] == 401
        assert ask("acme.localhost", "/api/documents")[0] == 404

    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            ("nobody.localhost", "new.localhost", "No tenant is reached at 'nobody.localhost'"),
            ("acme.localhost", "globex.localhost", "leads to tenant 'globex' already"),
            ("acme.localhost", "localhost", "is the operators' host"),
            ("acme.localhost", "a b", "is not a host name"),
        ],
    )
    def test_what_can_not_be_is_refused(self, db: None, old: str, new: str, reason: str) -> None:
        with pytest.raises(CommandError, match=reason):
            tenant("rename-host", old, new)
        assert ask("acme.localhost", "/api/documents")[0] == 401


class TestDeleting:
    def test_running_jobs_are_stopped_and_the_worker_goes_on(
        self,
        both: BothTenants,  # noqa: F811 - a fixture
        start: Start,  # noqa: F811 - a fixture
    ) -> None:
        create_tenant("initech", "initech.localhost")
        with use("initech"):
            running = Twins({"initech": Queue().enqueue("test.until_cancelled", {}).pk})
        worker = start("--concurrency", "1")
        both.have_started(running)

        assert tenant("delete", "initech", "--yes") == "Deleted tenant initech.\n"

        worker.has_said("its handler is being stopped")
        both.a_canary_passes()
        assert "Traceback" not in worker.output
        assert worker.terminate() == 0

    def test_a_handler_that_holds_no_lock_and_takes_no_notice_is_waited_for(
        self,
        both: BothTenants,  # noqa: F811 - a fixture
        start: Start,  # noqa: F811 - a fixture
        tmp_path: Path,
    ) -> None:
        create_tenant("initech", "initech.localhost")
        with use("initech"):
            payload = {"stubborn": True, "until": str(tmp_path / "go")}
            running = Twins({"initech": Queue().enqueue("test.until_cancelled", payload).pk})
        worker = start("--concurrency", "1")
        both.have_started(running)

        with threads(1) as run:
            deleting = run(tenant, "delete", "initech", "--yes")
            eventually(lambda: all(both.events(running, "cancelled")), what="the handler is told")
            assert fleet.exists("initech")
            assert not deleting.done()
            (tmp_path / "go").touch()
            assert deleting.result(30) == "Deleted tenant initech.\n"

        assert all(both.events(running, "end")), "it found its schema to the last"
        assert "Traceback" not in worker.output
        assert worker.terminate() == 0

    def test_one_whose_handlers_do_not_stop_is_left_as_it_is_and_they_are_named(
        self,
        both: BothTenants,  # noqa: F811 - a fixture
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(fleet_work, "PATIENCE_SECONDS", 0.2)
        create_tenant("initech", "initech.localhost")
        with use("initech"):
            Queue().enqueue("test.ok", {})
            job = Queue().dequeue("stubborn")  # promises no sign of life, and says nothing

        with pytest.raises(CommandError) as raised:
            tenant("delete", "initech", "--yes")

        assert str(raised.value) == (
            f"Its jobs were cancelled, and handlers don't stop: {job.pk} (test.ok, on stubborn). "
            "It is suspended now, and nothing else was changed: try again, or resume it."
        )
        with pytest.raises(CommandError, match="handlers don't stop"):
            tenant("delete", "initech", "--yes")  # though its job counts as cancelled by now
        assert fleet.exists("initech")

    def test_one_with_nothing_to_stop_is_deleted(self, db: None) -> None:
        create_tenant("initech", "initech.localhost")
        with use("initech"):
            Queue().enqueue("test.ok", {})
            assert ProcessingJob.objects.count() == 1
        assert tenant("delete", "initech", "--yes") == "Deleted tenant initech.\n"
        assert not fleet.exists("initech")
