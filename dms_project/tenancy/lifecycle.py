"""What happens to a tenant between its beginning and its end: suspended, resumed, under another host name."""

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now
from django.dispatch import Signal

from dms_project.tenancy.exceptions import TenantNotFound
from dms_project.tenancy.hosts import operators_hosts
from dms_project.tenancy.models import Domain, Tenant
from dms_project.tenancy.names import normalise_host

tenant_suspended = Signal()
"""Sent with ``schema_name`` in the transaction that suspends a tenant."""

tenant_resumed = Signal()
"""Sent with ``schema_name`` in the transaction that lets a tenant work again: what waited there may go on."""

tenant_ending = Signal()
"""Sent with ``schema_name`` before a tenant is deleted: whoever works for it is to be stopped, and waited for."""


def suspend_tenant(name: str) -> bool:
    """Let no requests be served and no jobs begun for a tenant; what runs, ends. False if it was suspended before.

    Requests are refused from the commit on, and workers are told; one that doesn't hear heeds it within a minute or so.

    Raises:
        TenantNotFound: No tenant has that name.
    """
    _demand(name)
    with transaction.atomic():
        suspended = Tenant.objects.filter(schema_name=name, suspended_at=None).update(suspended_at=Now())
        if suspended:
            tenant_suspended.send(sender=Tenant, schema_name=name)
    return bool(suspended)


def resume_tenant(name: str) -> bool:
    """Let a suspended tenant work again, and its jobs begin; False if it wasn't suspended.

    Raises:
        TenantNotFound: No tenant has that name.
    """
    _demand(name)
    with transaction.atomic():
        resumed = Tenant.objects.filter(schema_name=name).exclude(suspended_at=None).update(suspended_at=None)
        if resumed:
            tenant_resumed.send(sender=Tenant, schema_name=name)
    return bool(resumed)


def rename_host(old: str, new: str) -> Domain:
    """Have another host name lead to a tenant, and the old one to nobody; holds for the next request.

    Raises:
        ValidationError: Nothing is reached at the old one, or the new one is malformed or taken.
    """
    host = normalise_host(new)
    if host in operators_hosts():
        raise ValidationError("%(host)r is the operators' host: choose another.", params={"host": host})
    with transaction.atomic():
        found = Domain.objects.select_for_update().filter(host=normalise_host(old)).first()
        if found is None:
            raise ValidationError("No tenant is reached at %(host)r.", params={"host": old})
        taken = Domain.objects.filter(host=host).exclude(pk=found.pk).select_related("tenant").first()
        if taken:
            params = {"host": host, "tenant": taken.tenant.schema_name}
            raise ValidationError("%(host)r leads to tenant %(tenant)r already: choose another host.", params=params)
        found.host = host
        found.full_clean()
        found.save()
    return found


def _demand(name: str) -> None:
    if not Tenant.objects.filter(schema_name=name).exists():
        raise TenantNotFound(f"There is no tenant {name!r}.")
