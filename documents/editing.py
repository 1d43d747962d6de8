"""What people change about a document: title, tags, correspondent, date and notes; each change with its audit entry."""

from collections.abc import Iterable
from datetime import date
from typing import TypedDict
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from documents import audit, labels
from documents.exceptions import InvalidValue, NoteNotFound
from documents.lookup import locked
from documents.models import NOTE_MAX_LENGTH, TITLE_MAX_LENGTH, Correspondent, Document, Note, Tag
from documents.processing.cleaning import clean_line, clean_text
from documents.states import AuditAction


class Changes(TypedDict, total=False):
    """What is to be changed; a name that isn't there stays as it is."""

    title: str
    tags: list[str]  # all that it has afterwards
    correspondent: str | None  # None or blank: it has none
    document_date: date | None  # None: it has none, and none is guessed


def edit(document_id: UUID, changes: Changes, user: User) -> Document:
    """Change a document, all or nothing.

    Raises:
        DocumentNotFound: Also if it lies in the trash.
        InvalidValue
    """
    with transaction.atomic():
        document = locked(document_id)
        if "title" in changes:
            _rename(document, changes["title"], user)
        if "tags" in changes:
            _tag(document, labels.clean_names(changes["tags"]), user)
        if "correspondent" in changes:
            _set_correspondent(document, changes["correspondent"] or "", user)
        if "document_date" in changes:
            _set_date(document, changes["document_date"], user)
    return document


def add_tags(document: Document, names: Iterable[str], user: User | None) -> None:
    """Give a document more tags; those that it has stay. Joins the caller's transaction.

    Raises:
        InvalidValue
    """
    before = [tag.name for tag in document.tags.all()]
    _tag(document, labels.clean_names([*before, *names]), user)


def tag_more(document_id: UUID, names: Iterable[str], user: User) -> None:
    """Give a document more tags; those that it has stay.

    Raises:
        DocumentNotFound, InvalidValue
    """
    with transaction.atomic():
        add_tags(locked(document_id), names, user)


def add_note(document_id: UUID, text: str, user: User) -> Note:
    """Write a note about a document.

    Raises:
        DocumentNotFound
        InvalidValue: Nothing visible is left of it, or it is too long.
    """
    cleaned, _ = clean_text(text)
    if not clean_line(cleaned, 1):
        raise InvalidValue("note_empty", "The note is empty.")
    if len(cleaned) > NOTE_MAX_LENGTH:
        raise InvalidValue("note_too_long", f"A note has {NOTE_MAX_LENGTH} characters at most.")
    with transaction.atomic():
        document = locked(document_id)
        note = Note.objects.create(document=document, text=cleaned, author=user, author_name=user.get_username())
        audit.record(AuditAction.NOTED, document_id, user, note=note.pk)
    return note


def remove_note(document_id: UUID, note_id: int, user: User) -> None:
    """Remove a note for good.

    Raises:
        DocumentNotFound, NoteNotFound
    """
    with transaction.atomic():
        document = locked(document_id)
        removed, _ = document.notes.filter(pk=note_id).delete()
        if not removed:
            raise NoteNotFound(f"The document has no note {note_id}.")
        audit.record(AuditAction.NOTE_REMOVED, document_id, user, note=note_id)


def _rename(document: Document, title: str, user: User) -> None:
    title = clean_line(title, TITLE_MAX_LENGTH)
    if not title:
        raise InvalidValue("title_empty", "The title is empty.")
    if document.title != title:
        audit.record(AuditAction.RENAMED, document.pk, user, old=document.title, new=title)
        document.title = title
        document.save(update_fields=["title"])


def _tag(document: Document, names: list[str], user: User | None) -> None:
    before = {tag.pk: tag for tag in document.tags.all()}
    wanted = {tag.pk: tag for tag in labels.with_names(Tag, names)}
    added = [tag.name for pk, tag in wanted.items() if pk not in before]
    removed = [tag.name for pk, tag in before.items() if pk not in wanted]
    if added or removed:
        document.tags.set(wanted.values())
        audit.record(AuditAction.TAGGED, document.pk, user, added=added, removed=removed)


def _set_correspondent(document: Document, name: str, user: User) -> None:
    name = labels.clean_name(name)
    correspondent = labels.with_names(Correspondent, [name])[0] if name else None
    if document.correspondent != correspondent:
        old, new = (str(each or "") for each in (document.correspondent, correspondent))
        audit.record(AuditAction.CORRESPONDENT_SET, document.pk, user, old=old, new=new)
        document.correspondent = correspondent
        document.save(update_fields=["correspondent"])


def _set_date(document: Document, day: date | None, user: User) -> None:
    if document.document_date != day:
        old, new = (each.isoformat() if each else "" for each in (document.document_date, day))
        audit.record(AuditAction.DATED, document.pk, user, old=old, new=new)
    if document.document_date != day or document.date_is_guessed:
        document.document_date = day
        document.date_is_guessed = False
        document.save(update_fields=["document_date", "date_is_guessed"])
