"""Foreign keys from tables that only some schemas have to tables that more of them have."""

from typing import Any

from django.db.models import QuerySet
from django.db.models.deletion import CASCADE, Collector

from dms_project.tenancy.context import current
from dms_project.tenancy.routers import lives_in


def cascade_where_it_lives(collector: Collector, field: Any, sub_objs: QuerySet[Any], using: str) -> None:
    """Django's ``CASCADE`` as an ``on_delete``, which leaves schemas alone that haven't got the field's table."""
    if lives_in(field.model._meta.app_label, current()):
        CASCADE(collector, field, sub_objs, using)


def set_null_where_it_lives(collector: Collector, field: Any, sub_objs: QuerySet[Any], using: str) -> None:
    """Django's ``SET_NULL`` as an ``on_delete``, which leaves schemas alone that haven't got the field's table.

    With ``SET_NULL`` itself nobody could delete a user in ``public``: Django would look for the user's documents there.
    """
    if lives_in(field.model._meta.app_label, current()):
        collector.add_field_update(field, None, sub_objs)


# As SET_NULL has it: no rows are read only to find out whether there are any, or where there is no table.
cascade_where_it_lives.lazy_sub_objs = True  # type: ignore[attr-defined]  # Django's protocol
set_null_where_it_lives.lazy_sub_objs = True  # type: ignore[attr-defined]  # Django's protocol
