"""What people type into a search box, as text that PostgreSQL's ``to_tsquery`` takes. Pure.

Words that stand side by side must all be there; ``"two words"`` stand together, ``word*`` begins a word, ``or`` takes
either side, ``-word`` leaves out documents that have it. Anything else is only text: no input is an error.
"""

import re
from dataclasses import dataclass

from documents.processing.cleaning import clean_text

# Of a search. In a URL each may take twelve bytes, and a web server takes lines of about 8,000.
MAX_QUERY_CHARACTERS = 500
#: A shorter beginning stands in too many words; its star means nothing.
MIN_PREFIX_CHARACTERS = 3

_TERM = re.compile(r'(?P<minus>(?<!\S)-)?(?:"(?P<phrase>[^"]*)(?:"|$)|(?P<word>[^\s"]+))')
_HAS_LETTER = re.compile(r"[^\W_]")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
# Not after a vowel that makes it something else: neue, Mauer, Quelle.
_WRITTEN_OUT = re.compile(r"(?<![aeq])([aou])e", re.IGNORECASE)


@dataclass(frozen=True)
class Term:
    """A word, the beginning of one, or several that stand together."""

    text: str
    is_prefix: bool = False
    is_phrase: bool = False

    def __str__(self) -> str:
        """Return it for ``to_tsquery``, also with its umlauts written out or drawn together: Müller, Mueller."""
        spellings = dict.fromkeys((self.text, self.text.translate(_UMLAUTS), _WRITTEN_OUT.sub(r"\1", self.text)))
        quoted = [f"'{_escaped(spelling)}'{':*' if self.is_prefix else ''}" for spelling in spellings]
        return quoted[0] if len(quoted) == 1 else f"({' | '.join(quoted)})"


@dataclass(frozen=True)
class SearchQuery:
    """``groups``: the terms of one of them must all be there. ``excluded``: none of these may."""

    groups: tuple[tuple[Term, ...], ...] = ()
    excluded: tuple[Term, ...] = ()

    @property
    def wanted(self) -> str:
        """Return what must match, for ``to_tsquery``; empty: nothing is asked for."""
        return " | ".join(" & ".join(map(str, group)) for group in self.groups)

    @property
    def unwanted(self) -> str:
        """Return what must not match, for ``to_tsquery``; empty: nothing is left out."""
        return " | ".join(map(str, self.excluded))

    @property
    def plain_words(self) -> list[str]:
        """Return the words that are asked for as they stand, in their order."""
        return [term.text for group in self.groups for term in group if not term.is_prefix and not term.is_phrase]


def parse(words: str) -> SearchQuery:
    """Read what somebody typed."""
    text, _ = clean_text(words)
    groups: list[list[Term]] = [[]]
    excluded: list[Term] = []
    for match in _TERM.finditer(text):
        if match["minus"] is None and (match["word"] or "").lower() == "or":
            groups.append([])
        elif term := _term(match):
            (excluded if match["minus"] else groups[-1]).append(term)
    return SearchQuery(tuple(tuple(group) for group in groups if group), tuple(excluded))


def _term(match: re.Match[str]) -> Term | None:
    text = match["phrase"] if match["word"] is None else match["word"]
    bare = text.rstrip("*")
    if not _HAS_LETTER.search(bare):
        return None
    if match["word"] is None:
        return Term(text, is_phrase=True)
    return Term(bare, is_prefix=bare != text and len(bare) >= MIN_PREFIX_CHARACTERS)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "''")
