"""Django's createsuperuser, for an operator or a tenant's administrator."""

from django.contrib.auth.management.commands import createsuperuser

from dms_project.tenancy.management.in_one_schema import InOneSchema


class Command(InOneSchema, createsuperuser.Command):
    help = "Creates a user with all rights: at a tenant's host with --tenant, at the operators' without."
