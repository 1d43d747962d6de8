"""Wake the workers after a commit, by NOTIFY.

A hint and no more: what makes sure that a job runs is that workers also look by themselves. It is sent outside of the
transaction that enqueues, since a notifying commit takes a lock that all of a cluster's commits share.
"""

import time

from django.db import connections, transaction

from jobqueue.tenant_source import current_tenant

CHANNEL = "jobqueue"
#: Within so long after a wake-up no second one is sent: whoever was woken looks again when this has passed.
QUIET_SECONDS = 0.01

# NOTIFY makes its transaction one that writes, and a lost hint costs nothing: its commit needn't wait for the disk.
_NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, %s)"

# When the last one was sent from this process, by database alias and tenant.
_sent_at: dict[tuple[str, str], float] = {}


def wake_after_commit(using: str) -> None:
    """Wake the workers once the caller's transaction has committed; at once if there is none.

    Trouble with the hint is logged and reaches nobody. Where Django doesn't manage the transaction (autocommit was
    switched off by hand), nothing is sent.
    """
    connection = connections[using]
    if connection.in_atomic_block or connection.get_autocommit():
        tenant = current_tenant()

        def wake() -> None:  # no partial: Django logs the name of a hook that fails
            _wake(using, tenant)

        transaction.on_commit(wake, using=using, robust=True)


def _wake(using: str, tenant: str) -> None:
    now = time.monotonic()
    if now - _sent_at.get((using, tenant), float("-inf")) < QUIET_SECONDS:
        return
    _sent_at[using, tenant] = now
    notify(using, tenant)


def notify(using: str, payload: str) -> None:
    """Send the payload to every listening worker: a tenant's name, or empty to make them look everywhere."""
    with connections[using].cursor() as cursor:
        cursor.execute(_NOTIFY, [CHANNEL, payload])
