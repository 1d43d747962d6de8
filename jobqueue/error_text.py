"""The text of a failure, made so that it can always be stored."""

import traceback
from types import TracebackType

MAX_BYTES = 16 * 1024
_SUMMARY_MAX_CHARACTERS = 500
# What PostgreSQL calls a table and a column that it doesn't have.
_OTHER_TABLES = ("42P01", "42703")


def describe(error: BaseException | str) -> str:
    """Return class, message and traceback of ``error``, at most ``MAX_BYTES`` in UTF-8. Never raises.

    The first line is the summary. In a longer text the middle is left out, since the start and the end of a
    traceback tell most.
    """
    try:
        text = error if isinstance(error, str) else _with_traceback(error)
    except BaseException:  # noqa: BLE001 - an exception's own __str__ may raise anything
        text = f"{type(error).__name__} (its text can't be shown)"
    return _shorten(_clean(text), MAX_BYTES) or "no reason given"


def summary(text: str) -> str:
    """Return the first line of a described error, short enough for a list."""
    return text.split("\n", 1)[0][:_SUMMARY_MAX_CHARACTERS]


def migration_may_be_due(error: BaseException) -> bool:
    """Return whether Django passed on that PostgreSQL lacks a table or a column."""
    return getattr(error.__cause__, "sqlstate", None) in _OTHER_TABLES


def _with_traceback(error: BaseException) -> str:
    # A bounded number of frames and causes: a chain of causes may be thousands long.
    lines = [_shorten(_clean(f"{_name(error)}: {error}"), MAX_BYTES // 2), ""]
    seen: BaseException | None = error
    for _ in range(5):
        if seen is None:
            break
        lines.append(f"{_name(seen)}, most recent call last:")
        lines += [line.rstrip() for line in traceback.format_tb(_beyond_the_queue(seen.__traceback__), limit=-20)]
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return "\n".join(lines)


def _beyond_the_queue(frames: TracebackType | None) -> TracebackType | None:
    """Leave out the way to the handler, which is the same for all; an error of the queue's own keeps it."""
    rest = frames
    while rest is not None:
        if str(rest.tb_frame.f_globals.get("__name__")).partition(".")[0] != "jobqueue":
            return rest
        rest = rest.tb_next
    return frames


def _name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _clean(text: str) -> str:
    """Replace what PostgreSQL refuses in a text: NUL and lone surrogates."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def _shorten(text: str, max_bytes: int) -> str:
    raw = text.encode()
    if len(raw) <= max_bytes:
        return text
    mark = b"\n[...]\n"
    half = (max_bytes - len(mark)) // 2
    return (raw[:half] + mark + raw[-half:]).decode(errors="ignore")
