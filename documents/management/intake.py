"""The verbs of ``manage.py documents`` about what comes in: a tenant's rules, and whole folders."""

import re
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import filesizeformat

from dms_project.tenancy import use
from documents.exceptions import InvalidValue
from documents.folders import REFUSED, STORED, UNREADABLE, take_in
from documents.intake import rules, used_bytes
from documents.management.terms import errors_in_a_line, existing
from documents.models import IntakeRules
from documents.states import Duplicates

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_UNSET = "none"
_TYPE = re.compile(r"[a-z*]+/[a-z0-9.+*-]+")


def size(text: str) -> int | None:
    """Read a size in bytes: a number with a unit of 1,024, or ``none``.

    Raises:
        ValueError: It is neither, or nothing.
    """
    if text == _UNSET:
        return None
    found = re.fullmatch(r"(\d{1,15})([KMGT]?)i?B?", text)
    if not found or not int(found[1]):
        raise ValueError
    return int(found[1]) * _UNITS[found[2]]


size.__name__ = "size, such as 50M or 10G, or none"  # argparse puts it into its message


def media_type(text: str) -> str:
    """Read a media type, or a pattern of some.

    Raises:
        ValueError: It is none.
    """
    if text != _UNSET and not _TYPE.fullmatch(text):
        raise ValueError
    return text


media_type.__name__ = "media type, such as application/pdf or image/*, or none"


def add_intake_verbs(verbs: Any) -> None:
    """Declare the subcommands."""
    changes = verbs.add_parser("rules", help="show or change what a tenant takes in")
    changes.add_argument("--tenant", metavar="T", required=True)
    changes.add_argument("--max-file", type=size, default=..., metavar="SIZE", help="of one file, such as 50M; or none")
    changes.add_argument(
        "--max-total", type=size, default=..., metavar="SIZE", help="of all originals, such as 10G; or none"
    )
    changes.add_argument(
        "--accept", type=media_type, nargs="+", metavar="TYPE", help="these types alone, such as image/*; or none: all"
    )
    changes.add_argument(
        "--duplicates", choices=Duplicates.values, help="what becomes of bytes that the tenant has already"
    )
    folder = verbs.add_parser("take-in", help="take in every file below a folder, as if it had been uploaded")
    folder.add_argument("folder", type=Path, metavar="DIR")
    folder.add_argument("--tenant", metavar="T", required=True)
    folder.add_argument("--user", metavar="USER", required=True, help="who uploads")
    folder.add_argument("--tag", action="append", default=[], metavar="TAG", help="for each document; repeatable")


class IntakeVerbs(BaseCommand):
    """What the subcommands do."""

    def _rules(
        self, tenant: str, max_file: Any, max_total: Any, accept: list[str] | None, duplicates: str | None, **rest: Any
    ) -> None:
        given = {"max_file_bytes": max_file, "max_total_bytes": max_total}
        changed = {name: value for name, value in given.items() if value is not ...}
        changed |= {"accepted_types": [each for each in accept if each != _UNSET]} if accept else {}
        changed |= {"duplicates": duplicates} if duplicates else {}
        with errors_in_a_line(status=1), use(existing(tenant)):
            if changed:
                IntakeRules.objects.update_or_create(pk=1, defaults=changed)
            now, used = rules(), used_bytes()
        total = f" of {_shown(now.max_total_bytes)}" if now.max_total_bytes is not None else ", and no limit"
        self.stdout.write(f"one file     {_shown(now.max_file_bytes) if now.max_file_bytes else 'no limit of its own'}")
        self.stdout.write(f"all          {_shown(used)} used{total}")
        self.stdout.write(f"types        {' '.join(now.accepted_types) or 'all'}")
        self.stdout.write(f"duplicates   {now.duplicates}: {Duplicates(now.duplicates).label}")

    def _take_in(self, folder: Path, tenant: str, user: str, tag: list[str], verbosity: int, **rest: Any) -> None:
        def tell(outcome: str, path: Path, why: str) -> None:
            if why or verbosity > 1:
                self.stdout.write(f"{outcome:<10}  {path.relative_to(folder)}{f'  {why}' if why else ''}")

        if not folder.is_dir():
            raise CommandError(f"{folder} is no folder.")
        with errors_in_a_line(status=1), use(existing(tenant)):
            found = User.objects.filter(username=user).first()
            if found is None:
                raise CommandError(f"{tenant} has no user {user}. Make one in its admin.")
            try:
                done = take_in(folder, found, tag, tell)
            except (OSError, InvalidValue) as error:
                raise CommandError(str(error)) from error
        others = "".join(f", {outcome}: {count}" for outcome, count in sorted(done.items()) if outcome != STORED)
        self.stdout.write(f"{tenant}: files stored: {done[STORED]}{others}. A worker makes them searchable.")
        if done[REFUSED] or done[UNREADABLE]:
            raise SystemExit(1)


def _shown(number: int) -> str:
    return filesizeformat(number).replace("\xa0", " ")
