"""Reading documents in the child process: sound ones, locked ones, damaged ones (D01, D02, D04)."""

import zlib
from pathlib import Path
from typing import Any

import pikepdf
import pytest

from documents.processing.findings import Findings, Reason, StepStatus
from documents.processing.limits import Limits
from documents.processing.runner import read
from tests.documents import files

LIMITS = Limits(seconds=30, memory_bytes=2**30, pages=1000, characters=1_000_000)


@pytest.fixture
def read_bytes(tmp_path: Path) -> Any:
    def reading(content: bytes, mime_type: str = "application/pdf", limits: Limits = LIMITS) -> Findings:
        path = tmp_path / "file"
        path.write_bytes(content)
        return read(str(path), mime_type, limits)

    return reading


def outcome(findings: Findings) -> dict[str, tuple[str, str]]:
    return {step.name: (step.status.value, str(step.reason)) for step in findings.steps()}


def detail(findings: Findings, name: str) -> str:
    return next(step.detail for step in findings.steps() if step.name == name)


def words(findings: Findings) -> set[str]:
    return {word for page in findings.pages for word in page.text.split()}


def test_the_text_of_a_real_pdf_is_read(read_bytes: Any) -> None:
    findings = read_bytes(files.sample("crazyones.pdf"))
    expected = files.sample("crazyones.txt").decode().split()
    assert outcome(findings) == {"inspect": ("done", ""), "text": ("done", "")}
    plain = {word for word in expected if word.isascii() and word.isalpha()}
    assert len(plain - words(findings)) <= len(plain) * 0.02


def test_several_scripts_on_one_page_are_read(read_bytes: Any) -> None:
    assert {"Hello", "Привет,"} <= words(read_bytes(files.sample("multilang.pdf")))


def test_a_scan_has_no_text_and_that_is_no_failure(read_bytes: Any) -> None:
    findings = read_bytes(files.sample("imagemagick-CCITTFaxDecode.pdf"))
    assert outcome(findings) == {"inspect": ("done", ""), "text": ("done", "no_text")}


# D01


def test_a_glyph_that_stands_for_nul_costs_no_text(read_bytes: Any) -> None:
    findings = read_bytes(files.pdf("vorherZnachher schluss", change=files.with_glyph_for_nul))
    assert {"nachher", "schluss"} <= words(findings) or "vorhernachher" in words(findings)
    assert "\0" not in findings.pages[0].text


def test_controls_in_a_text_file_are_left_out_and_that_is_said(read_bytes: Any) -> None:
    findings = read_bytes("vorher\0nachher\x01 Grüße".encode(), "text/plain")
    assert words(findings) == {"vorher", "nachher", "Grüße"}
    assert detail(findings, "text") == "2 characters without meaning left out"


# D02


@pytest.mark.parametrize("name", ["encryption-r6-user-password.pdf", "libreoffice-writer-password.pdf"])
def test_a_pdf_that_needs_a_password_is_locked(read_bytes: Any, name: str) -> None:
    findings = read_bytes(files.sample(name))
    assert outcome(findings) == {"inspect": ("failed", "locked"), "text": ("skipped", "locked")}


def test_a_pdf_with_only_an_owner_password_is_read(read_bytes: Any) -> None:
    findings = read_bytes(files.sample("encryption-r6-owner-password.pdf"))
    assert words(findings) == words(read_bytes(files.sample("encryption-unencrypted.pdf")))
    assert outcome(findings)["text"] == ("done", "")


@pytest.mark.parametrize("revision", [2, 3, 4, 6])
@pytest.mark.parametrize(("user", "expected"), [("", "done"), ("geheim", "failed")])
def test_every_kind_of_password_protection(read_bytes: Any, revision: int, user: str, expected: str) -> None:
    encryption = pikepdf.Encryption(user=user, owner="owner", R=revision, aes=revision >= 4, metadata=revision >= 4)
    findings = read_bytes(files.ten_pages(encryption=encryption))
    assert outcome(findings)["inspect"] == (expected, "" if expected == "done" else "locked")
    assert ("wort10" in words(findings)) == (expected == "done")


# D04


def test_something_that_only_begins_like_a_pdf_is_damaged(read_bytes: Any) -> None:
    findings = read_bytes(files.INVALID_PDF)
    assert outcome(findings) == {"inspect": ("failed", "damaged"), "text": ("skipped", "damaged")}


