"""How much is measured: enough for figures that mean something, or little, to try the harness itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Counts are of jobs or rows, times in seconds."""

    enqueue_seconds: float = 2
    bulk: int = 10_000
    drain: int = 20_000
    drain_cap: float = 5  # of working off, for each contender
    paced: int = 200
    pace_seconds: float = 0.05
    idle_seconds: float = 30
    beside: int = 1_000_000
    snapshot: int = 50_000
    snapshot_slice: int = 5_000
    snapshot_cap: float = 60
    memory: int = 200_000
    memory_early: int = 50_000
    memory_cap: float = 120
    quick_jobs: int = 2_000
    nap_seconds: float = 5


FULL = Sizes()
QUICK = Sizes(
    enqueue_seconds=0.5,
    bulk=2_000,
    drain=2_000,
    drain_cap=2,
    paced=40,
    idle_seconds=5,
    beside=20_000,
    snapshot=3_000,
    snapshot_slice=300,
    snapshot_cap=5,
    memory=4_000,
    memory_early=1_000,
    memory_cap=10,
    quick_jobs=100,
    nap_seconds=3,
)
