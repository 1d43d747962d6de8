"""Whom a worker with a ledger looks into, as far as it needs no database."""

import time
from collections.abc import Callable, Mapping, Sequence

from jobqueue.tenant_source import TenantSource, everybody
from jobqueue.worker.agenda import Agenda


class Source:
    """Acme and globex, until somebody is suspended."""

    def __init__(self) -> None:
        self.served = ["acme", "globex"]

    def names(self) -> Sequence[str]:
        return self.served

    def everybody(self) -> Sequence[str]:
        return ["acme", "globex"]

    use: Callable[..., object]


class LedgerOfAll:
    """Has both tenants as due."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []

    def look(self) -> Mapping[str, float]:
        now = time.monotonic()
        return {"acme": now, "globex": now}

    def settle(self, tenant: str) -> bool:
        return False

    def forget(self, tenant: str) -> None:
        self.forgotten.append(tenant)

    def sweep(self, names: Callable[[], Sequence[str]]) -> float:
        return 60.0


def test_whoever_is_suspended_is_looked_into_no_more_once_workers_are_told() -> None:
    source, ledger = Source(), LedgerOfAll()
    agenda = Agenda(source, None, ledger, hears=lambda: True)  # type: ignore[arg-type]  # it enters nobody
    agenda.refresh()
    assert set(agenda.due()) == {"acme", "globex"}

    source.served = ["globex"]
    agenda.wake("")
    agenda.everybody()
    assert set(agenda.due()) == {"globex"}
    assert not agenda.serves("acme")


def test_a_source_that_knows_of_nobody_else_serves_everybody() -> None:
    class Plain:
        names = staticmethod(lambda: ["acme"])

    plain: TenantSource = Plain()  # type: ignore[assignment]  # it enters nobody
    assert everybody(plain) == ["acme"]
    assert everybody(Source()) == ["acme", "globex"]  # type: ignore[arg-type]
