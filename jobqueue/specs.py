"""What a caller asks for when it enqueues, checked before any SQL runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from json.encoder import encode_basestring as _json_text
from typing import Any, NamedTuple

from jobqueue import handlers, key_policy
from jobqueue.conf import conf
from jobqueue.exceptions import InvalidJob
from jobqueue.json_values import NotStorable, encode
from jobqueue.key_policy import IfKnown
from jobqueue.models import (
    CONCURRENCY_KEY_MAX_LENGTH,
    CONCURRENCY_LIMIT_MAX,
    IDEMPOTENCY_KEY_MAX_LENGTH,
    MAX_ATTEMPTS_LIMIT,
    NAME_MAX_LENGTH,
    PRIORITY_MAX,
    PRIORITY_MIN,
)


@dataclass(frozen=True)
class JobSpec:
    """One job to be enqueued; the fields mean what the arguments of ``Queue.enqueue`` mean."""

    job_type: str
    payload: dict[str, Any]
    idempotency_key: str | None = None
    queue_name: str = "default"
    priority: int = 0
    available_at: datetime | None = None
    max_attempts: int | None = None
    if_known: IfKnown = "return"
    key_while_active: bool = False
    concurrency_key: str | None = None
    concurrency_limit: int = 1

    def checked(self) -> "CheckedSpec":
        """Return the spec with its payload as JSON and its defaults filled in.

        Raises:
            InvalidJob: A value has the wrong type, is out of range, or can't be stored; the message names it.
        """
        check_text("job_type", self.job_type, NAME_MAX_LENGTH)
        check_text("queue_name", self.queue_name, NAME_MAX_LENGTH)
        if self.idempotency_key is not None:
            check_text("idempotency_key", self.idempotency_key, IDEMPOTENCY_KEY_MAX_LENGTH)
        try:
            key_policy.check(self.if_known, self.key_while_active)
        except ValueError as error:
            raise InvalidJob(str(error)) from None
        check_integer("priority", self.priority, PRIORITY_MIN, PRIORITY_MAX)
        max_attempts = _max_attempts(self.job_type) if self.max_attempts is None else self.max_attempts
        check_integer("max_attempts", max_attempts, 1, MAX_ATTEMPTS_LIMIT)
        if self.concurrency_key is not None:
            check_text("concurrency_key", self.concurrency_key, CONCURRENCY_KEY_MAX_LENGTH)
            check_integer("concurrency_limit", self.concurrency_limit, 1, CONCURRENCY_LIMIT_MAX)
        return CheckedSpec(self, self._payload_as_json(), self._available_at_in_utc(), max_attempts)

    def _payload_as_json(self) -> str:
        if not isinstance(self.payload, dict):
            raise InvalidJob(f"payload must be a dict, not {type(self.payload).__name__}.")
        try:
            return encode(self.payload, max_bytes=conf().payload_max_bytes)
        except NotStorable as error:
            raise InvalidJob(f"payload can't be stored: {error}.") from None

    def _available_at_in_utc(self) -> datetime | None:
        if self.available_at is None:
            return None
        if not isinstance(self.available_at, datetime):
            raise InvalidJob(f"available_at must be a datetime, not {type(self.available_at).__name__}.")
        if self.available_at.utcoffset() is None:
            raise InvalidJob("available_at must have a time zone; this datetime is naive.")
        try:
            return self.available_at.astimezone(UTC)
        except OverflowError:
            raise InvalidJob("available_at is out of range in UTC.") from None


class CheckedSpec(NamedTuple):
    """A spec that the table will take."""

    spec: JobSpec
    payload_json: str
    available_at: datetime | None
    max_attempts: int

    def as_json(self) -> str:
        """Return what the insert statement reads: one object, with a letter for each column."""
        spec = self.spec
        at = "null" if self.available_at is None else f'"{self.available_at.isoformat()}"'
        key = "null" if spec.idempotency_key is None else _json_text(spec.idempotency_key)
        limit = ""
        if spec.concurrency_key is not None:
            limit = f',"c":{_json_text(spec.concurrency_key)},"l":{spec.concurrency_limit:d}'
        return (
            f'{{"t":{_json_text(spec.job_type)},"q":{_json_text(spec.queue_name)},"p":{self.payload_json},'
            f'"r":{spec.priority:d},"m":{self.max_attempts:d},"a":{at},"k":{key}{limit}}}'
        )


def check_text(name: str, value: object, max_length: int) -> None:
    """Raise ``InvalidJob`` unless ``value`` is a text of 1 to ``max_length`` characters that PostgreSQL stores."""
    if not isinstance(value, str):
        raise InvalidJob(f"{name} must be a text, not {type(value).__name__}.")
    if not 1 <= len(value) <= max_length:
        raise InvalidJob(f"{name} has {len(value)} characters; it must have 1 to {max_length}.")
    if "\0" in value:
        raise InvalidJob(f"{name} contains the character U+0000 (NUL), which PostgreSQL can't store.")
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidJob(f"{name} contains a lone surrogate, which is no Unicode character.") from None


def check_integer(name: str, value: object, low: int, high: int) -> None:
    """Raise ``InvalidJob`` unless ``value`` is an int (no bool) from ``low`` to ``high``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidJob(f"{name} must be an int, not {type(value).__name__}.")
    if not low <= value <= high:
        raise InvalidJob(f"{name} is {value}; it must be from {low} to {high}.")


def check_names(name: str, value: Sequence[str] | None) -> None:
    """Raise ``InvalidJob`` for a single text where several names are meant: its letters would be taken for them."""
    if isinstance(value, str):
        raise InvalidJob(f"{name} must be a list of names, not the text {value!r}.")


def _max_attempts(job_type: str) -> int:
    handler = handlers.registered().get(job_type)
    return handler.max_attempts if handler and handler.max_attempts is not None else conf().max_attempts
