"""What an idempotency key means: what becomes of a known one, and for how long it is its job's."""

from typing import Literal, get_args

#: What becomes of a job whose idempotency key is known: see ``Queue.enqueue``.
IfKnown = Literal["return", "replace", "raise"]
_POLICIES = get_args(IfKnown)


def check(if_known: object, key_while_active: object) -> None:
    """Raise ``ValueError`` unless they mean something."""
    if if_known not in _POLICIES:
        raise ValueError(f"if_known is {if_known!r}; it must be one of {', '.join(map(repr, _POLICIES))}.")
    if not isinstance(key_while_active, bool):
        raise ValueError(f"key_while_active must be a bool, not {type(key_while_active).__name__}.")
