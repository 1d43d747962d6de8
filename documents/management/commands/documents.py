"""``manage.py documents``: preparing the storage, comparing it with the rows, removing what no row names; keeping."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.template.defaultfilters import filesizeformat

from dms_project.tenancy import PUBLIC, fleet, use
from dms_project.tenancy.management.progress import Progress
from dms_project.tenancy.names import listed
from documents.conf import conf
from documents.management.intake import IntakeVerbs, add_intake_verbs
from documents.management.keeping import KeepingVerbs, add_keeping_verbs
from documents.management.reports import JsonReport, TextReport
from documents.management.terms import duration, errors_in_a_line
from documents.models import DocumentVersion
from documents.orphans import Collected, collect, tenants_with_objects
from documents.storage import StoredObject, Unfinished, object_store
from documents.trial import try_out
from documents.verification import Verified, verify

SOMETHING_WRONG, COULD_NOT_LOOK = 1, 2


class Command(IntakeVerbs, KeepingVerbs):
    """Each subcommand is one function of the app."""

    help = "Prepares and compares the storage, empties the trash, exports and imports, says what a tenant takes in."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the subcommands."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        prepare = verbs.add_parser(
            "prepare-storage", help="make the storage ready, once, and prove that it gives back what it was given"
        )
        prepare.add_argument(
            "--accept-empty", action="store_true", help="even if there are documents whose originals it can't hold"
        )
        verify = verbs.add_parser(
            "verify",
            help="compare every row with its object, and every object with its row",
            description="Compares every row with its objects, which it reads whole, and every object with its rows. "
            "Exit status: 0 all is well, 1 something is wrong, 2 it could not look.",
        )
        verify.add_argument("--json", action="store_true", dest="as_json", help="for programs")
        collect = verbs.add_parser("collect-orphans", help="remove objects that no row refers to")
        collect.add_argument(
            "--older-than",
            type=duration,
            metavar="AGE",
            help="such as 24h, 30m or 0 (default: DMS_ORPHAN_GRACE); an upload that takes longer is answered 503",
        )
        collect.add_argument("--dry-run", action="store_true", help="only tell what would be removed")
        for verb in (verify, collect):
            verb.add_argument("--tenant", metavar="T", help="this one alone")
        add_keeping_verbs(verbs)
        add_intake_verbs(verbs)

    def handle(self, *args: Any, verb: str, **options: Any) -> None:
        """Run the verb."""
        getattr(self, "_" + verb.replace("-", "_"))(**options)

    def _prepare_storage(self, accept_empty: bool, verbosity: int, **options: Any) -> None:
        store = object_store()
        with errors_in_a_line(status=1):
            if not store.is_prepared():
                if not accept_empty and store.is_empty() and (tenant := _tenant_with_documents()):
                    raise CommandError(
                        f"{tenant} has documents, but the storage is empty: is its volume mounted? "
                        "If the originals are lost and you mean to start anew, say --accept-empty."
                    )
                store.prepare()
            try_out(store)
        if verbosity:
            self.stdout.write("The storage is ready: what was put in came back bit by bit.")

    def _verify(self, tenant: str | None, as_json: bool, **options: Any) -> None:
        report = (JsonReport if as_json else TextReport)(self.stdout)
        verified, complete = Verified(), False
        progress = Progress(self.stderr)
        try:
            with errors_in_a_line(status=COULD_NOT_LOOK):
                names = _chosen(tenant)
                if progress.is_seen:
                    progress.total = sum(map(_documents_of, names))
                for name in names:
                    for problem in verify(name, verified, progress.step):
                        progress.clear()
                        report.add(problem)
                complete = True
        finally:
            progress.clear()
            report.end(verified, complete=complete)
        if report.problems:
            raise SystemExit(SOMETHING_WRONG)

    def _collect_orphans(self, tenant: str | None, older_than: timedelta | None, dry_run: bool, **options: Any) -> None:
        age = conf.orphan_grace if older_than is None else older_than
        total = Collected()
        with errors_in_a_line(status=1):
            for name in _chosen(tenant):
                done = collect(name, age, dry_run=dry_run, found=self._tell)
                total += done
                if done.objects or done.unfinished:
                    self.stdout.write(f"{name}: {_counted(done, dry_run)}")
        spared = f"; left, since they may belong to uploads under way: {total.spared}" if total.spared else ""
        self.stdout.write(f"in all: {_counted(total, dry_run)}{spared}")

    def _tell(self, orphan: StoredObject | Unfinished) -> None:
        self.stdout.write(f"{'orphan' if isinstance(orphan, StoredObject) else 'unfinished':<10}  {orphan.key}")


def _counted(collected: Collected, dry_run: bool) -> str:
    size = filesizeformat(collected.bytes).replace("\xa0", " ")
    what = "to be removed" if dry_run else "removed"
    return f"orphans {what}: {collected.objects} ({size}), unfinished puts: {collected.unfinished}"


def _chosen(tenant: str | None) -> list[str]:
    """Return the names to look under: of tenants, and of those whose objects are left."""
    names = tenants_with_objects()
    if tenant is None:
        return names
    if tenant not in names:
        raise CommandError(f"There is no tenant {tenant}, and no object of one; there are {listed(names)}.")
    return [tenant]


def _documents_of(tenant: str) -> int:
    if not fleet.exists(tenant):
        return 0
    with use(tenant):
        return DocumentVersion.objects.count()


def _tenant_with_documents() -> str | None:
    return next((name for name in fleet.names() if name != PUBLIC and _documents_of(name)), None)
