"""Our queue with many tenants, driven by its public calls."""

import random
import time
from typing import Any

from scripts.bench.ours import NAP, NOOP, Ours, _set_up

#: A job's number is this times its tenant's, and its own.
PER_TENANT = 1_000_000

# What a worker sees, and a migrate with nothing to do, as the first tenant has it: a hundredth of what a whole tenant
# takes, so that thousands are made in seconds.
_MAKE_LIKE_FIRST = """
DO $$ DECLARE tenant text; BEGIN FOR n IN {first}..{last} LOOP
    tenant := 't' || n;
    INSERT INTO public.tenants (schema_name) VALUES (tenant);
    EXECUTE format('CREATE SCHEMA %1$I', tenant);
    EXECUTE format('CREATE TABLE %1$I.processing_jobs (LIKE t0.processing_jobs INCLUDING ALL)', tenant);
    EXECUTE format('CREATE TABLE %1$I.django_migrations AS TABLE t0.django_migrations', tenant);
    EXECUTE format('CREATE TABLE %1$I.paused_queues (LIKE t0.paused_queues INCLUDING ALL)', tenant);
    EXECUTE format('SET LOCAL search_path = %1$I', tenant);
    {triggers}
END LOOP; END $$
"""
_TENANTS_PER_STATEMENT = 50  # each table takes locks, whose number is bounded


class Fleet(Ours):
    """The project ``scripts.bench.tenants``."""

    name = "fleet"
    variables = {"DJANGO_SETTINGS_MODULE": "scripts.bench.tenants.settings"}

    def make(self, tenants: int) -> None:
        """Migrate, and make so many tenants: t0, t1, and so on."""
        _set_up()
        from importlib import import_module

        from django.core.management import call_command
        from django.db import connection

        from dms_project.tenancy.schemas import create_tenant

        call_command("migrate", verbosity=0)
        create_tenant("t0", "t0.localhost")
        triggers = import_module("jobqueue.tenants.migrations.0001_wakeups").TRIGGERS
        with connection.cursor() as cursor:
            for first in range(1, tenants, _TENANTS_PER_STATEMENT):
                last = min(first + _TENANTS_PER_STATEMENT, tenants) - 1
                cursor.execute(_MAKE_LIKE_FIRST.format(first=first, last=last, triggers=triggers))

    def migrate_nothing(self) -> float:
        """Migrate what is migrated already; returns the seconds, without those that Django needs to start."""
        _set_up()
        from django.core.management import call_command

        began = time.monotonic()
        call_command("migrate", verbosity=0)
        return time.monotonic() - began

    def spread(self, counts: dict[str, int], seconds: dict[str, float] | None = None) -> None:
        """Enqueue so many jobs in each tenant: no-ops, or naps where ``seconds`` has the tenant."""
        _set_up()
        from dms_project.tenancy import use
        from jobqueue.queue import JobSpec, Queue

        naps = seconds or {}
        for tenant, jobs in counts.items():
            number = int(tenant[1:]) * PER_TENANT
            extra = {"seconds": naps[tenant]} if tenant in naps else {}
            with use(tenant):
                for first in range(0, jobs, 10_000):
                    Queue().enqueue_many(
                        JobSpec(NAP if extra else NOOP, {"number": number + n, **extra})
                        for n in range(first, min(first + 10_000, jobs))
                    )

    def into_idle(self, tenants: int, jobs: int, pause_seconds: float) -> list[tuple[int, int]]:
        """Enqueue at a steady pace, each job in another tenant; returns numbers and when each commit had returned."""
        _set_up()
        from dms_project.tenancy import use
        from jobqueue.queue import Queue

        queue = Queue()
        chosen: list[Any] = random.Random(1).sample(range(1, tenants), min(jobs, tenants - 1))  # noqa: S311 - a choice
        with use("t0"):
            queue.enqueue(NOOP, {"number": 0})  # connection and caches
        enqueued = []
        at = time.monotonic() + 10 * pause_seconds
        for tenant in chosen:
            time.sleep(max(0.0, at - time.monotonic()))
            with use(f"t{tenant}"):
                queue.enqueue(NOOP, {"number": tenant * PER_TENANT})
            enqueued.append((tenant * PER_TENANT, time.monotonic_ns()))
            at += pause_seconds
        return enqueued
