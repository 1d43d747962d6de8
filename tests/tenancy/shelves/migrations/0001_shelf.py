"""The table, without its constraint."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="Shelf",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("load", models.IntegerField()),
                (
                    "above",
                    models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to="shelves.shelf"),
                ),
            ],
        )
    ]
