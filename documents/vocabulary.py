"""The words that stand in documents, to tell somebody who mistyped one which may be meant."""

import re

from django.contrib.postgres.search import TrigramSimilarity
from django.db import connection

from documents.models import DocumentVersion, Word
from documents.search_query import parse

_SIMILAR = 0.3
_MOST_WORDS = 8  # of a search, that are compared
_PAGES = 200
_CHARACTERS = 20_000  # of a page
_WORDS = 20_000  # of a document

# In one order, so that two documents which are read at the same time wait for each other and don't deadlock.
_LEARN = """
INSERT INTO documents_word (text)
SELECT DISTINCT lower(word) FROM documents_documentpage AS page,
    regexp_split_to_table(left(page.text, %(characters)s), '[^[:alpha:]]+') AS word
WHERE page.version_id = %(version)s AND page.number <= %(pages)s AND length(word) BETWEEN 4 AND 30
ORDER BY 1 LIMIT %(words)s
ON CONFLICT DO NOTHING
"""


def learn(version: DocumentVersion) -> None:
    """Remember the words of a version. Not in the transaction that writes its text: others would wait for it."""
    limits = {"characters": _CHARACTERS, "version": version.pk, "pages": _PAGES, "words": _WORDS}
    with connection.cursor() as cursor:
        cursor.execute(_LEARN, limits)


def suggest(words: str) -> str:
    """Return the search with unknown words replaced by the most similar known ones; empty: there are none."""
    typed = dict.fromkeys(word for word in parse(words).plain_words if word.isalpha() and len(word) >= 4)
    asked = list(typed)[:_MOST_WORDS]
    known = set(Word.objects.filter(text__in=[word.lower() for word in asked]).values_list("text", flat=True))
    suggestion = words
    for word in asked:
        if word.lower() in known:
            continue
        similarity = TrigramSimilarity("text", word.lower())
        similar = Word.objects.filter(text__trigram_similar=word.lower()).annotate(similarity=similarity)
        best = similar.filter(similarity__gte=_SIMILAR).order_by("-similarity", "text").first()
        if best:
            suggestion = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", best.text, suggestion)
    return suggestion if suggestion != words else ""
