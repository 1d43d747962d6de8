"""Reading e-mails: the headers that people look for, the words, and the names of what is attached."""

import email
import email.policy
from collections.abc import Iterator
from email.message import EmailMessage
from typing import cast

from documents.processing.encodings import decode
from documents.processing.events import Event
from documents.processing.findings import Reason, Unreadable
from documents.processing.flowing_text import PAGE_BREAK, report
from documents.processing.limits import Limits
from documents.processing.web_page import text_of_html

_HEADERS = ["Subject", "From", "To", "Cc", "Date"]
_MOST_NESTED = 10


def read_mail(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the text: each mail that is attached to this one begins a page."""
    yield from report(_mail(path), limits, first_page)


def _mail(path: str) -> Iterator[str]:
    try:
        with open(path, "rb") as file:
            message = email.message_from_binary_file(file, policy=email.policy.default)
        yield from _text(message, depth=1)
    except RecursionError as error:
        raise Unreadable(Reason.DAMAGED, "its parts are nested too deeply") from error


def _text(message: EmailMessage, depth: int) -> Iterator[str]:
    if depth > _MOST_NESTED:
        raise Unreadable(Reason.TOO_LARGE, f"mails inside mails are read {_MOST_NESTED} deep")
    for name in _HEADERS:
        if value := _header(message, name):
            yield f"{name}: {value}\n"
    inner: list[EmailMessage] = []
    bodies: dict[str, list[str]] = {"plain": [], "html": []}
    for part in _parts(message):
        if part.get_content_type() == "message/rfc822":
            inner += cast(list[EmailMessage], part.get_payload() if part.is_multipart() else [])
        elif name := _file_name(part):
            yield f"Attachment: {name}\n"
        elif part.get_content_maintype() == "text":
            kind = "html" if part.get_content_subtype() == "html" else "plain"
            bodies[kind].append(_words(part, kind))
    # Mostly they say the same. Where one is a mere "your program can't show this", the other is the mail.
    yield "\n" + max(("\n".join(words) for words in bodies.values()), key=len) + "\n"
    for each in inner:
        yield PAGE_BREAK
        yield from _text(each, depth + 1)


def _parts(message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the leaves of a mail; a mail inside it is one."""
    if not message.is_multipart() or message.get_content_type() == "message/rfc822":
        yield message
        return
    for part in cast(list[EmailMessage], message.get_payload()):
        yield from _parts(part)


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except Exception:  # noqa: BLE001 - parsing headers fails in many ways; a mail is readable without one of them
        return ""


def _file_name(part: EmailMessage) -> str:
    try:
        return " ".join((part.get_filename() or "").split())
    except Exception:  # noqa: BLE001 - as above
        return "?"


def _words(part: EmailMessage, kind: str) -> str:
    data = part.get_payload(decode=True)
    text = _decoded(data if isinstance(data, bytes) else b"", part.get_content_charset())
    return text_of_html(text) if kind == "html" else text


def _decoded(data: bytes, charset: str | None) -> str:
    try:
        return data.decode(charset or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return decode(data)[0]
