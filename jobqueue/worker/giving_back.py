"""Giving claims back to the queue, tenant by tenant: what is locked or in trouble in one keeps no other from it."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from jobqueue.queue import Queue
from jobqueue.tenant_source import TenantSource
from jobqueue.worker import events
from jobqueue.worker.connection_hygiene import drop_connection
from jobqueue.worker.executor import Claim
from jobqueue.worker.own_session import OwnSession, is_of_one_tenant
from jobqueue.worker.recording import note_lost
from jobqueue.worker.weather import WEATHER


def release(
    held: Sequence[Claim],
    queue: Queue,
    tenants: TenantSource,
    session: OwnSession,
    settled: Callable[[str, Sequence[Claim]], None],
    *,
    started: bool,
) -> list[Claim]:
    """Give claims back, uncounted.

    Args:
        held: What to give back.
        queue: Where the jobs are.
        tenants: Whose they are.
        session: The connection of the calling thread.
        settled: Told of a tenant's claims that are no longer held, whether given back or lost.
        started: False: no handler has seen them.

    Returns:
        Those that are still held, since their rows or tables are locked by others.
    """
    by_tenant: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in held:
        by_tenant[claim.tenant].append(claim)
    locked: list[Claim] = []
    for tenant, given in by_tenant.items():
        try:
            session.prepare()
            with tenants.use(tenant), session.transaction():
                released = {id(job) for job in queue.release((c.job for c in given), started=started)}
                others = [claim for claim in given if id(claim.job) not in released]
                still = {id(job) for job in queue.locked_by_others(claim.job for claim in others)}
                note_lost(queue, [claim for claim in others if id(claim.job) not in still])
        except WEATHER as error:
            if not is_of_one_tenant(error):
                raise
            events.tenant_in_trouble(tenant, error)
            locked += given
            continue
        except Exception as error:  # noqa: BLE001 - one tenant in trouble must not keep the others' jobs
            events.tenant_in_trouble(tenant, error)
            drop_connection(queue.using)
            still = set()
        else:
            if not started:
                events.left_to_others(tenant, len(released))
            for claim in given if started else ():
                if id(claim.job) in released:
                    events.given_back(claim)
        locked += [claim for claim in given if id(claim.job) in still]
        settled(tenant, [claim for claim in given if id(claim.job) not in still])
    return locked
