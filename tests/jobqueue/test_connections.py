"""O06: how many connections a worker opens, and that neither they nor its memory grow with the jobs it has done."""

import psutil
from django.db import connection

from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, WorkerProcess

THREADS = 8
#: One for each thread, the dispatcher, the recorder, the keeper and the scheduler; docs/explanation/queue.md says so.
DOCUMENTED = THREADS + 4
NAME = "a worker that is counted"
MEGABYTE = 2**20


def sessions() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE %s", [f"{NAME}%"])
        return int(cursor.fetchone()[0])


def work_off(both: BothTenants, worker: WorkerProcess, rounds: int) -> tuple[int, int]:
    """Have jobs done, and return how many connections and bytes of memory the worker has then."""
    jobs = [both.enqueue("test.thread" if number % 10 == 0 else "test.ok") for number in range(rounds)]
    for twins in jobs[-2 * THREADS :]:
        twins.become("succeeded", within=60)
    # Those of a handler's own threads are closed with a later job.
    eventually(lambda: both.a_canary_passes() or sessions() <= DOCUMENTED, what="no more connections than documented")
    return sessions(), psutil.Process(worker.pid).memory_info().rss


def test_connections_and_memory_do_not_grow_with_the_jobs(both: BothTenants, start: Start, database_url: str) -> None:
    variables = {"DATABASE_URL": f"{database_url}?application_name={NAME.replace(' ', '%20')}"}
    worker = start("--concurrency", str(THREADS), variables=variables)
    before, memory_before = work_off(both, worker, 50)

    after, memory_after = work_off(both, worker, 300)

    assert max(before, after) <= DOCUMENTED
    assert memory_after - memory_before < 16 * MEGABYTE
    both.a_canary_passes()
    assert worker.terminate() == 0
