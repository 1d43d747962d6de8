"""Searches that users save. Code of the version before knows none."""

from django.conf import settings
from django.db import migrations, models

import dms_project.tenancy.relations


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0009_intake_rules"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedSearch",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=64)),
                ("key", models.CharField(help_text="the name in lower case", max_length=192)),
                ("asked", models.JSONField(help_text="parameters of the list's address")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=dms_project.tenancy.relations.cascade_where_it_lives,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "saved searches",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "key"), name="search_name_is_unique_for_its_user"),
                    models.CheckConstraint(
                        condition=models.Q(models.Q(("name", ""), _negated=True), models.Q(("key", ""), _negated=True)),
                        name="search_has_a_name",
                    ),
                ],
            },
        ),
    ]
