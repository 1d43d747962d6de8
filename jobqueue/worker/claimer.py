"""One worker's claims: where they go on in each tenant, and what became of those whose COMMIT was not answered."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection
from functools import partial
from uuid import UUID, uuid4

from jobqueue.rows import claims
from jobqueue.rows.claims import Claimed, Wanted
from jobqueue.rows.lanes import Marks
from jobqueue.tenant_source import TenantSource
from jobqueue.worker.holdings import Holdings
from jobqueue.worker.keeper import Keeper
from jobqueue.worker.lonely import Lonely
from jobqueue.worker.own_session import OwnSession, is_of_one_tenant
from jobqueue.worker.service import Service
from jobqueue.worker.weather import WEATHER

#: What a visit brings that was to claim nothing.
NOTHING = Claimed([], more=False)


class Claimer:
    """Belongs to the thread that claims.

    Args:
        service: Which jobs are wanted, and by whom.
        tenants: Whose jobs are served.
        session: The connection; to be prepared before each call.
        keeper: Whose sign of life stands on the rows.
        lonely: Says whether a job may be claimed that must run alone.
    """

    def __init__(
        self, service: Service, tenants: TenantSource, session: OwnSession, keeper: Keeper, lonely: Lonely
    ) -> None:
        self._service = service
        self._tenants = tenants
        self._session = session
        self._keeper = keeper
        self._lonely = lonely
        self._marks: defaultdict[str, Marks] = defaultdict(Marks)
        # Claims whose COMMIT was not answered, by token, and the server process that has it: nobody knows whether they
        # hold.
        self._uncertain: dict[str, list[tuple[UUID, int]]] = {}

    @property
    def uncertain(self) -> Collection[str]:
        """The tenants in which claims may hold that nobody knows of."""
        return list(self._uncertain)

    def serve(self, names: Collection[str]) -> None:
        """Forget all other tenants."""
        for known in (self._marks, self._uncertain):
            for name in [name for name in known if name not in names]:
                del known[name]

    def forget_marks(self) -> None:
        """Look from the front everywhere."""
        self._marks.clear()

    def visit(
        self,
        tenant: str,
        limit: int,
        holdings: Holdings,
        *,
        woken: bool = False,
        settle: Callable[[str], None] = lambda tenant: None,
    ) -> Claimed:
        """Undo what nobody knows of, and claim up to ``limit`` jobs, in one transaction; 0: claim nothing.

        Args:
            tenant: Where.
            limit: How many jobs at most.
            holdings: What is held already.
            woken: Whether it is known that something has just come.
            settle: Called in the transaction if nothing more is due.

        Raises:
            Exception: Whatever is wrong with the tenant or the database; nothing is claimed then, as far as is known.
        """
        token = uuid4()
        try:
            with self._tenants.use(tenant), self._session.transaction():
                uncertain = self._undo_uncertain(tenant)
                claimed = self._claim(tenant, limit, holdings, token, woken) if limit else NOTHING
                if limit and not claimed.more:
                    settle(tenant)
        except WEATHER as error:
            self._marks.pop(tenant, None)
            if limit and not is_of_one_tenant(error):
                self._uncertain.setdefault(tenant, []).append((token, self._session.server_process))
            raise
        except Exception:
            self._marks.pop(tenant, None)
            raise
        if uncertain:
            self._uncertain[tenant] = uncertain
        else:
            self._uncertain.pop(tenant, None)
        return claimed

    def _claim(self, tenant: str, limit: int, holdings: Holdings, token: UUID, woken: bool) -> Claimed:
        service, marks = self._service, self._marks[tenant]
        alone = self._lonely.choice(holdings)
        claim = partial(
            claims.claim,
            self._session.using,
            limit=limit,
            worker_id=service.name,
            holder_key=self._keeper.holder_key,
            marks=marks,
            token=token,
        )
        if alone or not (woken and marks.guess()):
            marks.begin(time.monotonic())
        if alone:
            claimed = claim(Wanted(service.job_types, service.queue_names, alone=True))
            if claimed.jobs:
                return claimed
            self._lonely.needs_no_room()
            alone = None
        wanted = Wanted(service.job_types, service.queue_names, alone)
        if alone is False and self._lonely.asks(tenant) and claims.waits_alone(self._session.using, wanted):
            self._lonely.waits(tenant)
            return NOTHING
        claimed = claim(wanted)
        if marks.looked_behind and not claimed.more:
            # A tenant is known to have nothing more when its lanes have been read from the front.
            marks.forget()
            if claimed.jobs:
                return Claimed(claimed.jobs, more=True)
            marks.begin(time.monotonic())
            claimed = claim(wanted)
        if not claimed.jobs:
            marks.found_nothing()
        return claimed

    def _undo_uncertain(self, tenant: str) -> list[tuple[UUID, int]]:
        """Undo the claims whose COMMIT has been decided by now, and return the others."""
        return [
            (token, server_process)
            for token, server_process in self._uncertain.get(tenant, ())
            if not claims.undo(self._session.using, token, server_process)
        ]
