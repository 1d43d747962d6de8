"""Statements that the ORM writes once, and that then run with other parameters.

Django takes a millisecond to write a statement: most of what a claim of one job would cost.
"""

from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.db.models import QuerySet
from django.db.models.sql import UpdateQuery

#: Stands for a limit, which Django writes into the text of a statement.
ANY_LIMIT = 2_147_483_647


@dataclass(frozen=True)
class Slot:
    """Stands for a parameter, inside of a ``RawSQL``: Django passes it on as it is."""

    name: str


class Statement:
    """What Django's compiler has written."""

    def __init__(self, sql: str, parameters: tuple[Any, ...]) -> None:
        self._sql = sql
        self._parameters = parameters

    def limited_to(self, rows: int) -> "Statement":
        """Return the statement that reads so many rows where this one reads ``ANY_LIMIT``."""
        return Statement(self._sql.replace(f"LIMIT {ANY_LIMIT}", f"LIMIT {rows}"), self._parameters)

    def run(self, using: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        """Run it with these values in its slots, and return the rows as the driver gives them."""
        parameters = [values[each.name] if isinstance(each, Slot) else each for each in self._parameters]
        with connections[using].cursor() as cursor:
            cursor.execute(self._sql, parameters)
            return cursor.fetchall() if cursor.description else []


def select(queryset: QuerySet[Any, Any]) -> Statement:
    """Return the statement that reads a query set."""
    return Statement(*queryset.query.get_compiler(queryset.db).as_sql())


def update(queryset: QuerySet[Any], **values: Any) -> Statement:
    """Return the statement of ``queryset.update(**values)``."""
    query: Any = queryset.query.chain(UpdateQuery)
    query.add_update_values(values)
    return Statement(*query.get_compiler(queryset.db).as_sql())
