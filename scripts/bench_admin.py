"""``make bench-admin``: how long the server takes for each page of the admin about jobs, beside its goal.

Makes a tenant with many jobs, as a year leaves them: most of them done, some waiting, some dead; and other tenants with
a thousand each. What is timed is all that the web server's process does for a request: the first of a process, which
compiles its templates and opens its connection, and warm ones. On the server that BENCH_DATABASE_URL names, or an
embedded one that lasts as long as the run.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.bench import machine
from scripts.bench.errors import NotMeasured
from scripts.bench.server import Database, running_server
from scripts.bench_search import url_of
from scripts.postgres import PostgresError
from scripts.postgres_home import HomeError

GOAL_MS = 300
REPETITIONS = 20
TENANT = "acme"
OF_OTHERS = 1_000
JOBS, FLEET = "/admin/jobqueue/processingjob/", "/admin/tenancy/tenant/"

# Of a hundred jobs 93 are done, 3 wait, 3 died and one was given up; 50 run.
_JOBS = """
INSERT INTO processing_jobs (job_type, queue_name, payload, priority, status, attempts, max_attempts, available_at,
    locked_at, locked_by, lock_token, idempotency_key, last_error, created_at, started_at, finished_at)
SELECT (ARRAY['documents.process', 'mail.send', 'report.make', 'tags.guess'])[1 + n %% 4],
    (ARRAY['default', 'default', 'mail', 'slow'])[1 + n %% 4], jsonb_build_object('document_id', n), 0, status,
    CASE WHEN status = 'pending' THEN 0 WHEN status = 'dead_letter' THEN 5 ELSE 1 END, 5,
    now() + (n - %(jobs)s + 5000) * interval '1 second',
    CASE WHEN status = 'processing' THEN now() END, CASE WHEN status = 'processing' THEN 'w1:1' END, NULL,
    CASE WHEN n %% 10 = 0 THEN 'key-' || n END,
    CASE WHEN status IN ('dead_letter', 'failed') THEN 'ValueError: cause ' || n %% 40 || E'\\n\\nTraceback ...'
        ELSE '' END,
    now() - (%(jobs)s - n) * interval '30 seconds', CASE WHEN status <> 'pending' THEN now() END,
    CASE WHEN status IN ('succeeded', 'failed') THEN now() END
