"""Words that documents have, for suggestions. Documents from before add theirs when they are read again."""

import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0005_tags_correspondents_dates_and_notes")]

    operations = [
        migrations.CreateModel(
            name="Word",
            fields=[("text", models.CharField(max_length=100, primary_key=True, serialize=False))],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["text"], name="words_by_trigram", opclasses=["gin_trgm_ops"]
                    )
                ],
            },
        ),
    ]
