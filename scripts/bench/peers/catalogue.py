"""The peers that take part."""

from scripts.bench.contender import Contender
from scripts.bench.peers.django_ox import DjangoOx
from scripts.bench.peers.django_q2 import DjangoQ2
from scripts.bench.peers.django_tasks_db import DjangoTasksDb
from scripts.bench.peers.oban import Oban
from scripts.bench.peers.pgqueuer import PgQueuer
from scripts.bench.peers.procrastinate import Procrastinate
from scripts.bench.peers.steady_queue import SteadyQueue

PEERS: tuple[Contender, ...] = (
    PgQueuer(),
    Oban(),
    Procrastinate(),
    DjangoOx(),
    DjangoTasksDb(),
    SteadyQueue(),
    DjangoQ2(),
)
