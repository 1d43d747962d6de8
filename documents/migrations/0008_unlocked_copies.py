"""Where a version's copy without a password lies. Code of the version before leaves the columns out: there is none."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0007_archives"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="auditentry",
            name="audit_action_is_known",
        ),
        migrations.AddField(
            model_name="documentversion",
            name="unlocked_key",
            field=models.CharField(db_default="", help_text="of the copy without a password; or empty", max_length=200),
        ),
        migrations.AddField(
            model_name="documentversion",
            name="unlocked_sha256",
            field=models.CharField(db_default="", max_length=64),
        ),
        migrations.AddField(
            model_name="documentversion",
            name="unlocked_size_bytes",
            field=models.PositiveBigIntegerField(db_default=0),
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="action",
            field=models.CharField(
                choices=[
                    ("uploaded", "uploaded"),
                    ("uploaded_again", "uploaded again"),
                    ("renamed", "renamed"),
                    ("trashed", "moved to the trash"),
                    ("restored", "restored from the trash"),
                    ("reprocessed", "sent through processing again"),
                    ("tagged", "tags changed"),
                    ("correspondent_set", "correspondent changed"),
                    ("dated", "date of the document changed"),
                    ("noted", "note written"),
                    ("note_removed", "note removed"),
                    ("purged", "deleted for good"),
                    ("imported", "imported"),
                    ("unlocked", "opened with its password"),
                ],
                max_length=20,
            ),
        ),
        migrations.AddConstraint(
            model_name="auditentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "action__in",
                        [
                            "uploaded",
                            "uploaded_again",
                            "renamed",
                            "trashed",
                            "restored",
                            "reprocessed",
                            "tagged",
                            "correspondent_set",
                            "dated",
                            "noted",
                            "note_removed",
                            "purged",
                            "imported",
                            "unlocked",
                        ],
                    )
                ),
                name="audit_action_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="documentversion",
            constraint=models.UniqueConstraint(
                condition=models.Q(("unlocked_key", ""), _negated=True),
                fields=("unlocked_key",),
                name="unlocked_copy_belongs_to_one_version",
            ),
        ),
        migrations.AddConstraint(
            model_name="documentversion",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("unlocked_key", ""), ("unlocked_sha256", ""), ("unlocked_size_bytes", 0)),
                    models.Q(
                        ("unlocked_sha256__regex", "^[0-9a-f]{64}$"),
                        ("unlocked_size_bytes__gte", 1),
                        models.Q(("unlocked_key", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="unlocked_copy_is_described",
            ),
        ),
    ]
