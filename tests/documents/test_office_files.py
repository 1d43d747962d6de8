"""Reading what office programs write: the text that people look for, and nothing that a file wants to be done (D06)."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from documents.processing.events import Event, Opened, PageRead, Refused, Stopped
from documents.processing.limits import Limits
from documents.processing.media_types import sniff
from documents.processing.office_xml import read_docx, read_pptx
from documents.processing.open_document import read_odp, read_ods, read_odt
from documents.processing.runner import read
from documents.processing.spreadsheet import read_workbook
from tests.documents import files
from tests.documents.office_files import archive, docx, locked_office_file, open_document, paragraph, pptx, xlsx

LIMITS = Limits(seconds=30, characters=1_000_000)
Reader = Callable[[str, Limits, int], Iterable[Event]]


@pytest.fixture
def events(tmp_path: Path) -> Any:
    def reading(reader: Reader, content: bytes, limits: Limits = LIMITS, first_page: int = 1) -> list[Event]:
        path = tmp_path / "file"
        path.write_bytes(content)
        return list(reader(str(path), limits, first_page))

    return reading


@pytest.fixture
def pages(events: Any) -> Any:
    def reading(*args: Any) -> list[str | None]:
        return [event.text for event in events(*args) if isinstance(event, PageRead)]

    return reading


def test_a_real_word_document_is_read_in_the_child(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(files.sample("par-known-paragraphs.docx"))
    findings = read(str(path), sniff(BytesIO(path.read_bytes())), LIMITS)
    assert [page.text for page in findings.pages] == ["Heading Paragraph\nNormal paragraph"]
    assert [step.status.value for step in findings.steps()] == ["done", "done"]


def test_a_word_document_has_the_pages_that_word_saw_and_what_stands_beside_its_text(pages: Any) -> None:
    body = (
        paragraph("eins")
        + '<w:p><w:r><w:br w:type="page"/></w:r></w:p><w:p><w:r><w:lastRenderedPageBreak/><w:t>zwei</w:t></w:r>'
        "<w:r><w:tab/><w:t>Grüße</w:t><w:delText>gelöscht</w:delText><w:instrText>FELD</w:instrText></w:r></w:p>"
    )
    content = docx(body, footnotes=paragraph("Fußnote"), comments=paragraph("Kommentar"), header1=paragraph("Kopf"))
    assert pages(read_docx, content) == ["eins", "zwei\tGrüße", "Fußnote\nKommentar\nKopf"]


def test_what_stands_in_for_older_programs_or_was_moved_stands_once(pages: Any) -> None:
    space = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    box = paragraph("Kasten")
    body = (
        f"<mc:AlternateContent {space}><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        f"</mc:AlternateContent><w:moveFrom>{paragraph('Umzug')}</w:moveFrom>{paragraph('Umzug')}"
    )
    assert pages(read_docx, docx(body)) == ["Kasten\nUmzug"]


def test_slides_are_pages_in_their_order_with_notes_and_also_when_they_are_blank(pages: Any) -> None:
    content = pptx("Folie eins", "", "Folie drei", notes="Notiz")
    assert pages(read_pptx, content) == ["Folie eins", "", "Folie drei\nNotiz"]


def test_sheets_are_pages_with_names_dates_and_whole_numbers(pages: Any) -> None:
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" s="1"><v>45352</v></c></row>'
        '<row r="9"><c r="A9"><v>2024001</v></c><c r="C9"><f>SUM(A1)</f><v>12.5</v></c><c r="D9" s="1"/></row>'
    )
    content = xlsx({"Rechnungen": rows, "Leer": ""}, strings="<si><t>Müller GmbH</t></si>")
    assert sniff(BytesIO(content)).endswith("spreadsheetml.sheet")
    assert pages(read_workbook, content) == ["Rechnungen\nMüller GmbH\t2024-03-01\n2024001\t12.5", "Leer"]


def test_open_documents_are_read_as_they_look(pages: Any) -> None:
    text = open_document(
        "text",
        "<text:tracked-changes><text:p>gelöscht</text:p></text:tracked-changes><text:h>Titel</text:h>"
        '<text:p>zwei<text:s text:c="2"/>Blanks<text:line-break/>Zeile</text:p>'
        "<text:p><text:soft-page-break/>neu</text:p>",
    )
    assert pages(read_odt, text) == ["Titel\nzwei  Blanks\nZeile", "neu"]
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>".format
    empty = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row>'
    sheets = open_document(
        "spreadsheet",
        f'<table:table table:name="Eins"><table:table-row>{cell("01.03.2024")}<table:table-cell/>{cell("7,00 €")}'
        f'</table:table-row>{empty * 500}</table:table><table:table table:name="Zwei"/>',
    )
    assert pages(read_ods, sheets) == ["Eins\n01.03.2024 \t7,00 €", "Zwei"]
    slides = open_document("presentation", "<draw:page><text:p>A</text:p></draw:page><draw:page/>")
    assert pages(read_odp, slides) == ["A", ""]


def test_reading_may_go_on_behind_a_page(events: Any) -> None:
    found = events(read_pptx, pptx("eins", "zwei", "drei"), LIMITS, 3)
    assert found == [Opened(3), PageRead(3, "drei")]


# What can't be read


def outcome(events: list[Event]) -> tuple[str, str]:
    last = events[-1]
    assert isinstance(last, Refused | Stopped)
    return type(last).__name__, last.reason


def test_an_office_file_with_a_password_is_locked(events: Any) -> None:
    assert sniff(BytesIO(locked_office_file())) == "application/encrypted"
    entry = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    assert outcome(events(read_odt, open_document("text", "\x93\xff", manifest=entry))) == ("Refused", "locked")
    assert events(read_odt, open_document("text", "<text:p>offen</text:p>"))[-1] == PageRead(1, "offen")


@pytest.mark.parametrize("share", [10, 50, 95])
def test_a_truncated_office_file_is_damaged(events: Any, share: int) -> None:
    whole = files.sample("par-known-paragraphs.docx")
    cut = whole[: len(whole) * share // 100]
    assert sniff(BytesIO(cut)).startswith(("application/vnd.openxmlformats", "application/zip"))
    assert outcome(events(read_docx, cut)) == ("Refused", "damaged")


def test_what_stands_before_the_damage_is_kept(events: Any) -> None:
    found = events(read_docx, docx(paragraph("davor") + "<w:p><w:r></w:p>"))
    assert found[:2] == [Opened(1), PageRead(1, "davor")]
    assert outcome(found) == ("Stopped", "damaged")


def test_a_broken_workbook_and_one_without_its_parts_are_damaged(events: Any) -> None:
    for reader, content in ((read_workbook, archive({"xl/workbook.xml": "<x"})), (read_pptx, archive({"a": "b"}))):
        assert outcome(events(reader, content)) == ("Refused", "damaged")


# D06


def test_a_bomb_is_refused_by_what_it_would_expand_to(events: Any) -> None:
    tight = replace(LIMITS, inflated_bytes=1_000_000)
    content = docx(paragraph("x" * 2_000_000))
    assert len(content) < 20_000
    assert outcome(events(read_docx, content, tight)) == ("Refused", "too_large")
    rows = '<row r="1"><c r="A1" t="inlineStr"><is><t>' + "x" * 2_000_000 + "</t></is></c></row>"
    assert outcome(events(read_workbook, xlsx({"S": rows}), tight)) == ("Refused", "too_large")


def test_pictures_in_a_document_count_for_nothing(pages: Any) -> None:
    content = docx(**{"media/picture": b"\0" * 2_000_000})
    assert pages(read_docx, content, replace(LIMITS, inflated_bytes=1_000_000)) == ["words"]


def test_a_part_that_expands_to_more_than_it_says_is_damaged(events: Any) -> None:
    content = docx(paragraph("anfang") + paragraph("x" * 500_000))
    lying = content.replace(content[22:26], (2000).to_bytes(4, "little"))  # its size, there and in the directory
    found = events(read_docx, lying)
    assert outcome(found) in {("Stopped", "damaged"), ("Refused", "damaged")}
    assert sum(len(event.text or "") for event in found if isinstance(event, PageRead)) <= 2000


def test_a_file_of_a_great_many_parts_is_too_large(events: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("documents.processing.packages._MAX_PARTS", 100)
    content = archive({f"word/part{number}.xml": "" for number in range(101)})
    assert outcome(events(read_docx, content)) == ("Refused", "too_large")


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY e "&b;&b;&b;">',
        '<!ENTITY e SYSTEM "file://{secret}">',
        '<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;',
    ],
    ids=["entities of entities", "a file of the server", "an address"],
)
def test_entities_are_neither_expanded_nor_fetched(events: Any, tmp_path: Path, declaration: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("MARKER")
    prolog = f"<!DOCTYPE d [{declaration.format(secret=secret)}]>"
    found = events(read_docx, docx(paragraph("vor &e; nach"), prolog=prolog))
    assert outcome(found) == ("Refused", "damaged")
    rows = '<row r="1"><c r="A1" t="inlineStr"><is><t>vor &e; nach</t></is></c></row>'
    assert "MARKER" not in str(events(read_workbook, xlsx({"S": rows}, prolog=prolog)))


def test_tags_nested_without_end_break_nothing(pages: Any) -> None:
    deep = 20_000
    body = "<w:x>" * deep + paragraph("tief") + "</w:x>" * deep
    assert pages(read_docx, docx(body)) == ["tief"]


def test_a_sheet_with_a_cell_in_each_corner_is_read(tmp_path: Path) -> None:
    """In a child with its limit on memory: the rectangle between the two has 17 billion cells."""
    path = tmp_path / "file"
    far = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="C1048576" s="1"><v>2</v></c>'
    path.write_bytes(xlsx({"Nah": '<row r="1"><c r="A1"><v>7</v></c></row>', "S": far + '<c r="XFD1048576"/></row>'}))
    findings = read(str(path), sniff(path.open("rb")), LIMITS)
    assert [page.text for page in findings.pages] == ["Nah\n7", "S\n1\n1900-01-02"]


def test_a_sheet_that_hides_how_large_it_is_ends_the_child_and_not_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "file"
    hidden = '<row r="1"><c r="A1"><v>1</v></c></row><row r="2"><c r="XFD1048576"><v>2</v></c></row>'
    path.write_bytes(xlsx({"S": hidden}))
    findings = read(str(path), sniff(path.open("rb")), LIMITS)
    assert findings.steps()[0].reason in {"too_large", "damaged"}


def test_names_in_a_package_lead_nowhere(pages: Any, tmp_path: Path) -> None:
    content = archive({"../../evil.xml": "x", "/etc/evil": "x", "word/document.xml": paragraph("innen")})
    assert pages(read_docx, content) == ["innen"]
    assert not list(tmp_path.parent.rglob("evil*"))


def test_text_beyond_the_limit_is_left_out_and_that_is_said(events: Any) -> None:
    found = events(read_docx, docx(paragraph("wort " * 100)), replace(LIMITS, characters=50))
    assert outcome(found) == ("Stopped", "too_large")
    assert sum(len(event.text or "") for event in found if isinstance(event, PageRead)) <= 50
