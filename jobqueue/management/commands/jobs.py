"""``manage.py jobs``: what the admin does, for terminals and programs."""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.core.serializers.json import DjangoJSONEncoder
from django.forms.models import model_to_dict

from jobqueue.conf import conf
from jobqueue.control.evidence import reasons
from jobqueue.control.flows import flow_state
from jobqueue.control.timeline import timeline
from jobqueue.error_text import summary
from jobqueue.exceptions import FlowNotFound, InvalidJob, JobNotFound, NotDeadLettered
from jobqueue.handlers import registered
from jobqueue.management.long_work import LongWork
from jobqueue.management.output import age, table, text_of
from jobqueue.management.overview import OVERVIEWS
from jobqueue.management.switching import demand_schedules, switch
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.sign_of_life import count_signs
from jobqueue.states import JobStatus
from jobqueue.tenant_source import TenantSource, tenant_source

_LISTED = ("id", "job_type", "queue_name", "status", "attempts", "max_attempts", "available_at", "locked_by")


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise ValueError
    return int(text)


_limit.__name__ = "number from 1 to 100000"  # argparse puts it into its message


class Command(LongWork):
    """Each subcommand is one verb of ``jobqueue.queue``."""

    help = "List, show and count jobs; requeue or discard dead letters; cancel jobs; pause queues and schedules."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the subcommands; each takes --json and, in a project with tenants, --tenant."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        listing = verbs.add_parser("list", help="the newest jobs first")
        listing.add_argument("--status", choices=JobStatus.values)
        listing.add_argument("--queue", metavar="Q")
        listing.add_argument("--type", metavar="T")
        listing.add_argument("--limit", type=_limit, default=50, metavar="N", help="per tenant, default 50")
        for verb, text in (
            ("show", "everything about one job"),
            ("why", "why a job is not running"),
            ("flow", "the steps of a flow: which job does each, and what it waits for"),
        ):
            verbs.add_parser(verb, help=text).add_argument("ids", nargs=1, type=int, metavar="ID")
        requeue = verbs.add_parser("requeue", help="let dead letters run again: some by their ids, or all of a cause")
        requeue.add_argument("ids", nargs="*", type=int, metavar="ID")
        requeue.add_argument(
            "--cause", metavar="TEXT", help="as 'jobs causes' prints it; slowly, until one fails again"
        )
        requeue.add_argument("--type", metavar="T", help="with --cause: of this job type only")
        requeue.add_argument(
            "--patience",
            type=_limit,
            default=300,
            metavar="S",
            help="with --cause: wait so long for a worker, default 300 s",
        )
        for verb, text in (
            ("discard", "give dead letters up"),
            ("cancel", "end jobs that wait or run"),
        ):
            verbs.add_parser(verb, help=text).add_argument("ids", nargs="+", type=int, metavar="ID")
        for verb, text in (
            ("pause", "claim nothing from queues, or enqueue nothing for schedules"),
            ("resume", "serve paused queues again, or let schedules go on with their next time"),
        ):
            switching = verbs.add_parser(verb, help=text)
            switching.add_argument("queues", nargs="*", metavar="Q")
            switching.add_argument("--schedule", action="append", metavar="NAME", help="not queues (repeatable)")
        for verb, text in (
            ("stats", "how many jobs wait, run and are dead letters, and since when the oldest waits"),
            ("queues", "the same for each queue, and which are paused"),
            ("workers", "which worker runs what, and since when"),
            ("schedules", "what each schedule enqueues next and did last, and why one enqueues nothing"),
            ("flows", "the newest flows, and how far each is"),
            ("causes", "what dead letters died of"),
        ):
            verbs.add_parser(verb, help=text)
        prune = verbs.add_parser("prune", help="remove jobs that ended long ago, in small batches")
        prune.add_argument("--succeeded", type=age, metavar="AGE", help="those that succeeded longer ago: 30d, 12h, 0")
        prune.add_argument(
            "--failed", type=age, metavar="AGE", help="those that were cancelled or discarded longer ago"
        )
        prune.add_argument("--dry-run", action="store_true", help="only count them")
        for sub in verbs.choices.values():
            sub.add_argument("--tenant", metavar="T", help="whose jobs; verbs without ids mean every tenant without it")
            sub.add_argument("--json", action="store_true", help="for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the verb in the tenant."""
        try:
            tenants = tenant_source()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        names = _chosen(tenants, options["tenant"])
        if options["verb"] == "requeue" and (options["cause"] is not None) == bool(options["ids"]):
            raise CommandError("Say which: ids, or a --cause as 'manage.py jobs causes' prints it.")
        of_tenants: dict[str, Callable[[TenantSource, list[str], dict[str, Any]], None]] = {
            "list": self._list,
            "prune": self.prune,
            "pause": self._switch,
            "resume": self._switch,
            **dict.fromkeys(OVERVIEWS, self._overview),
        }
        if options["verb"] == "requeue" and not options["ids"]:
            of_tenants["requeue"] = self.requeue_cause
        if act := of_tenants.get(options["verb"]):
            act(tenants, names, options)
            return
        if len(names) > 1:
            raise CommandError("Ids are the tenant's own: say which one with --tenant.")
        with tenants.use(names[0]):
            if options["verb"] == "show":
                self._show(_job(options["ids"][0]), options["json"])
            elif options["verb"] == "flow":
                self._show_flow(options["ids"][0], options["json"])
            elif options["verb"] == "why":
                self._explain(_job(options["ids"][0]), options["json"])
            else:
                self._decide(options["verb"], options["ids"], options["json"])

    def _list(self, tenants: TenantSource, names: list[str], options: dict[str, Any]) -> None:
        rows = [row for name in names for row in self._rows(tenants, name, options)]
        self._show_rows(rows, options["json"])
        self._hint_at_missing_handlers(rows)

    def _show_rows(self, rows: list[dict[str, Any]], as_json: bool, nothing: str = "no jobs") -> None:
        if as_json:
            self.stdout.write(json.dumps(rows, cls=DjangoJSONEncoder, indent=2))
            return
        for line in table(rows, whole="cause" in rows[0]) if rows else [nothing]:
            self.stdout.write(line)

    def _rows(self, tenants: TenantSource, name: str, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
        wanted = {"status": options["status"], "queue_name": options["queue"], "job_type": options["type"]}
        with tenants.use(name):
            jobs = ProcessingJob.objects.filter(**{key: value for key, value in wanted.items() if value})
            for job in jobs.order_by("-id").values(*_LISTED, "blocked_due_at", "last_error")[: options["limit"]]:
                job["available_at"] = job.pop("blocked_due_at") or job["available_at"]
                job["last_error"] = summary(job["last_error"])
                yield ({"tenant": name} if name else {}) | job

    def _hint_at_missing_handlers(self, rows: list[dict[str, Any]]) -> None:
        """Say on stderr which of the pending jobs shown wait for another worker than this project's."""
        pending = {row["job_type"] for row in rows if row["status"] == JobStatus.PENDING}
        if missing := sorted(pending - set(registered())):
            self.stderr.write(f"Nothing here has a handler for {', '.join(missing)}: these wait for a worker that has.")

    def _overview(self, tenants: TenantSource, names: list[str], options: dict[str, Any]) -> None:
        read, nothing = OVERVIEWS[options["verb"]]
        rows = []
        for name in names:
            with tenants.use(name):
                rows += [({"tenant": name} if name else {}) | row for row in read(ProcessingJob.objects.db)]
        self._show_rows(rows, options["json"], nothing)
        if options["verb"] == "workers" and not options["json"]:
            self.stderr.write(f"workers that show a sign of life: {count_signs(ProcessingJob.objects.db)}")

    def _switch(self, tenants: TenantSource, names: list[str], options: dict[str, Any]) -> None:
        """Pause or resume queues or schedules, here or in every tenant; what is so already is no error."""
        if bool(options["queues"]) == bool(options["schedule"]):
            raise CommandError(f"Say what to {options['verb']}: queues, or schedules with --schedule.")
        if options["schedule"]:
            demand_schedules(tenants, names, options["schedule"])
        switched = []
        for name in names:
            with tenants.use(name):
                try:
                    done = switch(options)
                except InvalidJob as error:
                    raise CommandError(str(error)) from error
                switched.append(({"tenant": name} if name else {}) | {options["verb"]: done})
        if options["json"]:
            self.stdout.write(json.dumps(switched))
            return
        for row in switched:
            where = f"{row['tenant']}: " if "tenant" in row else ""
            self.stdout.write(f"{where}{options['verb']}: {', '.join(row[options['verb']]) or 'nothing to do'}")

    def _show(self, job: ProcessingJob, as_json: bool) -> None:
        facts = {"id": job.pk} | model_to_dict(job) | {"available_at": job.due_at}
        why, events = reasons(job), timeline(job)
        if as_json:
            more = {"why": [asdict(reason) for reason in why], "timeline": [asdict(event) for event in events]}
            self.stdout.write(json.dumps(facts | more, cls=DjangoJSONEncoder, indent=2))
            return
        for name, value in facts.items():
            if name != "history":
                self.stdout.write(f"{name}: {text_of(value)}")
        self.stdout.write("timeline:")
        for event in events:
            self.stdout.write(f"  {text_of(event.at):<19}  {event.text} {event.detail}".rstrip())
        self.stdout.write(f"why: {' '.join(reason.text for reason in why)}")

    def _explain(self, job: ProcessingJob, as_json: bool) -> None:
        why = reasons(job)
        if as_json:
            self.stdout.write(json.dumps([asdict(reason) for reason in why], cls=DjangoJSONEncoder, indent=2))
        for reason in () if as_json else why:
            self.stdout.write(reason.text)

    def _show_flow(self, flow_id: int, as_json: bool) -> None:
        try:
            flow = flow_state(ProcessingJob.objects.db, flow_id)
        except FlowNotFound as error:
            raise CommandError(f"{error} See 'manage.py jobs flows'.") from error
        if as_json:
            self.stdout.write(json.dumps(asdict(flow), cls=DjangoJSONEncoder, indent=2))
            return
        named = f" {flow.name}" if flow.name else ""
        self.stdout.write(f"flow {flow.id}{named}: {flow.state}, {flow.done} of {len(flow.steps)} steps done")
        rows: list[dict[str, Any]] = [
            asdict(step) | {"waits_for": ", ".join(map(str, step.waits_for))} for step in flow.steps
        ]
        for line in table(rows):
            self.stdout.write(line)

    def _decide(self, verb: str, ids: list[int], as_json: bool) -> None:
        """Do what can be done, report each id, and end with status 1 if one was refused."""
        act: dict[str, Callable[[int], object]] = {
            "requeue": Queue().requeue_dead_letter,
            "discard": Queue().discard,
            "cancel": _cancel,
        }
        done, refused = [], {}
        for job_id in ids:
            try:
                act[verb](job_id)
                done.append(job_id)
            except (NotDeadLettered, JobNotFound, CommandError) as error:
                refused[job_id] = str(error)
        if as_json:
            self.stdout.write(json.dumps({"done": done, "refused": refused}))
        elif done:
            self.stdout.write(f"{verb}: {', '.join(map(str, done))}")
        if refused:
            raise CommandError(" ".join(refused.values()))


def _job(job_id: int) -> ProcessingJob:
    try:
        return Queue().get(job_id)
    except JobNotFound as error:
        raise CommandError(f"{error} See 'manage.py jobs list'.") from error


def _cancel(job_id: int) -> None:
    queue = Queue()
    if not queue.cancel(job_id):
        raise CommandError(
            f"Job {job_id} is {queue.status(job_id)}, neither pending nor processing; nothing was changed."
        )


def _chosen(tenants: TenantSource, wanted: str | None) -> list[str]:
    names = list(getattr(tenants, "everybody", tenants.names)())
    if wanted is None:
        return names
    if conf().tenants is None:
        raise CommandError("--tenant needs JOBQUEUE['TENANTS']; this project has a single schema.")
    if wanted not in names:
        raise CommandError(f"There is no tenant {wanted}; there are {', '.join(names)}.")
    return [wanted]
