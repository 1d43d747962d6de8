"""Tags and correspondents: what may be a name, and the rows for names."""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db.models import Count, Exists, OuterRef

from documents.exceptions import InvalidValue
from documents.models import LABEL_MAX_LENGTH, Correspondent, Document, Label, Tag
from documents.processing.cleaning import clean_line

MAX_TAGS = 50
_LONGER = 10 * LABEL_MAX_LENGTH

_MANY = 500
_FIELDS: dict[type[Label], str] = {Tag: "tags", Correspondent: "correspondent"}

L = TypeVar("L", bound=Label)


def key_of(name: str) -> str:
    """Return what two spellings of one name have in common."""
    return clean_line(name, _LONGER).casefold()


def clean_names(names: Iterable[str]) -> list[str]:
    """Return the tags that are meant: each once, in the order of the alphabet. Blank ones are left out.

    Raises:
        InvalidValue: A name is too long or has a comma, or there are too many.
    """
    cleaned = {key_of(name): clean_line(name, _LONGER) for name in reversed(list(names))}
    cleaned.pop("", None)
    if len(cleaned) > MAX_TAGS:
        raise InvalidValue("too_many_tags", f"A document has {MAX_TAGS} tags at most.")
    for name in cleaned.values():
        if "," in name:
            raise InvalidValue("comma", f"A tag has no comma: {name}.")
        _check_length(name)
    return [cleaned[key] for key in sorted(cleaned)]


def clean_name(name: str) -> str:
    """Return a correspondent's name as it is kept; empty if nothing visible is left.

    Raises:
        InvalidValue: It is too long.
    """
    cleaned = clean_line(name, _LONGER)
    _check_length(cleaned)
    return cleaned


def with_names(kind: type[L], names: Iterable[str]) -> list[L]:
    """Return a row for each clean name, in the order of the alphabet; those that are missing are made.

    Joins the caller's transaction. Two at a time that make the same name get the same row.
    """
    named = {key_of(name): name for name in names}
    # In one order everywhere, so that two transactions wait for each other and don't deadlock.
    missing = [kind(name=named[key], key=key) for key in sorted(named)]
    kind._default_manager.bulk_create(missing, ignore_conflicts=True)
    return list(kind._default_manager.filter(key__in=named).order_by("key"))


def in_use(kind: type[Label]) -> list[dict[str, Any]]:
    """Return the names that documents outside the trash have, and how many have each; by the alphabet."""
    rows: Any = kind._default_manager  # every kind has documents; Label itself has no table
    having = rows.filter(documents__deleted_at=None, documents__isnull=False)
    counted = having.annotate(used=Count("documents")).order_by("key").values_list("name", "used")
    return [{"name": name, "documents": used} for name, used in counted]


def names(kind: type[Label]) -> list[str]:
    """Return the names that any document has, by the alphabet; of very many, the first ones."""
    having = kind._default_manager.filter(Exists(Document.objects.filter(**{_FIELDS[kind]: OuterRef("pk")})))
    return list(having.order_by("key").values_list("name", flat=True)[:_MANY])


def _check_length(name: str) -> None:
    if len(name) > LABEL_MAX_LENGTH:
        raise InvalidValue("name_too_long", f"A name has {LABEL_MAX_LENGTH} characters at most: {name[:20]}...")
