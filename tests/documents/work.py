"""Doing the work of a worker inside the test's own process."""

from jobqueue.exceptions import NoJobAvailable
from jobqueue.handlers import JobContext, registered
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue


def work_off() -> list[ProcessingJob]:
    """Run every due job of the active tenant, and return them as they are then."""
    done: list[int] = []
    while True:
        try:
            job = Queue().dequeue("test")  # a new one each time: it remembers for a while which types of jobs there are
        except NoJobAvailable:
            break
        run(job)
        done.append(job.pk)
    return list(ProcessingJob.objects.filter(pk__in=done).order_by("pk"))


def run(job: ProcessingJob) -> None:
    queue = Queue()
    try:
        result = registered()[job.job_type].function(JobContext(job, queue))
    except Exception as error:  # noqa: BLE001 - as a worker does
        queue.fail(job, error)
    else:
        queue.complete(job, result)
