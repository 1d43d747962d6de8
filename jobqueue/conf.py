"""``settings.JOBQUEUE``, typed and with its defaults in one place."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import cache
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.module_loading import import_string


@dataclass(frozen=True, kw_only=True)
class JobQueueSettings:
    """Each field is the key of the same name, in capitals, of ``settings.JOBQUEUE``."""

    #: A lock older than this is stale: the job is delivered again. Workers renew theirs at a third of it.
    stale_lock_after: timedelta = timedelta(seconds=60)
    #: A worker whose sign of life is absent for longer is dead. None: workers make no such promise, which is
    #: right behind a connection pooler in transaction mode.
    sign_of_life_grace: timedelta | None = timedelta(seconds=3)
    #: Attempts of a job that names no number of its own.
    max_attempts: int = 5
    #: Size of a payload as JSON in UTF-8.
    payload_max_bytes: int = 2**20
    #: How often an idle worker looks for work; four times as rarely while it is known to hear wake-ups.
    poll_interval: timedelta = timedelta(milliseconds=500)
    #: Whether workers listen for wake-ups (NOTIFY). They don't either where no sign of life is promised.
    listen: bool = True
    #: Whether a worker takes jobs in advance while they last milliseconds: up to 50 ms of work.
    prefetch: bool = True
    #: How long a stopping worker lets running jobs finish before it gives them back.
    shutdown_grace: timedelta = timedelta(seconds=20)
    #: How long an attempt may run if its handler names no limit of its own. None: for ever.
    timeout: timedelta | None = None
    #: Dotted path of a module or object with ``names()`` and ``use(name)``: the tenants that a worker serves.
    #: None: a single schema.
    tenants: str | None = None
    #: Dotted path of the ledger that says which tenants have something to do. None: each of them is asked.
    ledger: str | None = None
    #: Dotted path of what shares a worker's time out among tenants. None: room is shared out evenly.
    scheduler: str | None = None
    #: For the scheduler: of tenants that are to get more or less than others, 1 for who isn't in it; and how many of a
    #: tenant's jobs a worker process may hold at once.
    weights: Mapping[str, float] = field(default_factory=dict)
    caps: Mapping[str, int] = field(default_factory=dict)
    #: In how long the fleet looks into every tenant once, whatever the ledger says.
    sweep_interval: timedelta = timedelta(minutes=30)
    #: Whether enqueueing and handlers have spans of OpenTelemetry.
    tracing: bool = False

    def __post_init__(self) -> None:
        for name in ("stale_lock_after", "poll_interval", "shutdown_grace", "sweep_interval"):
            self._demand(name, timedelta, above=timedelta(0))
        for name in ("sign_of_life_grace", "timeout"):
            if getattr(self, name) is not None:
                self._demand(name, timedelta, above=timedelta(0))
        for name in ("max_attempts", "payload_max_bytes"):
            self._demand(name, int, above=0)
        for name in ("listen", "prefetch", "tracing"):
            if not isinstance(getattr(self, name), bool):
                raise ImproperlyConfigured(
                    f"JOBQUEUE[{name.upper()!r}] is {getattr(self, name)!r}: give True or False."
                )
        for name in ("tenants", "ledger", "scheduler"):
            if getattr(self, name) is not None:
                self._demand(name, str, above="")

        for name in ("weights", "caps"):
            self._demand_numbers(name)
        self._demand_package()

    def _demand_package(self) -> None:
        if self.tracing and find_spec("opentelemetry") is None:
            raise ImproperlyConfigured(
                "JOBQUEUE['TRACING'] needs the package opentelemetry-api: pip install 'jobqueue[opentelemetry]'."
            )

    def _demand_numbers(self, name: str) -> None:
        for tenant, number in getattr(self, name).items():
            if isinstance(number, bool) or not isinstance(number, int | float) or number <= 0:
                raise ImproperlyConfigured(
                    f"JOBQUEUE[{name.upper()!r}][{tenant!r}] is {number!r}: give a number greater than 0."
                )

    def _demand(self, name: str, kind: type, *, above: Any) -> None:
        value = getattr(self, name)
        if not isinstance(value, kind) or isinstance(value, bool) or value <= above:
            raise ImproperlyConfigured(
                f"JOBQUEUE[{name.upper()!r}] is {value!r}: give a {kind.__name__} greater than {above!r}."
            )


@cache
def conf() -> JobQueueSettings:
    """Return the settings in force.

    Raises:
        ImproperlyConfigured: A key is unknown or its value unusable; the message names the key.
    """
    given = getattr(settings, "JOBQUEUE", {})
    known = {each.name.upper(): each.name for each in fields(JobQueueSettings)}
    for key in given:
        if key not in known:
            raise ImproperlyConfigured(f"JOBQUEUE[{key!r}] is unknown; the keys are {', '.join(known)}.")
    return JobQueueSettings(**{known[key]: value for key, value in given.items()})


@receiver(setting_changed, dispatch_uid="jobqueue.conf")
def _forget(*, setting: str, **kwargs: object) -> None:
    if setting == "JOBQUEUE":
        conf.cache_clear()


def imported(setting: str, path: str) -> Any:
    """Return what a setting names by its dotted path.

    Raises:
        ImproperlyConfigured: It can't be imported.
    """
    try:
        return import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(f"JOBQUEUE[{setting!r}] names {path!r}, which can't be imported: {error}") from error
