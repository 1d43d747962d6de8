"""Uploads that may be interrupted. Code of the version before knows none."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import dms_project.tenancy.relations


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0010_saved_searches"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ResumableUpload",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("file_name", models.CharField(max_length=255)),
                ("title", models.CharField(max_length=255)),
                ("tags", models.JSONField(default=list)),
                ("size_bytes", models.BigIntegerField()),
                ("received_bytes", models.BigIntegerField(default=0)),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("document_id", models.UUIDField(help_text="what the whole file became", null=True)),
                ("duplicate", models.BooleanField(default=False)),
                ("restored", models.BooleanField(default=False)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=dms_project.tenancy.relations.cascade_where_it_lives,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="UploadPiece",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("start_byte", models.BigIntegerField()),
                ("size_bytes", models.BigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("storage_key", models.CharField(max_length=255, unique=True)),
                (
                    "upload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pieces",
                        to="documents.resumableupload",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="resumableupload",
            constraint=models.CheckConstraint(
                condition=models.Q(("received_bytes__gte", 0), ("received_bytes__lte", models.F("size_bytes"))),
                name="upload_has_no_more_than_its_size",
            ),
        ),
        migrations.AddConstraint(
            model_name="uploadpiece",
            constraint=models.UniqueConstraint(
                fields=("upload", "start_byte"), name="upload_has_one_piece_for_each_place"
            ),
        ),
    ]
