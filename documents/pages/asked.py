"""What a list's address asks for: a search, filters and a page. Whatever else stands in it is ignored."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict
from django.utils.dateparse import parse_date
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from documents.filters import FileType, Filters
from documents.labels import MAX_TAGS
from documents.search_query import MAX_QUERY_CHARACTERS
from documents.states import DocumentStatus

_MAX_PAGE = 1_000_000


@dataclass(frozen=True)
class ActiveFilter:
    """A filter that holds, in words, and the address without it."""

    label: str
    without: str


@dataclass(frozen=True)
class Asked:
    """What is asked for."""

    words: str
    filters: Filters
    page: int

    @classmethod
    def of(cls, request: HttpRequest) -> "Asked":
        """Read a request's address."""
        return cls.of_parameters(request.GET)

    @classmethod
    def of_parameters(cls, given: QueryDict) -> "Asked":
        """Read the parameters of an address."""
        status, file_type = given.get("status", ""), given.get("type", "")
        filters = Filters(
            status=DocumentStatus(status) if status in DocumentStatus.values else None,
            tags=tuple(dict.fromkeys(tag for tag in given.getlist("tag")[:MAX_TAGS] if tag.strip())),
            correspondent=given.get("correspondent", "").strip(),
            file_type=FileType(file_type) if file_type in FileType.values else None,
            since=_date(given.get("since", "")),
            until=_date(given.get("until", "")),
        )
        return cls(given.get("q", "")[:MAX_QUERY_CHARACTERS].strip(), filters, _page_number(given))

    @property
    def query(self) -> list[tuple[str, str]]:
        """Return the parameters of the address, without the page; empty ones are left out."""
        filters = self.filters
        pairs = [
            ("q", self.words),
            ("status", filters.status.value if filters.status else ""),
            *(("tag", tag) for tag in filters.tags),
            ("correspondent", filters.correspondent),
            ("type", filters.file_type.value if filters.file_type else ""),
            ("since", filters.since.isoformat() if filters.since else ""),
            ("until", filters.until.isoformat() if filters.until else ""),
        ]
        return [(name, value) for name, value in pairs if value]

    def address(self, **changed: str | int) -> str:
        """Return the address, with other values for some parameters; an empty value leaves one out."""
        kept = [(name, value) for name, value in self.query if name not in changed]
        return f"?{urlencode([*kept, *((name, str(value)) for name, value in changed.items() if value)])}"

    @property
    def parameters(self) -> dict[str, str | list[str]]:
        """Return what is to be saved of a search."""
        asked: dict[str, str | list[str]] = {name: value for name, value in self.query if name != "tag"}
        return asked | ({"tag": list(self.filters.tags)} if self.filters.tags else {})

    @property
    def parameters_text(self) -> str:
        """Return the same as it stands in an address."""
        return urlencode(self.query)

    @property
    def last_tag(self) -> str:
        """Return the tag that the form of the filters shows; empty: there is none."""
        return self.filters.tags[-1] if self.filters.tags else ""

    @property
    def active(self) -> list[ActiveFilter]:
        """Return the filters that hold, but for the state, which the tabs show."""
        return [ActiveFilter(label, self._without(name, value)) for name, value, label in self._in_words()]

    def _in_words(self) -> Iterator[tuple[str, str, str]]:
        filters = self.filters
        for tag in filters.tags:
            yield "tag", tag, _("Tag: %(tag)s") % {"tag": tag}
        if filters.correspondent:
            yield "correspondent", filters.correspondent, _("From or to: %(who)s") % {"who": filters.correspondent}
        if filters.file_type:
            yield "type", filters.file_type.value, _("Type: %(type)s") % {"type": filters.file_type.label}
        if filters.since:
            yield "since", filters.since.isoformat(), _("Since %(day)s") % {"day": _in_form(filters.since)}
        if filters.until:
            yield "until", filters.until.isoformat(), _("Until %(day)s") % {"day": _in_form(filters.until)}

    def _without(self, name: str, value: str) -> str:
        return f"?{urlencode([pair for pair in self.query if pair != (name, value)])}"


def page_number(request: HttpRequest) -> int:
    """Return the number of the page that is asked for, from 1; what is no number counts as 1."""
    return _page_number(request.GET)


def _page_number(given: QueryDict) -> int:
    text = given.get("page", "")
    return min(max(int(text), 1), _MAX_PAGE) if text.isascii() and text.isdigit() and len(text) < 10 else 1


def _date(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:
        return None


def _in_form(day: date) -> str:
    return date_format(day, "DATE_FORMAT", use_l10n=True)
