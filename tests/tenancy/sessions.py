"""Looking at what the database session really has, and leaving marks that tell schemas apart."""

from django.contrib.auth.models import Group
from django.db import connection

from dms_project.tenancy import use


def schema_in_force() -> str:
    """Return PostgreSQL's word for the schema in which an unqualified name is looked up first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        return cursor.fetchone()[0]


def search_path() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW search_path")
        return cursor.fetchone()[0]


def mark(*schemas: str) -> None:
    """Leave a row in each schema that bears its name."""
    for schema in schemas:
        with use(schema):
            Group.objects.create(name=schema)


def marks() -> list[str]:
    """Return the marks that can be seen: those of one schema, if all is well."""
    return list(Group.objects.values_list("name", flat=True))
