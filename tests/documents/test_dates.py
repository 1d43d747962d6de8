"""Guessing a document's date from its text: the forms, the choice among several, and what must never happen."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.dates import EARLIEST, guess

TODAY = date(2026, 12, 1)
# fmt: off
GERMAN = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
          "Dezember"]
ENGLISH = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December"]
# fmt: on


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Berlin, den 3. März 2026", date(2026, 3, 3)),
        ("Rechnungsdatum: 03.03.2026, Lieferdatum: 01.03.2026", date(2026, 3, 3)),
        ("Lieferung 1.2.26. Rechnung vom 4.2.26", date(2026, 2, 4)),
        ("Dated this 21st of November 2025", date(2025, 11, 21)),
        ("Nov 5, 2025", date(2025, 11, 5)),
        ("Sept. 5, 2025", date(2025, 9, 5)),
        ("31/12/2025", date(2025, 12, 31)),
        ("12/31/2025", date(2025, 12, 31)),
        ("05/05/2025", date(2025, 5, 5)),
        ("Invoice 2026-01-02", date(2026, 1, 2)),
        ("Born 1980-05-06. Date: 2025-05-06", date(2025, 5, 6)),
        ("geb. 06.05.1980, München, 7. Mai 2025", date(2025, 5, 7)),
        ("Due date: 2026-11-30. 2026-11-01", date(2026, 11, 1)),
        ("Fällig am 30.11.2026\n1.11.2026", date(2026, 11, 1)),
        ("1. Jänner 2026", date(2026, 1, 1)),
        ("2. Mrz. 2026", date(2026, 3, 2)),
        ("1.1.99", date(1999, 1, 1)),
    ],
)
def test_the_date_is_found(text: str, day: date) -> None:
    assert guess([text], TODAY) == day


@pytest.mark.parametrize(
    "text",
    [
        "", "03/04/2025", "30.02.2025", "2026-13-01", "2026-12-02", "31.12.1899", "192.168.10.20", "Version 1.2.3",
        "12.03.2025.7", "IBAN 12.34.5678", "May 2025", "1234-56-78", "born 1980-05-06", "Mayor 5, 2025",
    ],
)  # fmt: skip
def test_what_is_no_date_or_could_be_two_is_not_guessed(text: str) -> None:
    assert guess([text], TODAY) is None


@given(st.dates(EARLIEST, TODAY), st.sampled_from(range(7)), st.text(max_size=30), st.text(max_size=30))
def test_any_day_is_found_in_any_form(day: date, form: int, before: str, after: str) -> None:
    month = day.month - 1
    written = [
        day.isoformat(),
        day.strftime("%d.%m.%Y"),
        f"{day.day}.{day.month}.{day.year}",
        f"{day.day}. {GERMAN[month]} {day.year}",
        f"{day.day} {ENGLISH[month]} {day.year}",
        f"{ENGLISH[month]} {day.day}, {day.year}",
        f"{ENGLISH[month][:3].upper()} {day.day}th {day.year}",
    ][form]
    assert guess([f"\n{written}\n"], TODAY) == day
    assert guess([f"{before}\n\n{written}\n\n{after}"], TODAY) is not None


@given(st.lists(st.text(st.sampled_from("0123456789./-, \nMaiJunDec") | st.characters(), max_size=80), max_size=4))
def test_no_text_breaks_it_and_no_guess_lies_ahead(pages: list[str]) -> None:
    day = guess(pages, TODAY)
    assert day is None or EARLIEST <= day <= TODAY
