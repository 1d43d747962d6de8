"""Which Python values PostgreSQL's ``jsonb`` takes, found out before any SQL runs."""

import json
from typing import Any

#: What stands in the place of a result that can't be stored has this key.
UNSTORABLE = "unstorable_result"
RESULT_MAX_BYTES = 2**20
#: Far below Python's recursion limit: what is stored must be readable from any depth of the stack.
MAX_DEPTH = 100
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_CONTAINERS = (dict, list, tuple)


class NotStorable(ValueError):
    """The value has no faithful ``jsonb`` form; the message says why."""


def encode(value: Any, *, max_bytes: int) -> str:
    """Return ``value`` as JSON text that PostgreSQL takes and gives back unchanged.

    Raises:
        NotStorable: Not JSON (a set, NaN, a key that isn't text), a NUL or a lone surrogate in a text, nested more
            than ``MAX_DEPTH`` levels or in a circle, or longer than ``max_bytes`` in UTF-8.
    """
    try:
        _refuse_what_json_would_rewrite(value, MAX_DEPTH)
        text = _ENCODER.encode(value)
        size = len(text.encode())
    except RecursionError:
        raise NotStorable("it is nested too deeply or contains itself") from None
    except UnicodeEncodeError:
        raise NotStorable("a text in it has a lone surrogate, which is no Unicode character") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise NotStorable(_lower_first(str(error))) from None
    if "\\u0000" in text and "\0" in _texts(value):
        raise NotStorable("a text in it has the character U+0000 (NUL), which PostgreSQL can't store")
    if size > max_bytes:
        raise NotStorable(f"it has {size} bytes as JSON; at most {max_bytes} are allowed")
    return text


def storable_result(value: Any) -> Any:
    """Return ``value``, or what stands for it if it can't be stored.

    The job has done its work when its result comes, so an unstorable result must neither fail nor repeat it.
    """
    text = storable_result_json(value)
    return None if text is None else json.loads(text)


def storable_result_json(value: Any) -> str | None:
    """Return the same as JSON text; None for None, which is stored as NULL."""
    if value is None:
        return None
    try:
        return encode(value, max_bytes=RESULT_MAX_BYTES)
    except NotStorable as error:
        return encode({UNSTORABLE: type(value).__name__, "reason": str(error)}, max_bytes=RESULT_MAX_BYTES)


def _refuse_what_json_would_rewrite(value: Any, levels: int) -> None:
    """Refuse keys that aren't text, and more than ``levels`` of objects and arrays inside each other."""
    if not isinstance(value, _CONTAINERS):
        return
    if levels == 0:
        raise RecursionError
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is no text")
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, _CONTAINERS):
            _refuse_what_json_would_rewrite(item, levels - 1)


def _texts(value: Any) -> str:
    """Return all texts in ``value``, joined: NUL is escaped in JSON, and so is a backslash before ``u0000``."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "".join(key + _texts(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return "".join(map(_texts, value))
    return ""


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
