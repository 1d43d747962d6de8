"""One verb for many documents: each in a transaction of its own, with its own audit entry."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

from documents.exceptions import DocumentNotFound

MAX_DOCUMENTS = 500


@dataclass
class Done:
    """``missing``: those that don't exist, or aren't where the verb looks for them."""

    changed: int = 0
    missing: int = 0


def for_each(ids: Iterable[UUID], change: Callable[[UUID], object]) -> Done:
    """Change one document after the other, the first ``MAX_DOCUMENTS``, each once."""
    done = Done()
    for document_id in list(dict.fromkeys(ids))[:MAX_DOCUMENTS]:
        try:
            change(document_id)
        except DocumentNotFound:
            done.missing += 1
        else:
            done.changed += 1
    return done
