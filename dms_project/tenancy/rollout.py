"""What a migrate has to do in which schema."""

from collections.abc import Callable
from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper

from dms_project.tenancy.exceptions import TenantNotFound
from dms_project.tenancy.history import Applied, read_applied
from dms_project.tenancy.migrator import Migrator
from dms_project.tenancy.names import PUBLIC
from dms_project.tenancy.routers import lives_in


@dataclass(frozen=True)
class Step:
    """One schema's part; without a migrator its schema doesn't exist."""

    schema_name: str
    migrator: Migrator | None

    @property
    def is_due(self) -> bool:
        return self.state != "migrated"

    @property
    def state(self) -> str:
        """In a word, for people and programs: ``migrated``, ``behind`` or ``missing``."""
        if self.migrator is None:
            return "missing"
        return "behind" if self.migrator.plan else "migrated"


def plan_rollout(
    connection: BaseDatabaseWrapper,
    tenant: str | None = None,
    app_label: str | None = None,
    migration_name: str | None = None,
    progress: Callable[..., None] | None = None,
) -> list[Step]:
    """Read the state of all schemas and plan each one's way, ``public`` first, then tenants by name.

    Schemas with the same state share one plan: a tenant with nothing to do costs the reading of its history.

    Args:
        tenant: Only this schema; ``public`` is one, too.
        app_label: Only this app, in the schemas where it lives.

    Raises:
        TenantNotFound: No tenant has that name.
    """
    names = [PUBLIC, *_tenants(connection)]
    if tenant is not None:
        if tenant not in names:
            raise TenantNotFound(f"There is no tenant {tenant!r}.")
        names = [tenant]
    if app_label:
        names = [name for name in names if lives_in(app_label, name)]
    histories = read_applied(connection, names)
    migrators: dict[tuple[bool, Applied], Migrator] = {}
    steps = []
    for name in names:
        if name not in histories:
            steps.append(Step(name, None))
            continue
        key = (name == PUBLIC, histories[name])
        if key not in migrators:
            migrators[key] = Migrator(connection, name, app_label, migration_name, progress)
        steps.append(Step(name, migrators[key]))
    return steps


def _tenants(connection: BaseDatabaseWrapper) -> list[str]:
    """Read the tenants' names without the model: the table may be missing yet, or be older than the code."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('public.tenants')")
        if cursor.fetchone()[0] is None:
            return []
        cursor.execute("SELECT schema_name FROM public.tenants ORDER BY schema_name")
        return [row[0] for row in cursor.fetchall()]
