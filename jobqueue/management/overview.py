"""What ``manage.py jobs`` says about the active tenant as a whole, as rows with the same keys."""

from collections.abc import Callable, Iterator
from typing import Any

from jobqueue.control.flows import newest_flows
from jobqueue.control.queues import queue_states
from jobqueue.control.schedules import schedule_states
from jobqueue.control.workers import worker_states
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.rows.counts import count_jobs
from jobqueue.rows.dead_letters import causes, newest_dead_letters

#: Causes are counted among so many dead letters, the newest.
_NEWEST = 10_000


def stats(using: str) -> Iterator[dict[str, Any]]:
    """How much waits, runs and died."""
    counts = count_jobs(using)
    yield {
        "pending": counts.pending,
        "processing": counts.processing,
        "dead_letter": counts.dead_letter,
        "oldest_due": counts.oldest_due,
        "paused_queues": Queue(using).paused_queues(),
    }


def queues(using: str) -> Iterator[dict[str, Any]]:
    """Each queue in which something waits or runs, or that is paused."""
    for queue in queue_states(using):
        yield {
            "queue": queue.name,
            "pending": queue.pending,
            "running": queue.running,
            "oldest_due": queue.oldest_due,
            "paused_since": queue.paused_since,
        }


def workers(using: str) -> Iterator[dict[str, Any]]:
    """Each job that runs, with its worker. Workers that run nothing are named nowhere."""
    for worker in worker_states(using).busy:
        for job in worker.jobs:
            yield {
                "worker": worker.name,
                "alive": "no" if worker.is_gone else "yes" if worker.sign else "not promised",
                "alive_since": worker.sign and worker.sign.since,
                "address": worker.sign and worker.sign.address,
                "job": job.id,
                "job_type": job.job_type,
                "queue_name": job.queue_name,
                "attempt": job.attempt,
                "since": job.since,
                "progress": job.progress,
            }


def schedules(using: str) -> Iterator[dict[str, Any]]:
    """Each schedule: its times, what comes next and was last, and why nothing comes."""
    for schedule in schedule_states(using):
        yield {
            "name": schedule.name,
            "timetable": schedule.timetable,
            "zone": schedule.zone,
            "job_type": schedule.job_type,
            "next_at": schedule.next_at,
            "last_at": schedule.last_at,
            "last_job": schedule.last_job_id,
            "paused": schedule.paused,
            "problem": schedule.problem,
        }


def flows(using: str) -> Iterator[dict[str, Any]]:
    """The newest flows: how far each is."""
    for flow in newest_flows(using):
        yield {
            "id": flow.id,
            "name": flow.name,
            "state": flow.state,
            "done": f"{flow.done} of {len(flow.steps)}",
            "created_at": flow.created_at,
        }


def dead_letter_causes(using: str) -> Iterator[dict[str, Any]]:
    """What the newest dead letters died of, the most frequent first."""
    for cause in causes(newest_dead_letters(ProcessingJob.objects.using(using), _NEWEST)):
        yield {"jobs": cause.jobs, "job_type": cause.job_type, "cause": cause.cause}


#: By the verb's name: what it prints, and what it says if there is nothing.
OVERVIEWS: dict[str, tuple[Callable[[str], Iterator[dict[str, Any]]], str]] = {
    "stats": (stats, ""),
    "queues": (queues, "no queue has jobs or is paused"),
    "workers": (workers, "nothing runs"),
    "schedules": (schedules, "no schedules"),
    "flows": (flows, "no flows"),
    "causes": (dead_letter_causes, "no dead letters"),
}
