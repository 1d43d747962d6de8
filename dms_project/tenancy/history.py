"""Which migrations are applied in which schema, read from all schemas at once."""

from collections.abc import Sequence

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.sql import SQL, Composable, Identifier, Literal

Applied = frozenset[tuple[str, str]]
"""App labels and names of the migrations applied in a schema."""

_BATCH = 100  # schemas in one statement: each takes locks and planning time


def read_applied(connection: BaseDatabaseWrapper, names: Sequence[str]) -> dict[str, Applied]:
    """Return what is applied in each of these schemas; one that doesn't exist is left out."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT nspname, EXISTS (
                SELECT FROM pg_catalog.pg_class WHERE relnamespace = n.oid AND relname = 'django_migrations'
            ) FROM pg_catalog.pg_namespace n WHERE nspname = ANY(%s)
            """,
            [list(names)],
        )
        recorded: dict[str, bool] = dict(cursor.fetchall())
        migrations: dict[str, list[tuple[str, str]]] = {name: [] for name in recorded}
        with_table = [name for name, has_table in recorded.items() if has_table]
        for start in range(0, len(with_table), _BATCH):
            cursor.execute(_union(with_table[start : start + _BATCH]))
            for schema_name, app, migration in cursor.fetchall():
                migrations[schema_name].append((app, migration))
    return {name: frozenset(keys) for name, keys in migrations.items()}


def _union(names: Sequence[str]) -> Composable:
    return SQL(" UNION ALL ").join(
        SQL("SELECT {}, app, name FROM {}").format(Literal(name), Identifier(name, "django_migrations"))
        for name in names
    )
