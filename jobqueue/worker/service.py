"""What a worker serves, and by which name."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Service:
    """What ``manage.py runworker`` was asked for."""

    name: str
    concurrency: int
    job_types: Sequence[str]
    queue_names: Sequence[str] | None = None  # None: every queue
    only_tenants: Sequence[str] | None = None  # None: every tenant
    drain: bool = False  # end when nothing is due
    max_jobs: int | None = None  # run so many at most, then finish
