"""Nothing of one tenant's job reaches the next one, another tenant's: in threads, in processes, and on event loops."""

import pytest

from dms_project.tenancy import use
from jobqueue.queue import Queue
from tests.jobqueue.conftest import Start
from tests.jobqueue.workers import TENANTS, BothTenants, Twins
from tests.tenancy.sessions import mark
from tests.testjobs.hostile import LEAVE


def enqueued(task: str, tenant: str, *arguments: str) -> Twins:
    with use(tenant):
        return Twins({tenant: Queue().enqueue(task, {"args": arguments, "kwargs": {}}).pk})


@pytest.mark.parametrize("way", ["thread", "process", "async"])
def test_whatever_a_handler_leaves_the_next_tenants_finds_its_own(both: BothTenants, start: Start, way: str) -> None:
    leave, look = f"hostile.leave.{way}", f"hostile.look.{way}"
    mark(*TENANTS)
    worker = start("--concurrency", "1", variables={"JOBQUEUE_TEST_TASKS": "yes", "JOBQUEUE_TEST_HOSTILE": "yes"})
    clean = {tenant: enqueued(look, tenant).become("succeeded")[0].result for tenant in TENANTS}
    for tenant in TENANTS:
        assert clean[tenant] == clean[TENANTS[0]] | {
            "tenant": tenant,
            "schema": tenant,
            "search_path": clean[tenant]["search_path"],
            "groups": [tenant],
            "kept_query": [tenant],
        }
        assert clean[tenant]["search_path"].split(", ")[0] == tenant
        assert clean[tenant]["cached"] is None
        assert clean[tenant]["in_log"] == ""
        assert all(clean[tenant][name] for name in ("content_type", "language", "time_zone"))
        assert clean[tenant]["job"] == "look"

    for number, kind in enumerate(LEAVE):
        one, next_one = TENANTS if number % 2 else TENANTS[::-1]
        enqueued(leave, one, kind).become("succeeded")
        (found,) = enqueued(look, next_one).become("succeeded")
        assert found.result == clean[next_one] | {"cached": found.result["cached"]}, kind
        assert found.result["cached"] in (None, next_one), kind  # what it has left itself, some rounds ago

    assert worker.terminate() == 0
