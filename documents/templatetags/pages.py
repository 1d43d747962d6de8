"""What the templates of the pages need beside Django's own tags."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django import template
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from dms_project.tenancy import current
from documents import intake
from documents.models import Document

if TYPE_CHECKING:
    from documents.pages.asked import Asked

register = template.Library()

# Drawn on 24 x 24, in strokes of the text's colour.
_ICONS = {
    "brand": "<path d='M6 3h8l5 5v11a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2z'/><path d='M8 12h7M8 16h5'/>",
    "search": "<circle cx='11' cy='11' r='6.5'/><path d='m20 20-4.2-4.2'/>",
    "folder": "<path d='M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z'/>",
    "upload": "<path d='M12 16V4m0 0L7 9m5-5 5 5M4 16v3a1.5 1.5 0 0 0 1.5 1.5h13A1.5 1.5 0 0 0 20 19v-3'/>",
    "download": "<path d='M12 4v12m0 0 5-5m-5 5-5-5M4 17v2a1.5 1.5 0 0 0 1.5 1.5h13A1.5 1.5 0 0 0 20 19v-2'/>",
    "trash": "<path d='M4 7h16M9 7V4h6v3m3 0-1 13H7L6 7m4 4v5m4-5v5'/>",
    "again": "<path d='M20 11a8 8 0 1 0-2.3 6.7M20 5v6h-6'/>",
    "edit": "<path d='m4 20 1-4L16 5l3 3L8 19zM14 7l3 3'/>",
    "filter": "<path d='M4 6h16M7 12h10M10 18h4'/>",
    "back": "<path d='M15 5l-7 7 7 7'/>",
    "done": "<path d='m5 13 4.5 4.5L19 7'/>",
    "failed": "<path d='M6 6l12 12M18 6 6 18'/>",
    "waiting": "<circle cx='12' cy='12' r='7'/>",
    "running": "<circle cx='12' cy='12' r='7'/><path d='M12 8v4l3 2'/>",
    "skipped": "<path d='M6 12h12'/>",
}


@register.simple_tag
def list_address(asked: Asked, **changed: str | int) -> str:
    """Return the address of a list with some parameters changed."""
    return asked.address(**changed)


@register.simple_tag
def parameters(**values: str) -> str:
    """Return parameters for an address."""
    return urlencode(values)


@register.filter
def tags(document: Document) -> list[str]:
    """Return the names of a document's tags."""
    return document.names_of_tags


@register.simple_tag
def icon(name: str) -> SafeString:
    """Draw an icon beside a word that says the same, so it is hidden from screen readers."""
    drawing = _ICONS[name]
    return mark_safe(f"<svg class='icon' viewBox='0 0 24 24' aria-hidden='true'>{drawing}</svg>")  # noqa: S308 - ours


@register.simple_tag
def moment(at: datetime) -> SafeString:
    """Show a time: as UTC, which the page's script turns into the reader's own."""
    return format_html(
        "<time datetime='{}'>{} UTC</time>", at.isoformat(), date_format(at, "SHORT_DATETIME_FORMAT", use_l10n=True)
    )


@register.simple_tag
def tenant_name() -> str:
    """Name the tenant whose host this is."""
    return current()


@register.simple_tag
def max_upload_bytes() -> int:
    """Return how large a file may be here."""
    return intake.max_file_bytes()
