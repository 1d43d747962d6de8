"""Shelves, which must not hold more than they can."""

from django.db import models


class Shelf(models.Model):
    load = models.IntegerField()
    above = models.ForeignKey("self", models.CASCADE, null=True)

    class Meta:
        indexes = [models.Index(fields=["load"], name="shelves_by_load")]
        constraints = [models.CheckConstraint(condition=models.Q(load__lte=100), name="shelf_is_not_overloaded")]

    def __str__(self) -> str:
        return f"shelf {self.pk}"
