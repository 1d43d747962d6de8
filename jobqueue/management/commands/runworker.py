"""``manage.py runworker``: serve jobs until told to stop."""

import atexit
import gc
import os
import signal
import socket
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.checks import Tags
from django.core.checks.registry import registry
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from jobqueue import tracing
from jobqueue.conf import conf
from jobqueue.handlers import registered
from jobqueue.models import WORKER_NAME_MAX_LENGTH
from jobqueue.queue import Queue
from jobqueue.tenant_source import TenantSource, tenant_source
from jobqueue.worker import events
from jobqueue.worker.first_process import go_on_in_a_child_if_first
from jobqueue.worker.health_file import HealthFile
from jobqueue.worker.isolation import NoForkServer
from jobqueue.worker.processes import CHILD_NUMBER, PARENT, WorkerProcesses
from jobqueue.worker.programs import end_programs
from jobqueue.worker.recycling import RECYCLED, memory_bytes
from jobqueue.worker.service import Service
from jobqueue.worker.worker import Worker

_MOST = 1_000  # threads of a process, and processes: more is a slip of the finger


def _number(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST:
        raise ValueError
    return int(text)


_number.__name__ = f"number from 1 to {_MOST}"  # argparse puts it into its message


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError
    return int(text)


_positive.__name__ = "number greater than 0"


class Command(BaseCommand):
    """Translates arguments into a worker; everything else is ``jobqueue.worker``."""

    help = "Serve jobs: claim what is due, run its handler, record how it ended. SIGTERM stops it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what contract names."""
        parser.add_argument("--queue", action="append", metavar="Q", help="serve this queue only (repeatable)")
        parser.add_argument("--type", action="append", metavar="T", help="serve this job type only (repeatable)")
        parser.add_argument("--tenant", action="append", metavar="T", help="serve this tenant only (repeatable)")
        parser.add_argument(
            "--concurrency", type=_number, default=2, metavar="N", help="threads per process, default 2"
        )
        parser.add_argument("--processes", type=_number, default=1, metavar="N", help="worker processes, default 1")
        parser.add_argument("--name", help="stands in locked_by and in the logs; default: host name and process id")
        parser.add_argument("--drain", action="store_true", help="work off what is due, then exit")
        parser.add_argument(
            "--max-jobs",
            type=_positive,
            metavar="N",
            help=f"a process that has run so many ends with status {RECYCLED} and is replaced if there are --processes",
        )
        parser.add_argument(
            "--max-memory",
            type=_positive,
            metavar="MB",
            help="the same for one that has more in memory (MB: 2**20 bytes)",
        )

        parser.add_argument(
            "--health-file",
            type=Path,
            metavar="PATH",
            help="touch this file every 5 s, for a probe that looks at its age",
        )

    def get_check_kwargs(self, options: dict[str, Any]) -> dict[Any, Any]:
        """Run every check that has a tag, but not those of URLs: they load all views, and what these import."""
        return {"tags": registry.tags_available() - {Tags.urls}}

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until stopped; the process ends with the worker's status."""
        go_on_in_a_child_if_first()
        atexit.register(_ignore_signals)
        try:
            tenants = tenant_source()
            service = _service(options, tenants)
        except (ImproperlyConfigured, ValueError) as error:
            raise CommandError(str(error)) from error
        child = os.environ.get(CHILD_NUMBER)
        if options["processes"] > 1 and child is None:
            raise SystemExit(WorkerProcesses(options["processes"]).run())
        max_memory_bytes = _max_memory_bytes(options)
        worker = Worker(
            service,
            Queue(),
            tenants,
            parent=int(os.environ[PARENT]) if child else None,
            max_memory_bytes=max_memory_bytes,
            health_file=HealthFile(options["health_file"]) if options["health_file"] else None,
        )
        gc.freeze()  # what has been loaded stays: the collector needn't look through it again and again
        try:
            status = worker.run()
        except NoForkServer as error:
            raise CommandError(f"A handler asks for isolation='process', but {error}") from error
        events.stopped(service)
        if worker.left_running:
            end_programs()
            tracing.flush()
            self.stdout.flush()
            os._exit(status)  # handlers still run; their jobs have been given back
        if status:
            raise SystemExit(status)


def _ignore_signals() -> None:
    """Let no signal that comes while Python ends look like a death: Python takes its own handlers away by then."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _max_memory_bytes(options: dict[str, Any]) -> int | None:
    limit: int | None = options["max_memory"] and options["max_memory"] * 2**20
    if limit and limit <= (used := memory_bytes()):  # else it would be replaced again and again
        raise CommandError(
            f"--max-memory {options['max_memory']} is too little: a process begins with {used >> 20} MB."
        )
    return limit


def _service(options: dict[str, Any], tenants: TenantSource) -> Service:
    """Raises ValueError for an argument that names nothing."""
    known = sorted(registered())
    wanted = options["type"] or known
    if unknown := set(wanted) - set(known):
        raise ValueError(
            f"No handler for job type {', '.join(sorted(unknown))}; this project has {', '.join(known) or 'none'}."
        )
    if not known:
        raise ValueError("No app has a handler. Register one with @job_handler in an app's jobs.py.")
    if options["tenant"] and conf().tenants is None:
        raise ValueError("--tenant needs JOBQUEUE['TENANTS']; this project has a single schema.")
    if options["tenant"] and (missing := set(options["tenant"]) - set(tenants.names())):
        raise ValueError(f"There is no tenant {', '.join(sorted(missing))}.")
    name = options["name"] or f"{socket.gethostname()}:{os.getpid()}"
    if child := os.environ.get(CHILD_NUMBER):
        name = f"{options['name']}-{child}" if options["name"] else name
    if not 1 <= len(name) <= WORKER_NAME_MAX_LENGTH:
        raise ValueError(f"--name must have 1 to {WORKER_NAME_MAX_LENGTH} characters.")
    return Service(
        name=name,
        concurrency=options["concurrency"],
        job_types=wanted,
        queue_names=options["queue"],
        only_tenants=options["tenant"],
        drain=options["drain"],
        max_jobs=options["max_jobs"],
    )
