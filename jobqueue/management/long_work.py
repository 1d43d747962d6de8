"""The verbs of ``manage.py jobs`` that may take long: removing what is old, and requeueing slowly."""

import json
import sys
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from jobqueue.control.requeueing import Requeued, requeue_slowly
from jobqueue.control.retention import prune, prune_flows
from jobqueue.management.output import ProgressBar, counted
from jobqueue.models import ProcessingJob
from jobqueue.rows.dead_letters import of_cause
from jobqueue.states import FINAL
from jobqueue.tenant_source import TenantSource


class LongWork(BaseCommand):
    """Each goes through tenants one by one, with a bar for who looks."""

    def prune(self, tenants: TenantSource, names: list[str], options: dict[str, Any]) -> None:
        """Remove jobs that ended long ago, tenant by tenant, and say how many."""
        ages: dict[str, timedelta] = {name.value: options[name] for name in FINAL if options[name] is not None}
        if not ages:
            raise CommandError("Say how long: --succeeded AGE, --failed AGE, or both, such as 30d.")
        removed: dict[str, int] = {}
        bar = ProgressBar(sys.stderr, len(names))
        for number, name in enumerate(names):
            jobs = 0
            with tenants.use(name):
                for batch in prune(ProcessingJob.objects.db, ages, dry_run=options["dry_run"]):
                    jobs += batch
                    bar.show(number, f"tenants; {name}: {jobs:,} jobs")
                if not options["dry_run"]:
                    sum(prune_flows(ProcessingJob.objects.db, max(ages.values())))
            removed[name] = jobs
        bar.end()
        if options["json"]:
            rows = [({"tenant": name} if name else {}) | {"removed": jobs} for name, jobs in removed.items()]
            self.stdout.write(json.dumps(rows))
            return
        what = "would be removed" if options["dry_run"] else "removed"
        for name, jobs in removed.items():
            if jobs and name:
                self.stdout.write(f"{name}: {counted(jobs)} {what}")
        self.stdout.write(f"in all: {counted(sum(removed.values()))} {what}")

    def requeue_cause(self, tenants: TenantSource, names: list[str], options: dict[str, Any]) -> None:
        """Requeue slowly all of a cause, tenant by tenant, and end with status 1 if it had to stop."""
        done = []
        for name in names:
            with tenants.use(name):
                outcome = self._requeue_in_tenant(options)
            done.append(({"tenant": name} if name else {}) | asdict(outcome))
            if outcome.failed or outcome.stuck:
                break
        if not any(row["requeued"] + row["left_alone"] for row in done):
            raise CommandError(f"No dead letter died of {options['cause']!r}. See 'manage.py jobs causes'.")
        sums = {key: sum(row[key] for row in done) for key in ("requeued", "succeeded")}
        if options["json"]:
            self.stdout.write(json.dumps(done))
        else:
            self.stdout.write(f"requeued: {sums['requeued']:,}, of which succeeded: {sums['succeeded']:,}")
        where = f" --tenant {done[-1]['tenant']}" if "tenant" in done[-1] else ""
        if failed := done[-1]["failed"]:
            raise CommandError(
                f"Stopped, since job {failed[0]} failed again; the others are still dead letters. "
                f"See 'manage.py jobs show {failed[0]}{where}'."
            )
        if done[-1]["stuck"]:
            raise CommandError(
                f"Stopped, since no worker took what was requeued for {options['patience']} s. "
                f"See 'manage.py jobs list --status pending{where}' and 'jobs why'."
            )

    def _requeue_in_tenant(self, options: dict[str, Any]) -> Requeued:
        jobs = ProcessingJob.objects.all()
        if options["type"]:
            jobs = jobs.filter(job_type=options["type"])
        ids = list(of_cause(jobs, options["cause"]).order_by("pk").values_list("pk", flat=True))
        outcome, bar = Requeued(), ProgressBar(sys.stderr, len(ids))
        for outcome in requeue_slowly(jobs.db, ids, patience=timedelta(seconds=options["patience"])):
            bar.show(outcome.requeued, f"requeued, {outcome.succeeded:,} succeeded")
        bar.end()
        return outcome