FROM (
    SELECT n, CASE WHEN n > %(jobs)s - 50 THEN 'processing' WHEN n %% 100 < 93 THEN 'succeeded'
        WHEN n %% 100 < 96 THEN 'pending' WHEN n %% 100 < 99 THEN 'dead_letter' ELSE 'failed' END AS status
    FROM generate_series(1, %(jobs)s) AS n
) AS made
"""


def main() -> int:
    """Returns 0, or 1 if it could not measure."""
    options = _options()
    try:
        with running_server() as server:
            database = server.template("admin", lambda database: _fill(database, options))
            seconds = _measure(database)
    except (HomeError, NotMeasured, PostgresError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    _report(seconds, options)
    return 0


def _fill(database: Database, options: argparse.Namespace) -> None:
    os.environ |= database.environment | {
        "DATABASE_URL": url_of(database),
        "DJANGO_SETTINGS_MODULE": "dms_project.settings",
        "DJANGO_DEBUG": "true",
    }
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db import connection

    from dms_project.tenancy import use
    from dms_project.tenancy.schemas import create_tenant

    print(f"making {options.jobs:,} jobs and {options.tenants:,} tenants ...", file=sys.stderr, flush=True)
    call_command("migrate", verbosity=0)
    others = [f"tenant_{number:05}" for number in range(options.tenants)]
    for tenant in (TENANT, *others):
        create_tenant(tenant, domain=f"{tenant.replace('_', '-')}.localhost")
        with use(tenant), connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit = off")
            cursor.execute(_JOBS, {"jobs": options.jobs if tenant == TENANT else OF_OTHERS})
            cursor.execute("VACUUM ANALYZE processing_jobs")
    for schema in ("public", TENANT):
        with use(schema):
            User.objects.create_superuser("boss")
    connection.close()


def _measure(database: Database) -> dict[str, list[float]]:
    """Return the seconds that each request of a page took, the first one first."""
    from importlib import import_module

    from django.conf import settings
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client

    from dms_project.tenancy import use

    import_module(settings.ROOT_URLCONF)  # as the web server does before its first request
    clients = {}
    for schema, host in (("public", "localhost"), (TENANT, f"{TENANT}.localhost")):
        clients[schema] = Client(headers={"host": host})
        with use(schema):
            clients[schema].force_login(User.objects.get())
    connection.close()  # so that the first request opens one, as it does there
    seconds: dict[str, list[float]] = {}
    for name, schema, path in _pages():
        for _ in range(1 + REPETITIONS):
            start = time.perf_counter()
            answer = clients[schema].get(path)
            seconds.setdefault(name, []).append(time.perf_counter() - start)
            if answer.status_code != 200:
                raise NotMeasured(f"{path} answered {answer.status_code}.")
    connection.close()
    return seconds


def _pages() -> Iterator[tuple[str, str, str]]:
    from dms_project.tenancy import use
    from jobqueue.models import ProcessingJob

    with use(TENANT):
        dead = ProcessingJob.objects.filter(status="dead_letter").latest("pk").pk
    tenants_own: dict[str, str] = {
        "list": "",
        **{
            f"list, {status}": f"?status__exact={status}"
            for status in ("pending", "processing", "succeeded", "dead_letter", "failed")
        },
        "list, by type": "?job_type=mail.send",
        "list, by queue": "?queue_name=slow",
        "list, pending of a type": "?status__exact=pending&job_type=report.make",
        "list, by cause": "?job_type=mail.send&cause=ValueError: cause 17",
        "list, oldest first": "?o=1",
        "list, page 100": "?p=100",
        "search, an id": f"?q={dead}",
        "search, a key": "?q=key-1000",
        "search, words of an error": "?q=cause 17",
        "search, nothing found": "?q=nobody",
        "a dead letter": f"{dead}/change/",
        "causes": "causes/",
        "control room": "control/",
    }
    for name, path in tenants_own.items():
        yield name, TENANT, JOBS + path
    fleets: dict[str, str] = {
        "tenants": "",
        "all tenants: jobs": "jobs/",
        "all tenants: jobs, dead letters": "jobs/?status=dead_letter",
        "all tenants: jobs, by type": "jobs/?job_type=mail.send",
        "all tenants: jobs of one": f"jobs/?tenant={TENANT}",
        "all tenants: a dead letter": f"jobs/{TENANT}/{dead}/",
        "all tenants: search (5 s at most)": "jobs/?q=cause 17",
        "all tenants: causes (5 s at most)": "dead-letters/",
    }
    for name, path in fleets.items():
        yield name, "public", FLEET + path


def _report(seconds: dict[str, list[float]], options: argparse.Namespace) -> None:
    print(f"\n{options.jobs:,} jobs in one tenant, {options.tenants:,} more tenants with {OF_OTHERS:,} each")
    print(f"{'milliseconds':36} {'first':>8} {'median':>8} {'longest':>8}  wanted < {GOAL_MS}")
    figures = {}
    for name, (first, *warm) in seconds.items():
        figures[name] = {"first": first, "median": statistics.median(warm), "longest": max(warm)}
        cells = " ".join(f"{1000 * value:8.0f}" for value in figures[name].values())
        met = 1000 * max(first, figures[name]["median"]) < GOAL_MS
        verdict = "" if "at most" in name else "ok" if met else "missed"
        print(f"{name:36} {cells}  {verdict}")
    options.out.mkdir(parents=True, exist_ok=True)
    written = {"machine": machine.describe(), "jobs": options.jobs, "tenants": options.tenants, "seconds": figures}
    (options.out / "admin.json").write_text(json.dumps(written, indent=1) + "\n")
    print(f"admin.json is in {options.out}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-admin ARGS=...", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000, metavar="N", help="default %(default)s")
    parser.add_argument("--tenants", type=int, default=100, metavar="N", help="others; default %(default)s")
    parser.add_argument("--out", type=Path, default=Path("var/bench"), metavar="FOLDER", help="default %(default)s")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
