"""Django's changepassword, for an operator or a tenant's user."""

from django.contrib.auth.management.commands import changepassword

from dms_project.tenancy.management.in_one_schema import InOneSchema


class Command(InOneSchema, changepassword.Command):
    help = "Changes the password of a tenant's user with --tenant, of an operator without."
