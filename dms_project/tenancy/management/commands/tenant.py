"""The life of tenants: made, listed, suspended, resumed, renamed, deleted."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection

from dms_project.tenancy.exceptions import TenancyError, TenantInUse, TenantNotFound, reason
from dms_project.tenancy.lifecycle import rename_host, resume_tenant, suspend_tenant, tenant_ending
from dms_project.tenancy.models import Tenant
from dms_project.tenancy.rollout import plan_rollout
from dms_project.tenancy.schemas import create_tenant, delete_tenant


class Command(BaseCommand):
    help = "Creates, lists, suspends, resumes and deletes tenants, and gives them other host names."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="Create a tenant with its schema and tables.")
        create.add_argument("name", help="a-z, 0-9 and _, beginning with a letter")
        create.add_argument("--domain", required=True, metavar="HOST", help="the host name that leads to it")
        listing = actions.add_parser(
            "list", help="List the tenants: name, domains, and whether migrated, behind or missing."
        )
        listing.add_argument("--json", action="store_true", help="for programs")
        for verb, text in (
            ("suspend", "Serve a tenant's requests and jobs no more; what runs, ends."),
            ("resume", "Serve a suspended tenant again."),
        ):
            actions.add_parser(verb, help=text).add_argument("name")
        rename = actions.add_parser(
            "rename-host", help="Have another host name lead to a tenant, instead of one it has."
        )
        rename.add_argument("old", metavar="OLD")
        rename.add_argument("new", metavar="NEW")
        delete = actions.add_parser("delete", help="Delete a tenant with everything it has.")
        delete.add_argument("name")
        delete.add_argument(
            "--yes", "--no-input", "--noinput", action="store_true", dest="confirmed", help="do not ask for the name"
        )

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        try:
            getattr(self, f"_{action.replace('-', '_')}")(**options)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except TenantInUse as error:
            text = f"{error} It is suspended now, and nothing else was changed: try again, or resume it."
            raise CommandError(text) from error
        except TenancyError as error:
            raise CommandError(f"{error} See: manage.py tenant list") from error
        except DatabaseError as error:
            raise CommandError(f"The database refused ({reason(error)}). Nothing was changed; try again.") from error

    def _create(self, name: str, domain: str, **options: Any) -> None:
        tenant = create_tenant(name, domain)
        self.stdout.write(f"Created tenant {tenant}, reached at {tenant.domains.get()}.")

    def _list(self, **options: Any) -> None:
        states = {step.schema_name: step.state for step in plan_rollout(connection)}
        tenants: list[dict[str, Any]] = [
            {
                "name": tenant.schema_name,
                "domains": [domain.host for domain in tenant.domains.all()],
                "created_at": tenant.created_at.isoformat(timespec="seconds"),
                "state": states.get(tenant.schema_name, "behind"),
                "suspended": tenant.suspended_at is not None,
            }
            for tenant in Tenant.objects.prefetch_related("domains")
        ]
        if options["json"]:
            self.stdout.write(json.dumps(tenants, indent=2))
            return
        for tenant in tenants:
            suspended = ", suspended" if tenant["suspended"] else ""
            self.stdout.write(f"{tenant['name']}  {', '.join(tenant['domains'])}  {tenant['state']}{suspended}")
        if not tenants:
            self.stderr.write("There are no tenants. Create one: manage.py tenant create NAME --domain HOST")

    def _suspend(self, name: str, **options: Any) -> None:
        if suspend_tenant(name):
            self.stdout.write(f"Suspended {name}: requests are refused, and workers begin no more of its jobs.")
        else:
            self.stdout.write(f"{name} was suspended before.")

    def _resume(self, name: str, **options: Any) -> None:
        self.stdout.write(f"Resumed {name}." if resume_tenant(name) else f"{name} was not suspended.")

    def _rename_host(self, old: str, new: str, **options: Any) -> None:
        domain = rename_host(old, new)
        self.stdout.write(f"{domain.tenant} is reached at {domain} now, and at {old} no more.")

    def _delete(self, name: str, confirmed: bool, **options: Any) -> None:
        if not Tenant.objects.filter(schema_name=name).exists():
            raise TenantNotFound(f"There is no tenant {name!r}.")
        if not confirmed:
            self._confirm(name)
        suspend_tenant(name)
        tenant_ending.send(sender=Tenant, schema_name=name)
        delete_tenant(name)
        self.stdout.write(f"Deleted tenant {name}.")

    def _confirm(self, name: str) -> None:
        try:
            answer = input(f"This deletes everything that tenant {name} has, its files too. Type its name to go on: ")
        except EOFError:
            answer = ""
        if answer.strip() != name:
            raise CommandError("Not confirmed: nothing was deleted. Programs say --yes.")
