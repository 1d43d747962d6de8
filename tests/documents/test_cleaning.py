"""Text made fit for PostgreSQL, for search and for people (D01)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.processing.cleaning import clean_line, clean_text

any_text = st.text(st.characters() | st.characters(categories=["Cs", "Cc", "Cf"]))


@pytest.mark.parametrize(
    ("raw", "clean", "dropped"),
    [
        ("before\0after", "before after", 1),
        ("\x01\x02\x03only controls", "only controls", 3),
        ("tab\tand\nline", "tab\tand\nline", 0),
        ("one\r\ntwo\rthree\x0cfour\u2028five", "one\ntwo\nthree\nfour\nfive", 0),
        ("a lone \ud83d surrogate", "a lone   surrogate", 1),
        ("im\ufffeprove", "improve", 0),
        ("Silben\u00ad\ntrennung", "Silbentrennung", 0),
        ("u\u0308ber", "über", 0),
        ("", "", 0),
    ],
)
def test_unfit_characters_become_blanks_and_words_whole(raw: str, clean: str, dropped: int) -> None:
    assert clean_text(raw) == (clean, dropped)


@given(any_text)
def test_whatever_comes_in_can_be_stored_and_is_not_changed_again(raw: str) -> None:
    text, dropped = clean_text(raw)
    assert "\0" not in text
    text.encode()
    assert dropped <= len(raw)
    assert clean_text(text) == (text, 0)


@given(any_text, st.integers(1, 300))
def test_a_title_is_one_line_without_anything_invisible(raw: str, length: int) -> None:
    line = clean_line(raw, length)
    assert len(line) <= length
    assert not any(unicodedata.category(char)[0] == "C" for char in line)
    assert line == line.strip()


def test_a_name_cannot_turn_the_direction_of_writing_round() -> None:
    assert clean_line("invoice\u202efdp.exe", 255) == "invoice fdp.exe"
