"""Where a version's thumbnail lies. Code of the version before leaves the columns out: there is no thumbnail then."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0003_audit_is_append_only")]

    operations = [
        migrations.AddField(
            model_name="documentversion",
            name="thumbnail_key",
            field=models.CharField(db_default="", help_text="empty: there is no thumbnail", max_length=200),
        ),
        migrations.AddField(
            model_name="documentversion",
            name="thumbnail_sha256",
            field=models.CharField(db_default="", max_length=64),
        ),
        migrations.AddField(
            model_name="documentversion",
            name="thumbnail_size_bytes",
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.AddConstraint(
            model_name="documentversion",
            constraint=models.UniqueConstraint(
                condition=models.Q(("thumbnail_key", ""), _negated=True),
                fields=("thumbnail_key",),
                name="thumbnail_belongs_to_one_version",
            ),
        ),
        migrations.AddConstraint(
            model_name="documentversion",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("thumbnail_key", ""),
                    ("thumbnail_sha256", ""),
                    ("thumbnail_size_bytes", 0),
                )
                | models.Q(
                    ("thumbnail_sha256__regex", "^[0-9a-f]{64}$"),
                    ("thumbnail_size_bytes__gte", 1),
                    models.Q(("thumbnail_key", ""), _negated=True),
                ),
                name="thumbnail_is_described",
            ),
        ),
    ]
