"""Renaming tags and correspondents. A name that another one has already merges the two."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from documents import audit, labels, searches
from documents.exceptions import InvalidValue, LabelNotFound
from documents.models import Correspondent, Document, Label, Tag
from documents.states import AuditAction


@dataclass(frozen=True)
class Relabelled:
    """``documents``: how many have the name now instead of the old one. ``merged``: some had it before."""

    name: str
    documents: int
    merged: bool


def rename(kind: type[Label], name: str, new_name: str, user: User) -> Relabelled:
    """Give all documents that have a tag or correspondent another one instead, those in the trash too; all or nothing.

    The old row stays without documents, since somebody may be about to give it to one; names without documents are
    shown nowhere.

    Raises:
        LabelNotFound: No document has this name.
        InvalidValue
    """
    new_name = _clean(kind, new_name)
    with transaction.atomic():
        # Before the new name's row: who edits a document has it locked when they make rows for names.
        having = _having(kind, labels.key_of(name))
        documents = list(having.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True))
        old = kind._default_manager.filter(key=labels.key_of(name)).first()
        if old is None or not documents:
            raise LabelNotFound(f"No document has {name}.")
        said = old.name
        if old.key == labels.key_of(new_name):
            old.name = new_name
            old.save(update_fields=["name"])
            new, merged = old, False
        else:
            merged = _having(kind, labels.key_of(new_name)).exists()
            new = labels.with_names(kind, [new_name])[0]
            _move(old, new, documents)
        for document_id in documents:
            _record(kind, document_id, user, said, new.name)
        follow = searches.follow_tag if kind is Tag else searches.follow_correspondent
        follow(old.key, new.name)
    return Relabelled(new.name, len(documents), merged)


def _clean(kind: type[Label], name: str) -> str:
    cleaned = labels.clean_names([name]) if kind is Tag else [labels.clean_name(name)]
    if not cleaned or not cleaned[0]:
        raise InvalidValue("name_empty", "A name needs at least one visible character.")
    return cleaned[0]


def _having(kind: type[Label], key: str) -> QuerySet[Document]:
    of_kind = {"tags__key": key} if kind is Tag else {"correspondent__key": key}
    return Document.objects.filter(**of_kind)


def _move(old: Label, new: Label, documents: list[UUID]) -> None:
    if isinstance(old, Correspondent):
        Document.objects.filter(pk__in=documents).update(correspondent=new)
        return
    tagged = Document.tags.through.objects
    had_it = tagged.filter(tag_id=new.pk).values("document_id")
    tagged.filter(tag_id=old.pk, document_id__in=documents).exclude(document_id__in=had_it).update(tag_id=new.pk)
    tagged.filter(tag_id=old.pk, document_id__in=documents).delete()


def _record(kind: type[Label], document_id: UUID, user: User, old: str, new: str) -> None:
    if kind is Tag:
        audit.record(AuditAction.TAGGED, document_id, user, added=[new], removed=[old])
    else:
        audit.record(AuditAction.CORRESPONDENT_SET, document_id, user, old=old, new=new)
