"""What the admin calls models and their fields, in the language of whoever looks.

Given to them here and not where they are written: there a word would cost a migration in every schema.
"""

from typing import Any

from django.db.models import Model


def label(model: type[Model], singular: Any, plural: Any, **fields: Any) -> None:
    """Name one and several of a model, and its fields."""
    model._meta.verbose_name, model._meta.verbose_name_plural = singular, plural
    for name, text in fields.items():
        field: Any = model._meta.get_field(name)
        field.verbose_name = text


def explain(model: type[Model], **fields: Any) -> None:
    """Give the fields of a model the sentences that stand below them; in English, those of the model itself."""
    for name, text in fields.items():
        field: Any = model._meta.get_field(name)
        field.help_text = text
