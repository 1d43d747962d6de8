"""Wake the workers after a commit, by NOTIFY.

A hint and no more: what makes sure that a job runs is that workers also look by themselves. It is sent outside of the
transaction that enqueues, since a notifying commit takes a lock that all of a cluster's commits share.
"""

import time
from collections.abc import Callable

from django.db import connections, transaction

from jobqueue.tenant_source import current_tenant

CHANNEL = "jobqueue"
#: Within so long after a wake-up no second one is sent: whoever was woken looks again when this has passed.
QUIET_SECONDS = 0.01
_CANCELLED = "\ncancelled "

# NOTIFY makes its transaction one that writes, and a lost hint costs nothing: its commit needn't wait for the disk.
_NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, %s)"

# When the last one was sent from this process, by database alias and tenant.
_sent_at: dict[tuple[str, str], float] = {}


def wake_after_commit(using: str) -> None:
    """Wake the workers once the caller's transaction has committed; at once if there is none.

    Trouble with the hint is logged and reaches nobody. Where Django doesn't manage the transaction (autocommit was
    switched off by hand), nothing is sent.
    """
    tenant = current_tenant()

    def wake() -> None:  # no partial: Django logs the name of a hook that fails
        _wake(using, tenant)

    _after_commit(using, wake)


def _after_commit(using: str, hook: Callable[[], None]) -> None:
    connection = connections[using]
    if connection.in_atomic_block or connection.get_autocommit():
        transaction.on_commit(hook, using=using, robust=True)


def _wake(using: str, tenant: str) -> None:
    now = time.monotonic()
    if now - _sent_at.get((using, tenant), float("-inf")) < QUIET_SECONDS:
        return
    _sent_at[using, tenant] = now
    notify(using, tenant)


def tell_tenants_changed_after_commit(using: str) -> None:
    """Have workers read who is to be served once the caller's transaction has committed."""

    def tell() -> None:
        notify(using, "")

    _after_commit(using, tell)


def tell_cancelled_after_commit(using: str, job_id: int) -> None:
    """Have whoever runs the job look at its claim once the caller's transaction has committed."""
    payload = f"{_CANCELLED}{job_id} {current_tenant()}"

    def tell() -> None:
        notify(using, payload)

    _after_commit(using, tell)


def cancelled_job(payload: str) -> tuple[str, int] | None:
    """Return tenant and id of the job that a payload tells of as cancelled; None if it tells something else."""
    if not payload.startswith(_CANCELLED):
        return None
    job_id, _, tenant = payload.removeprefix(_CANCELLED).partition(" ")
    return (tenant, int(job_id)) if job_id.isdecimal() else None


def notify(using: str, payload: str) -> None:
    """Send the payload to every listening worker: a tenant's name, or empty to make them look everywhere.

    One that begins with a line break, as no tenant's name does, means something else.
    """
    with connections[using].cursor() as cursor:
        cursor.execute(_NOTIFY, [CHANNEL, payload])
