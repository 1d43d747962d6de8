"""What people sort documents by. Code of the version before leaves it all out: no tags, no date, no such entries."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import dms_project.tenancy.relations

_BEFORE = ["uploaded", "uploaded_again", "renamed", "trashed", "restored", "reprocessed"]
_ACTIONS = [
    *_BEFORE, "tagged", "correspondent_set", "dated", "noted", "note_removed", "purged", "imported",
]  # fmt: skip
_NAMES = [
    "uploaded", "uploaded again", "renamed", "moved to the trash", "restored from the trash",
    "sent through processing again", "tags changed", "correspondent changed", "date of the document changed",
    "note written", "note removed", "deleted for good", "imported",
]  # fmt: skip
_CHECK = "ALTER TABLE documents_auditentry DROP CONSTRAINT audit_action_is_known, ADD CONSTRAINT audit_action_is_known"


def _check(actions: list[str]) -> str:
    return f"{_CHECK} CHECK (action IN ({', '.join(map(repr, actions))}))"


def _label(name: str) -> migrations.CreateModel:
    return migrations.CreateModel(
        name=name.capitalize(),
        fields=[
            ("id", models.BigAutoField(primary_key=True, serialize=False)),
            ("name", models.CharField(max_length=64)),
            ("key", models.CharField(help_text="the name in lower case", max_length=192, unique=True)),
        ],
        options={
            "abstract": False,
            "constraints": [
                models.CheckConstraint(
                    condition=models.Q(models.Q(("name", ""), _negated=True), models.Q(("key", ""), _negated=True)),
                    name=f"{name}_is_not_empty",
                )
            ],
        },
    )


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0004_thumbnails"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        _label("tag"),
        _label("correspondent"),
        migrations.AddField(
            model_name="document",
            name="tags",
            field=models.ManyToManyField(related_name="documents", to="documents.tag"),
        ),
        migrations.AddField(
            model_name="document",
            name="correspondent",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="documents",
                to="documents.correspondent",
            ),
        ),
        migrations.AddField(
            model_name="document",
            name="document_date",
            field=models.DateField(help_text="of the letter or bill itself", null=True),
        ),
        migrations.AddField(
            model_name="document",
            name="date_is_guessed",
            field=models.BooleanField(db_default=True, help_text="from the text; false: somebody set or cleared it"),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(fields=["document_date"], name="documents_by_their_date"),
        ),
        migrations.CreateModel(
            name="Note",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("text", models.TextField()),
                (
                    "author_name",
                    models.CharField(blank=True, help_text="stays when the user goes", max_length=150),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=dms_project.tenancy.relations.set_null_where_it_lives,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="notes", to="documents.document"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("text", ""), _negated=True), name="note_is_not_empty")
                ],
            },
        ),
        # On the way back, entries of the new kinds stay: they can't be deleted, and needn't be.
        migrations.RunSQL(
            _check(_ACTIONS),
            f"{_check(_BEFORE)} NOT VALID",
            state_operations=[
                migrations.AlterField(
                    model_name="auditentry",
                    name="action",
                    field=models.CharField(choices=list(zip(_ACTIONS, _NAMES, strict=True)), max_length=20),
                ),
                migrations.RemoveConstraint(model_name="auditentry", name="audit_action_is_known"),
                migrations.AddConstraint(
                    model_name="auditentry",
                    constraint=models.CheckConstraint(
                        condition=models.Q(("action__in", _ACTIONS)), name="audit_action_is_known"
                    ),
                ),
            ],
        ),
    ]
