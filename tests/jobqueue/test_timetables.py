"""When schedules are due: around every switch of the clock, against a list made minute by minute."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobqueue.schedules import cron, every
from jobqueue.timetables import parse

MINUTE = timedelta(minutes=1)
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"]
#: Expression, its minutes, hours (None: every), and whether its slots are one to each local day.
CRONS = {
    "30 2 * * *": ({30}, {2}),
    "15,45 1 * * *": ({15, 45}, {1}),
    "0 * * * *": ({0}, None),
    "*/15 * * * *": ({0, 15, 30, 45}, None),
    "0 3 * * *": ({0}, {3}),
}


@cache
def switches(zone: ZoneInfo) -> list[datetime]:
    """The hours of 2026 in which the zone's offset changes; one ordinary hour if there is none."""
    hours = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number) for number in range(365 * 24)]
    offsets = [hour.astimezone(zone).utcoffset() for hour in hours]
    found = [hour for hour, before, after in zip(hours, offsets, offsets[1:], strict=False) if before != after]
    return found or [hours[0]]


def expected(expression: str, zone: ZoneInfo, start: datetime, minutes: int) -> Iterator[datetime]:
    """The slots by the rule in words, each minute looked at by itself."""
    of_minute, of_hour = CRONS[expression]
    moments = [start + number * MINUTE for number in range(minutes)]
    local = [moment.astimezone(zone) for moment in moments]
    seen: set[datetime] = set()
    if of_hour is None:
        yield from (moment for moment, wall in zip(moments, local, strict=True) if wall.minute in of_minute)
        return
    previous = local[0].replace(tzinfo=None) - MINUTE
    for moment, wall in zip(moments, local, strict=True):
        naive = wall.replace(tzinfo=None)
        skipped = [previous + number * MINUTE for number in range(1, max(1, (naive - previous) // MINUTE))]
        wanted = [time for time in [*skipped, naive] if time.minute in of_minute and time.hour in of_hour]
        if any(time not in seen for time in wanted):
            yield moment
        seen.update(wanted)
        previous = naive


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expression", CRONS)
def test_slots_around_a_switch_are_those_of_the_written_rule(zone: str, expression: str) -> None:
    """Q36."""
    timetable = cron(expression, zone)
    for switch in switches(ZoneInfo(zone)):
        midnight = switch.astimezone(ZoneInfo(zone)).replace(hour=0, minute=0, tzinfo=None)
        start = midnight.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
        slots = list(expected(expression, ZoneInfo(zone), start, 6 * 60))
        before = timetable.latest(start - MINUTE)
        for slot in slots:
            assert timetable.latest(slot - timedelta(seconds=1)) == before
            assert timetable.next(before or start) == slot
            assert timetable.latest(slot) == timetable.latest(slot + timedelta(seconds=59)) == slot
            before = slot
        assert timetable.latest(start + timedelta(hours=6, seconds=-1)) == before, "and no others"
        assert slots == sorted(slots)


@pytest.mark.parametrize(
    ("expression", "slots"),
    [
        ("0 0 29 2 *", ["2028-02-29", "2032-02-29"]),
        ("0 0 31 * *", ["2026-12-31", "2027-01-31", "2027-03-31"]),
        ("0 0 1 * *", ["2026-12-01", "2027-01-01"]),
        ("0 0 13 * FRI", ["2026-11-13", "2026-11-20"]),  # either, as cron has it where both are named
        ("0 3 * * 0", ["2026-11-15", "2026-11-22"]),
    ],
)
def test_rare_days_are_found_forwards_and_backwards(expression: str, slots: list[str]) -> None:
    timetable = cron(expression, "Europe/Berlin")
    now = datetime(2026, 11, 12, 12, tzinfo=UTC)
    for day in slots:
        slot = timetable.next(now)
        assert slot is not None
        assert slot.astimezone(ZoneInfo("Europe/Berlin")).date().isoformat() == day
        assert timetable.latest(slot) == timetable.latest(slot + MINUTE) == slot
        now = slot


@given(st.integers(1, 400 * 86400), st.integers(1, 200 * 365 * 86400))
def test_intervals_have_a_slot_in_every_interval(seconds: int, moment: int) -> None:
    interval = timedelta(seconds=seconds)
    now, timetable = datetime.fromtimestamp(moment, UTC), every(interval)
    assert parse(str(timetable)) == timetable
    latest, following = timetable.latest(now), timetable.next(now)
    assert latest <= now < following
    assert following - latest == interval
    assert timetable.latest(following) == following


def test_what_is_no_time_is_refused_where_it_is_written() -> None:
    for expression in ("", "* * * *", "* * * * * *", "61 * * * *", "x * * * *", "0 0 31 2 *", "@daily", None):
        with pytest.raises(ValueError, match=r"^cron\("):
            cron(expression)  # type: ignore[arg-type]
    for zone in ("Europe/Bonn", "", "../etc/passwd"):
        with pytest.raises(ValueError, match="there is no time zone"):
            cron("0 0 * * *", zone)
    for interval in (timedelta(0), timedelta(milliseconds=5), timedelta(seconds=1.5), 5):
        with pytest.raises(ValueError, match="whole seconds"):
            every(interval)  # type: ignore[arg-type]


def test_times_are_written_as_one_line_and_read_from_it() -> None:
    for text in ("every 15 min", "every 1 d", "every 90 s", "0 6 * * MON Europe/Berlin"):
        assert str(parse(text)) == text
    assert str(parse(" 0  6 * * 1 ")) == "0 6 * * 1 UTC"
    assert str(parse("every 60 min")) == "every 1 h"


def test_what_is_no_line_of_times_is_refused_with_what_to_write() -> None:
    for text in ("every", "every 0 s", "every 5 weeks", "every -5 min"):
        with pytest.raises(ValueError, match="a number and a unit"):
            parse(text)
    for text in ("", "daily", "0 6 * * 1 Europe/Berlin now", "0 6 * *"):
        with pytest.raises(ValueError, match=r"^cron\("):
            parse(text)
