"""Guessing from its text which day a document is of. Pure: text in, date out.

Forms: 2026-11-30, 30.11.2026, 30.11.26, 30. November 2026, 30 November 2026, November 30, 2026, and 30/11/2026 where
only one reading is possible. A library that reads any date in any language would be slower by far and, in running text,
would take every other number for one.
"""

import re
from collections.abc import Iterable
from datetime import date

EARLIEST = date(1900, 1, 1)
_PAGES = 3
_CHARACTERS = 10_000  # of a page
_LABEL_DISTANCE = 25  # characters before a date in which a word says what it is

_MONTHS = {
    "jan": 1, "feb": 2, "mär": 3, "mar": 3, "mrz": 3, "apr": 4, "mai": 5, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "okt": 10, "oct": 10, "nov": 11, "dez": 12, "dec": 12,
}  # fmt: skip
_MONTH = (
    r"(?P<month>jan(?:uary?|\.)?|jänner|januar|feb(?:ruary?|ruar|\.)?|märz|maerz|mrz\.?|mar(?:ch|\.)?|apr(?:il|\.)?|mai|may|"
    r"jun[ie]?\.?|jul[iy]?\.?|aug(?:ust|\.)?|sept?(?:ember|\.)?|okt(?:ober|\.)?|oct(?:ober|\.)?|nov(?:ember|\.)?|"
    r"dez(?:ember|\.)?|dec(?:ember|\.)?)"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>\d{1,2})"
_FORMS = [
    re.compile(rf"(?<![\d.-]){form}(?![\d-]|\.\d)", re.IGNORECASE)
    for form in (
        rf"{_YEAR}-(?P<number>\d\d)-(?P<day>\d\d)",
        rf"{_DAY}\.\s?(?P<number>\d{{1,2}})\.\s?(?P<year>(?:19|20)\d\d|\d\d)",
        rf"{_DAY}(?:\.|st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}",
        rf"{_MONTH}\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}",
        rf"(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})/{_YEAR}",
    )
]
_OF_THE_DOCUMENT = re.compile(r"\b(?:\w*datum|date|dated|vom|den)\b\W*$", re.IGNORECASE)
_OF_SOMETHING_ELSE = re.compile(
    r"(?:geb|geboren|geburtsdatum|born|birth|fällig|due|bis|until|gültig|valid|liefer\w*)\b[^\n\d]*$", re.IGNORECASE
)


def guess(pages: Iterable[str], today: date) -> date | None:
    """Return the day that a document seems to be of: the first that is called its date, else the first at all.

    Birthdays, due dates and days to come don't count, nor what is before 1900. Only the beginning is read.
    """
    first = None
    for text in list(pages)[:_PAGES]:
        for start, day in _dates_in(text[:_CHARACTERS], today):
            before = text[max(0, start - _LABEL_DISTANCE) : start]
            if _OF_SOMETHING_ELSE.search(before):
                continue
            if _OF_THE_DOCUMENT.search(before):
                return day
            first = first or day
    return first


def _dates_in(text: str, today: date) -> list[tuple[int, date]]:
    """Return where a date begins, and the date, in the order of the text."""
    found = [(match.start(), _date_of(match, today)) for form in _FORMS for match in form.finditer(text)]
    return sorted((start, day) for start, day in found if day and EARLIEST <= day <= today)


def _date_of(match: re.Match[str], today: date) -> date | None:
    parts = match.groupdict()
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        year += 2000 if 2000 + year <= today.year else 1900
    if "first" in parts:
        return _only_reading(int(parts["first"]), int(parts["second"]), year)
    month = int(parts["number"]) if "number" in parts else _month(parts["month"])
    return _valid(year, month, int(parts["day"]))


def _month(name: str) -> int:
    return _MONTHS[name.lower().replace("ae", "ä").replace("jän", "jan")[:3]]


def _only_reading(first: int, second: int, year: int) -> date | None:
    """Return what a/b/year means if British and American readers agree."""
    readings = {_valid(year, first, second), _valid(year, second, first)} - {None}
    return readings.pop() if len(readings) == 1 else None


def _valid(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