def test_one_bad_page_among_ten_costs_one_page(read_bytes: Any) -> None:
    findings = read_bytes(files.ten_pages(change=files.with_broken_page))
    assert outcome(findings)["text"] == ("done", "damaged")
    assert detail(findings, "text") == "1 page unreadable"
    assert {f"wort{number}" for number in (1, 2, 3, 4, 6, 7, 8, 9, 10)} <= words(findings)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda pdf: pdf.replace(b"/Count 10", b"/Count 0 "), id="count of zero"),
        pytest.param(lambda pdf: pdf.replace(b"/Count 10", b"/Count 1000000000"), id="huge count"),
        pytest.param(lambda pdf: pdf.replace(b"startxref", b"startxxxx"), id="no cross-reference"),
        pytest.param(lambda pdf: pdf.replace(b"\nxref", b"\nxxxx"), id="garbage for a cross-reference"),
        pytest.param(lambda pdf: b"HTTP/1.1 200 OK\r\n\r\n" + pdf, id="something before the header"),
        pytest.param(lambda pdf: pdf[: len(pdf) * 90 // 100], id="a tenth missing"),
    ],
)
def test_what_can_be_repaired_is_read(read_bytes: Any, damage: Any) -> None:
    findings = read_bytes(damage(files.ten_pages()))
    assert findings.page_count == 10
    assert {"wort1", "wort10"} <= words(findings)


@pytest.mark.parametrize("share", [10, 50])
def test_a_truncated_pdf_says_that_it_was_damaged(read_bytes: Any, share: int) -> None:
    whole = files.ten_pages()
    findings = read_bytes(whole[: len(whole) * share // 100])
    assert "damaged" in detail(findings, "inspect") or outcome(findings)["inspect"] == ("failed", "damaged")


def test_a_page_tree_that_bites_its_tail_is_read_once(read_bytes: Any) -> None:
    findings = read_bytes(files.ten_pages(change=files.with_page_tree_cycle))
    assert len(findings.pages) == 10


def test_a_pdf_without_pages_is_damaged(read_bytes: Any) -> None:
    assert outcome(read_bytes(files.pdf("x", change=files.without_pages)))["inspect"] == ("failed", "damaged")


# Limits


def test_pages_beyond_the_limit_are_counted_and_not_read(read_bytes: Any) -> None:
    findings = read_bytes(files.ten_pages(), limits=Limits(30, 2**30, pages=3, characters=1_000_000))
    assert (findings.page_count, len(findings.pages)) == (10, 3)
    assert outcome(findings)["text"] == ("done", "too_large")
    assert detail(findings, "text") == "only the first 3 of 10 pages were read"


@pytest.mark.parametrize("mime_type", ["application/pdf", "text/plain"])
def test_text_beyond_the_limit_is_left_out_and_that_is_said(read_bytes: Any, mime_type: str) -> None:
    content = files.ten_pages() if mime_type == "application/pdf" else b"seite1 wort1\x0c" * 10
    findings = read_bytes(content, mime_type, limits=Limits(30, 2**30, pages=100, characters=30))
    assert findings.pages[0].text == "seite1 wort1"
    assert sum(len(page.text) for page in findings.pages) <= 30
    assert outcome(findings)["text"] == ("done", "too_large")


def test_a_page_that_inflates_beyond_the_memory_costs_that_page(read_bytes: Any) -> None:
    bomb = zlib.compress(b"BT /F 12 Tf 10 10 Td (x) Tj ET\n" * 10_000_000, 1)

    def add_bomb(document: pikepdf.Pdf) -> None:
        stream = pikepdf.Stream(document, bomb)
        stream.Filter = pikepdf.Name.FlateDecode
        document.pages[1].Contents = document.make_indirect(stream)

    content = files.pdf("eins", "zwei", "drei", change=add_bomb, compress_streams=False)
    findings = read_bytes(content, limits=Limits(30, 200 * 2**20, pages=10, characters=1_000_000))
    assert outcome(findings)["text"] == ("done", "damaged")
    assert words(findings) == {"eins", "drei"}


def test_a_text_file_is_cut_at_form_feeds_and_line_ends(read_bytes: Any) -> None:
    lines = "".join(f"line {number}\n" for number in range(2000))
    findings = read_bytes(f"first page\x0c{lines}".encode(), "text/plain")
    assert findings.pages[0].text == "first page"
    assert "\n".join(page.text for page in findings.pages[1:]) == lines.strip()
    assert all(page.text.startswith("line") for page in findings.pages[1:])


def test_one_endless_line_is_cut_too(read_bytes: Any) -> None:
    findings = read_bytes(b"x" * 100_000, "text/plain")
    assert "".join(page.text for page in findings.pages) == "x" * 100_000


def test_the_steps_of_a_reason_are_the_contracts_words() -> None:
    assert {status.value for status in StepStatus} == {"done", "failed", "skipped"}
    assert {"locked", "damaged", "unsupported", "too_large"} <= {reason.value for reason in Reason}
