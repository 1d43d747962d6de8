"""Reading e-mails and HTML: what a person would see of them, and nothing that is fetched or run."""

from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from documents.processing.events import Event, PageRead, Refused, Stopped
from documents.processing.limits import Limits
from documents.processing.mail import read_mail
from documents.processing.media_types import sniff
from documents.processing.runner import read
from documents.processing.web_page import read_html, text_of_html

LIMITS = Limits(seconds=30, characters=1_000_000)


@pytest.fixture
def events(tmp_path: Path) -> Any:
    def reading(reader: Any, content: bytes) -> list[Event]:
        path = tmp_path / "file"
        path.write_bytes(content)
        return list(reader(str(path), LIMITS, 1))

    return reading


def mail(subject: str = "Rechnung für März", body: str = "Guten Tag.") -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject, "Jörg <j@example.org>", "b@example.org"
    message.set_content(body)
    return message


def test_a_mail_has_its_headers_words_and_the_names_of_what_is_attached(tmp_path: Path) -> None:
    message = mail()
    message.add_alternative("<p>Guten Tag, anbei die <b>Rechnung</b>.</p><script>run()</script>", subtype="html")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="Rechnung März.pdf")
    message.add_attachment(mail("Innen", "weitergeleitet"))
    path = tmp_path / "file"
    path.write_bytes(message.as_bytes())
    findings = read(str(path), sniff(path.open("rb")), LIMITS)
    assert [page.text for page in findings.pages] == [
        "Subject: Rechnung für März\nFrom: Jörg <j@example.org>\nTo: b@example.org\nAttachment: Rechnung März.pdf\n\n"
        "Guten Tag, anbei die Rechnung.",
        "Subject: Innen\nFrom: Jörg <j@example.org>\nTo: b@example.org\n\nweitergeleitet",
    ]


def test_the_plain_words_count_if_they_say_more(events: Any) -> None:
    message = mail(body="viel mehr als dort steht")
    message.add_alternative("<p>wenig</p>", subtype="html")
    assert events(read_mail, message.as_bytes())[-1].text.endswith("\n\nviel mehr als dort steht")


@pytest.mark.parametrize(
    ("charset", "body"), [("iso-8859-1", b"Gr\xfc\xdfe"), ("no-such-thing", b"Gr\xfc\xdfe"), ("utf-8", b"Gr\xfc\xdfe")]
)
def test_a_mail_that_lies_about_its_encoding_is_read(events: Any, charset: str, body: bytes) -> None:
    content = b"From: a@b\nSubject: x\nContent-Type: text/plain; charset=" + charset.encode() + b"\n\n" + body
    assert events(read_mail, content)[-1].text.endswith("Grüße")


@pytest.mark.parametrize(
    "header",
    [b"Date: \xff\xff", b"To: <<<>>@@,,;;", b'From: "', b"Content-Type: ;;;/;", b"Cc: =?x?q?=?=", b"Subject: \0"],
)
def test_a_mail_with_a_senseless_header_is_read_without_it(events: Any, header: bytes) -> None:
    content = header + b"\nMessage-ID: <a@b>\nReceived: by x\n\nder Text"
    assert events(read_mail, content)[-1].text.endswith("der Text")


def test_mails_inside_mails_are_read_to_a_depth(events: Any) -> None:
    message = mail("unten")
    for number in range(15):
        outer = mail(f"Hülle {number}")
        outer.add_attachment(message)
        message = outer
    found = events(read_mail, message.as_bytes())
    assert isinstance(found[-1], Stopped)
    assert found[-1].reason == "too_large"
    assert sum(isinstance(event, PageRead) for event in found) == 10


def test_parts_nested_without_end_are_refused(events: Any) -> None:
    content = b"From: a\nTo: b\n"
    for number in range(1500):
        content += b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (number, number)
    assert isinstance(events(read_mail, content)[0], Refused | Stopped)


def test_html_is_read_as_it_is_seen(events: Any) -> None:
    content = (
        "<!DOCTYPE html><head><title>Titel</title><style>p { color: red }</style></head><body onload=x()>"
        "<p>Ein <b>fet</b>tes\nWort &amp; &Uuml;ber<br>neue Zeile<img alt='Bild' src='http://127.0.0.1:9/'></p>"
        "<!-- Kommentar --><table><tr><td>a<td>b</table><script>var x = '<p>Skript</p>'</script></body>"
    )
    found = events(read_html, content.encode("cp1252"))
    assert found[-1] == PageRead(1, "Titel\nEin fettes Wort & Über\nneue Zeile Bild\na b")


@pytest.mark.parametrize(
    "markup",
    ["<p>" * 100_000 + "x", "<!--" * 2_000, "<script>" + "x" * 100_000, "<a " + "b=" * 50_000, "&#0;&#xD800;"],
)
def test_broken_markup_breaks_nothing(markup: str) -> None:
    assert len(text_of_html(markup)) <= len(markup)


@pytest.mark.parametrize(
    ("content", "name", "mime_type"),
    [
        (b"From: a@b.example\nTo: c@d.example\nSubject: x\n\nwords", "brief.txt", "message/rfc822"),
        (b"Received: by x\r\n\tid 7\r\nDate: today\r\n\r\nwords", "", "message/rfc822"),
        (b"From: the office\n\nNote: this is none", "", "text/plain"),
        (b"<?xml version='1.0'?><!DOCTYPE html><html/>", "", "text/html"),
        (b"a;b\n1;2\n", "Liste.CSV", "text/csv"),
        (b"# Titel", "lies.md", "text/markdown"),
        (b"%PDF-1.4", "list.csv", "application/pdf"),
        (b"<html>", "list.csv", "text/html"),
    ],
)
def test_the_content_says_what_a_text_is_and_its_name_only_what_else_could_not(
    content: bytes, name: str, mime_type: str
) -> None:
    assert sniff(BytesIO(content), name) == mime_type
