"""Making and deleting tenants: the row and the schema together, or neither."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.migrations import AddIndex, RemoveIndex
from django.db.migrations.operations.base import Operation
from django.db.models import QuerySet
from django.dispatch import Signal
from psycopg.sql import SQL, Identifier, Literal

from dms_project.tenancy.caches import forget_content_types
from dms_project.tenancy.exceptions import ForeignSchema, TenantNotFound
from dms_project.tenancy.hosts import operators_hosts
from dms_project.tenancy.locks import schema_lock, take_tables
from dms_project.tenancy.migrator import Migrator
from dms_project.tenancy.models import Domain, Tenant
from dms_project.tenancy.names import normalise_host

tenant_deleted = Signal()
"""Sent with ``schema_name`` once a tenant's schema is gone for good; what lies outside the database may be removed."""

PATIENCE_SECONDS = 10.0
"""How long deleting a tenant waits for others to let go of its tables."""

_OURS = "tenant schema"  # the comment on each schema that we made


def create_tenant(name: str, domain: str) -> Tenant:
    """Create a tenant: row, domain, schema and all tables, in one transaction.

    Joins the caller's transaction, if there is one. Waits while ``migrate`` runs.

    Args:
        domain: The host name that leads to the tenant, in any spelling.

    Raises:
        ValidationError: The name or the domain is malformed, reserved or taken.
        ForeignSchema: A schema of that name exists and is no tenant's.
    """
    host = normalise_host(domain)
    if host in operators_hosts():
        raise ValidationError("%(host)r is the operators' host: choose another.", params={"host": host})
    with schema_lock(connection), transaction.atomic():
        tenant, address = Tenant(schema_name=name), Domain(host=host)
        tenant.clean_fields()
        address.clean_fields(exclude=["tenant"])
        _refuse_taken(name, host)
        tenant.full_clean()
        tenant.save()
        address.tenant = tenant
        address.full_clean()
        address.save()
        with connection.cursor() as cursor:
            if _schema_exists(cursor, name):
                raise ForeignSchema(f"The database has a schema {name!r} already: choose another name.")
            cursor.execute(SQL("CREATE SCHEMA {}").format(Identifier(name)))
            cursor.execute(SQL("COMMENT ON SCHEMA {} IS {}").format(Identifier(name), Literal(_OURS)))
        migrator = Migrator(connection, name, progress=_settle_constraints)
        for migration, _ in migrator.plan:
            operations = [_transactional(operation) for operation in migration.operations]
            migration.operations = operations  # type: ignore[misc]  # an instance has its own list
        migrator.run(name)
        connection.check_constraints()
    return tenant


def _refuse_taken(name: str, host: str) -> None:
    if Tenant.objects.filter(schema_name=name).exists():
        raise ValidationError("There is a tenant %(name)r already: choose another name.", params={"name": name})
    taken = Domain.objects.filter(host=host).select_related("tenant").first()
    if taken:
        params = {"host": host, "tenant": taken.tenant.schema_name}
        raise ValidationError("%(host)r leads to tenant %(tenant)r already: choose another host.", params=params)


def delete_tenant(name: str) -> None:
    """Delete a tenant with all that its schema holds, in one transaction; then send ``tenant_deleted``.

    Joins the caller's transaction, if there is one. Who works for the tenant meanwhile is waited for, and finds it gone
    afterwards.

    Raises:
        TenantNotFound: No tenant has that name.
        ForeignSchema: The tenant's row names a schema that we didn't make.
        TenantInUse: Somebody held on to the tenant's tables for ``PATIENCE_SECONDS``; nothing is changed.
    """
    with schema_lock(connection), transaction.atomic():
        # Not through the model: its delete() refuses, so that nobody leaves a schema without a row.
        row: QuerySet[Tenant] = QuerySet(Tenant).filter(schema_name=name)
        if not row.exists():
            raise TenantNotFound(f"There is no tenant {name!r}.")
        with connection.cursor() as cursor:
            if _schema_exists(cursor, name):
                cursor.execute("SELECT obj_description(%s::regnamespace, 'pg_namespace')", [f'"{name}"'])
                if cursor.fetchone()[0] != _OURS:
                    raise ForeignSchema(f"Schema {name!r} was not made by `tenant create`: drop it yourself.")
                take_tables(cursor, name, PATIENCE_SECONDS)
                cursor.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(name)))
        row.delete()
        transaction.on_commit(lambda: _announce_deletion(name))


def _announce_deletion(name: str) -> None:
    forget_content_types(name)
    tenant_deleted.send(sender=Tenant, schema_name=name)


def _schema_exists(cursor: CursorWrapper, name: str) -> bool:
    cursor.execute("SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = %s)", [name])
    return bool(cursor.fetchone()[0])


def _transactional(operation: Operation) -> Operation:
    """Return an operation that works inside a transaction: in tables that nobody uses yet it comes to the same."""
    if isinstance(operation, AddIndexConcurrently):
        return AddIndex(operation.model_name, operation.index)
    if isinstance(operation, RemoveIndexConcurrently):
        return RemoveIndex(operation.model_name, operation.name)
    return operation


def _settle_constraints(action: str, *args: object) -> None:
    """Check deferred constraints after each migration: with some open, the next one couldn't alter those tables."""
    if action == "apply_success":
        connection.check_constraints()
