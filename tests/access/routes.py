"""Every route of the URL resolver, as the text that it is written with."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, get_resolver


@dataclass(frozen=True)
class Route:
    """``path``: the route with its placeholders, from the root; ``pattern``: what Django resolves."""

    path: str
    pattern: URLPattern


def routes() -> Iterator[Route]:
    yield from _walk(get_resolver().url_patterns, "/")


def _walk(patterns: Any, prefix: str) -> Iterator[Route]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern).removeprefix("^").removesuffix("$")
        if isinstance(pattern, URLPattern):
            yield Route(path, pattern)
        else:
            yield from _walk(pattern.url_patterns, path)
