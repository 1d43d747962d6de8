"""What a tenant takes in, and copies where it allows them. Code of the version before links duplicates, as ever."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0008_unlocked_copies"),
    ]

    operations = [
        migrations.CreateModel(
            name="IntakeRules",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                (
                    "max_file_bytes",
                    models.PositiveBigIntegerField(help_text="of one file; none: as the settings say", null=True),
                ),
                (
                    "max_total_bytes",
                    models.PositiveBigIntegerField(help_text="of all originals; none: any number", null=True),
                ),
                (
                    "accepted_types",
                    models.JSONField(db_default=[], default=list, help_text="such as image/*; none: all"),
                ),
                (
                    "duplicates",
                    models.CharField(
                        choices=[
                            ("link", "the document that has them is the answer"),
                            ("refuse", "they are refused"),
                            ("allow", "they become another document"),
                        ],
                        db_default="link",
                        default="link",
                        max_length=10,
                    ),
                ),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="documentversion",
            name="current_original_is_unique",
        ),
        migrations.AddField(
            model_name="documentversion",
            name="is_copy",
            field=models.BooleanField(
                db_default=False, help_text="another document had these bytes, which was allowed"
            ),
        ),
        migrations.AddIndex(
            model_name="documentversion",
            index=models.Index(condition=models.Q(("is_current", True)), fields=["sha256"], name="originals_by_hash"),
        ),
        migrations.AddConstraint(
            model_name="documentversion",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_copy", False), ("is_current", True)),
                fields=("sha256",),
                name="current_original_is_unique",
            ),
        ),
        migrations.AddConstraint(
            model_name="intakerules",
            constraint=models.CheckConstraint(condition=models.Q(("id", 1)), name="intake_rules_are_one_row"),
        ),
        migrations.AddConstraint(
            model_name="intakerules",
            constraint=models.CheckConstraint(
                condition=models.Q(("duplicates__in", ["link", "refuse", "allow"])), name="intake_duplicates_are_known"
            ),
        ),
    ]
