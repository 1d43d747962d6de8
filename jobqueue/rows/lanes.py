"""Where due jobs lie: found by probing each lane of the index, so that a claim costs what it takes.

A lane is what the index ``jobs_pending_by_lane`` has together: the pending jobs of one type, queue and priority, the
longest due first. ``now()`` can't stand in a partial index, so an index by time alone would make each look read past
all that is due later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

#: How often lanes are read from the front at most, and at least.
FRONT_SECONDS = 0.2
FRONT_AT_LEAST_SECONDS = 2.0


class Lane(NamedTuple):
    """The pending jobs of one type, queue and priority."""

    job_type: str
    queue_name: str
    priority: int


class Place(NamedTuple):
    """A job's place in its lane."""

    available_at: datetime
    id: int


#: Before every job.
BEGINNING = Place(datetime.min.replace(tzinfo=UTC), 0)


class Marks:
    """How far one worker has claimed in each lane of a tenant, so that its next look needn't start at the front.

    While somebody holds an old snapshot, the index keeps an entry for each job that was claimed, and a look from the
    front reads them all. A mark hides jobs that commit late or come before it, and lanes that are new: so the lanes are
    read from the front several times a second, and before a tenant is said to have nothing. What that costs is
    measured, and kept under a twentieth of the time.
    """

    def __init__(self) -> None:
        self._places: dict[Lane, Place] = {}
        self._found_nothing = False
        self._last_lane: Lane | None = None
        self._front_began = self._good_until = float("-inf")

    @property
    def places(self) -> Mapping[Lane, Place]:
        """The lanes to be read, each from behind a place; empty: look from the front."""
        return self._places

    @property
    def only_lane(self) -> Lane | None:
        """The lane to go on in without another look, if there is but one."""
        return next(iter(self._places)) if len(self._places) == 1 else None

    @property
    def looked_behind(self) -> bool:
        """Whether the last look was one from behind marks."""
        return self._front_began == float("-inf")

    def found_nothing(self) -> None:
        """Note that a look from the front found nothing due."""
        self._found_nothing = True

    def guess(self) -> bool:
        """Begin a look in the one lane that had jobs last, if nothing was due since: what comes now is mostly there.

        Spares the time of a look through all lanes when a job is to start at once; that look comes afterwards.
        """
        if not self._found_nothing or self._last_lane is None:
            return False
        self._places = {self._last_lane: BEGINNING}
        self._front_began = float("-inf")
        return True

    def begin(self, now: float) -> None:
        """Begin a look; what is too old is forgotten."""
        if now > self._good_until:
            self._places.clear()
            self._front_began = now
        else:
            self._front_began = float("-inf")

    def advance(self, lane: Lane, place: Place, now: float) -> None:
        """Note the last job that was claimed in a lane."""
        self._places[lane] = place
        self._last_lane = lane
        self._found_nothing = False
        if self._front_began > self._good_until:
            self._good_until = now + min(max(FRONT_SECONDS, (now - self._front_began) * 20), FRONT_AT_LEAST_SECONDS)

    def forget(self) -> None:
        """Make the next look one from the front."""
        self._places.clear()
        self._good_until = float("-inf")


@dataclass(frozen=True)
class Due:
    """What a look found: how many jobs to take from which lane, and when the next one comes."""

    #: In claim order of their first job. Jobs whose worker died are never among several.
    takes: Sequence[tuple[Lane, int]]
    #: Whether more may be due: the limit was reached, or a job comes next that must be claimed by itself.
    more: bool
    #: Until the next job that isn't due yet; None if there is none.
    seconds_to_next: float | None


def shares(found: Iterable[tuple[Lane, int]]) -> tuple[list[tuple[Lane, int]], bool]:
    """Turn due jobs in claim order, each with its lane and the deaths of its workers, into the numbers to take.

    A job whose worker died is to be claimed by itself: the batch ends before it, or consists of it.

    Returns:
        Lanes with numbers, and whether the batch was ended so.
    """
    takes: dict[Lane, int] = {}
    for lane, worker_deaths in found:
        if worker_deaths and takes:
            return list(takes.items()), True
        takes[lane] = takes.get(lane, 0) + 1
        if worker_deaths:
            return list(takes.items()), True
    return list(takes.items()), False
