"""Paging that stays fast on millions of rows."""

from typing import Any, cast

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property

#: What is counted at most, and so how far one can page; whoever looks for older jobs filters.
COUNT_LIMIT = 10_000


class CappedPaginator(Paginator):
    """Counts at most ``COUNT_LIMIT`` rows, since an exact count reads them all."""

    @cached_property
    def count(self) -> int:
        """The number of rows, or the limit if there are more."""
        rows = cast("QuerySet[Any]", self.object_list)
        return rows.order_by()[:COUNT_LIMIT].count()
