"""Where a version's archive version lies. Code of the version before leaves the columns out: there is none then."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0006_words")]

    operations = [
        migrations.AddField(
            model_name="documentversion",
            name="archive_key",
            field=models.CharField(db_default="", help_text="empty: there is no archive version", max_length=200),
        ),
        migrations.AddField(
            model_name="documentversion",
            name="archive_sha256",
            field=models.CharField(db_default="", max_length=64),
        ),
        migrations.AddField(
            model_name="documentversion",
            name="archive_size_bytes",
            field=models.PositiveBigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="documentpage",
            name="is_recognised",
            field=models.BooleanField(db_default=False, help_text="the text was recognised in a picture"),
        ),
        migrations.AddConstraint(
            model_name="documentversion",
            constraint=models.UniqueConstraint(
                condition=models.Q(("archive_key", ""), _negated=True),
                fields=("archive_key",),
                name="archive_belongs_to_one_version",
            ),
        ),
        migrations.AddConstraint(
            model_name="documentversion",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("archive_key", ""),
                    ("archive_sha256", ""),
                    ("archive_size_bytes", 0),
                )
                | models.Q(
                    ("archive_sha256__regex", "^[0-9a-f]{64}$"),
                    ("archive_size_bytes__gte", 1),
                    models.Q(("archive_key", ""), _negated=True),
                ),
                name="archive_is_described",
            ),
        ),
    ]
