"""The workers, and what each does now, by the rows they hold and the signs of life they show: no table of them."""

from dataclasses import dataclass, field
from datetime import datetime

from jobqueue.models import ProcessingJob
from jobqueue.sign_of_life import Sign, living_workers
from jobqueue.states import JobStatus

#: More running jobs are not looked at.
_RUNNING = 1_000


@dataclass(frozen=True)
class Held:
    """A job that a worker holds."""

    id: int
    job_type: str
    queue_name: str
    attempt: int
    since: datetime | None
    progress: int | None


@dataclass
class WorkerState:
    """A worker that holds jobs of the active tenant."""

    name: str
    #: None: it promised none.
    holder_key: int | None
    #: None: it shows no sign of life.
    sign: Sign | None
    jobs: list[Held] = field(default_factory=list)

    @property
    def is_gone(self) -> bool:
        """Whether it promised a sign of life and shows none."""
        return self.holder_key is not None and self.sign is None


@dataclass(frozen=True)
class Workers:
    """All that is known of workers."""

    #: Those that hold jobs here, by name.
    busy: list[WorkerState]
    #: The signs of the others, which idle or work for other tenants; their names are written nowhere.
    others: list[Sign]

    @property
    def living(self) -> int:
        """How many show a sign of life."""
        return len(self.others) + sum(worker.sign is not None for worker in self.busy)


def worker_states(using: str) -> Workers:
    """Read who is alive, and what is held in the active tenant."""
    signs = living_workers(using)
    busy: dict[tuple[str, int | None], WorkerState] = {}
    running = ProcessingJob.objects.using(using).filter(status=JobStatus.PROCESSING).order_by("locked_at")
    columns = ("pk", "job_type", "queue_name", "attempts", "started_at", "progress", "locked_by", "holder_key")
    for *job, name, key in running.values_list(*columns)[:_RUNNING]:
        worker = busy.setdefault((name or "?", key), WorkerState(name or "?", key, signs.get(key or 0)))
        worker.jobs.append(Held(*job))
    for worker in busy.values():
        worker.jobs.sort(key=lambda held: held.id)
    holders = {worker.holder_key for worker in busy.values()}
    others = [sign for key, sign in signs.items() if key not in holders]
    return Workers(sorted(busy.values(), key=lambda worker: worker.name), others)
