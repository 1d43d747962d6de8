"""A tenant made with what is remembered of the last one is what Django makes by itself."""

from typing import Any

import pytest
from django.db import connection

from dms_project.tenancy import use
from dms_project.tenancy.migrator import Migrator
from dms_project.tenancy.schemas import create_tenant

# Everything that a schema holds, in the words of PostgreSQL.
CATALOGUE = """
    SELECT 'column', concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull,
                               pg_get_expr(adbin, adrelid)), col_description(attrelid, attnum)
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
         LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relnamespace = %(schema)s::regnamespace AND attnum > 0 AND relkind <> 'i'
  UNION ALL SELECT 'relation', concat_ws(' ', relname, relkind, relpersistence, reloptions, relacl),
                   obj_description(oid, 'pg_class')
    FROM pg_class WHERE relnamespace = %(schema)s::regnamespace
  UNION ALL SELECT 'index', pg_get_indexdef(indexrelid), indisvalid::text
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = %(schema)s::regnamespace
  UNION ALL SELECT 'constraint', conrelid::regclass || ' ' || conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = %(schema)s::regnamespace
  UNION ALL SELECT 'trigger', pg_get_triggerdef(pg_trigger.oid), tgenabled::text
    FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE relnamespace = %(schema)s::regnamespace AND NOT tgisinternal
  UNION ALL SELECT 'function', pg_get_functiondef(oid), proacl::text
    FROM pg_proc WHERE pronamespace = %(schema)s::regnamespace
  UNION ALL SELECT 'text search', cfgname, NULL FROM pg_ts_config WHERE cfgnamespace = %(schema)s::regnamespace
  UNION ALL SELECT 'migration', app || ' ' || name, NULL FROM django_migrations
  UNION ALL SELECT 'content type', concat_ws(' ', id, app_label, model), NULL FROM django_content_type
  UNION ALL SELECT 'permission', concat_ws(' ', content_type_id, codename, name), NULL FROM auth_permission
"""


def catalogue(name: str) -> list[tuple[str, ...]]:
    with use(name), connection.cursor() as cursor:
        cursor.execute(CATALOGUE, {"schema": name})
        return sorted(tuple(str(text).replace(name, "") for text in row) for row in cursor.fetchall())


def as_django_does(self: Migrator, schema_name: str, fake: bool, fake_initial: bool, options: dict[str, Any]) -> None:
    self._carry_out(schema_name, self._state.clone(), fake, fake_initial, options)


def test_a_schema_made_with_states_that_were_remembered_is_the_one_that_django_makes(
    committed_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_tenant("initech", "initech.localhost")
    create_tenant("hooli", "hooli.localhost")
    with monkeypatch.context() as patch:
        patch.setattr(Migrator, "_migrate", as_django_does)
        create_tenant("umbrella", "umbrella.localhost")

    by_django = catalogue("umbrella")
    assert len(by_django) > 500
    assert catalogue("initech") == by_django
    assert catalogue("hooli") == by_django
