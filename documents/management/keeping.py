"""The verbs of ``manage.py documents`` that delete for good, export, import, and give roles."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import filesizeformat

from dms_project.tenancy import PUBLIC, fleet, use
from dms_project.tenancy.management.progress import Progress
from documents.conf import conf
from documents.management.terms import duration, errors_in_a_line, existing
from documents.models import Document
from documents.purge import purge_older_than
from documents.roles import Role, set_role
from documents.transfer.exporting import export
from documents.transfer.importing import ExportDamaged, import_export


def add_keeping_verbs(verbs: Any) -> None:
    """Declare the subcommands."""
    empty = verbs.add_parser("empty-trash", help="delete for good what has lain in the trash for long")
    empty.add_argument(
        "--older-than", type=duration, metavar="AGE", help="such as 30d, 12h or 0 (default: DMS_TRASH_RETENTION)"
    )
    empty.add_argument("--dry-run", action="store_true", help="only tell what would be deleted")
    empty.add_argument("--tenant", metavar="T", help="this one alone")
    role = verbs.add_parser("set-role", help="say what a user may do with a tenant's documents")
    role.add_argument("user", metavar="USER")
    role.add_argument("role", choices=Role.values)
    role.add_argument("--tenant", metavar="T", required=True)
    for verb, help_text in (
        ("export", "write a tenant's documents to a folder: originals as files, the rest as JSON"),
        ("import", "read an export into a tenant, once all of it was found to be whole"),
    ):
        parser = verbs.add_parser(verb, help=help_text)
        parser.add_argument("folder", type=Path, metavar="DIR")
        parser.add_argument("--tenant", metavar="T", required=True)


class KeepingVerbs(BaseCommand):
    """What the subcommands do."""

    def _empty_trash(self, tenant: str | None, older_than: timedelta | None, dry_run: bool, **options: Any) -> None:
        age = conf.trash_retention if older_than is None else older_than
        done = "to be deleted" if dry_run else "deleted"
        with errors_in_a_line(status=1):
            names = [existing(tenant)] if tenant else [name for name in fleet.names() if name != PUBLIC]
            total = 0
            for name in names:
                with use(name):
                    count = purge_older_than(age, dry_run=dry_run, found=self._tell_document)
                if count:
                    self.stdout.write(f"{name}: documents {done}: {count}")
                total += count
        self.stdout.write(f"in all: documents {done}: {total}")

    def _tell_document(self, document: Document) -> None:
        self.stdout.write(f"trashed     {document.pk}  {document.title}")

    def _set_role(self, user: str, role: str, tenant: str, **options: Any) -> None:
        with errors_in_a_line(status=1), use(existing(tenant)):
            found = User.objects.filter(username=user).first()
            if found is None:
                raise CommandError(f"{tenant} has no user {user}. Make one in its admin.")
            set_role(found, Role(role))
            is_admin = "" if not found.is_superuser else "; a superuser stays an admin, whatever the role"
        self.stdout.write(f"{user} of {tenant} is {role} now{is_admin}.")

    def _export(self, folder: Path, tenant: str, **options: Any) -> None:
        with errors_in_a_line(status=1), use(existing(tenant)):
            progress = Progress(self.stderr)
            progress.total = Document.objects.count()
            try:
                done = export(folder, progress.step)
            except OSError as error:
                raise CommandError(_said(error)) from error
            finally:
                progress.clear()
        size = filesizeformat(done.bytes).replace("\xa0", " ")
        self.stdout.write(f"{tenant}: documents exported to {folder}: {done.documents} ({size})")

    def _import(self, folder: Path, tenant: str, **options: Any) -> None:
        with errors_in_a_line(status=1), use(existing(tenant)):
            progress = Progress(self.stderr)
            try:
                done = import_export(folder, progress.step)
            except ExportDamaged as error:
                raise CommandError(str(error)) from error
            finally:
                progress.clear()
        known = f"; left alone, since they are there: {done.known}" if done.known else ""
        self.stdout.write(f"{tenant}: documents imported: {done.documents}{known}. A worker makes them searchable.")


def _said(error: OSError) -> str:
    return str(error) if not error.strerror else f"{error.filename}: {error.strerror}."
