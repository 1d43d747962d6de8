"""The table of jobs."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="ProcessingJob",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("job_type", models.CharField(max_length=100)),
                ("queue_name", models.CharField(db_default="default", max_length=100)),
                ("payload", models.JSONField(default=dict)),
                ("priority", models.SmallIntegerField(db_default=0, help_text="-100 to 100, higher first")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "pending"),
                            ("processing", "processing"),
                            ("succeeded", "succeeded"),
                            ("dead_letter", "dead letter"),
                            ("failed", "failed"),
                        ],
                        db_default="pending",
                        max_length=20,
                    ),
                ),
                ("attempts", models.SmallIntegerField(db_default=0)),
                ("max_attempts", models.SmallIntegerField(db_default=5)),
                ("available_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("locked_at", models.DateTimeField(help_text="taken or last renewed", null=True)),
                ("locked_by", models.CharField(max_length=200, null=True)),
                ("lock_token", models.UUIDField(null=True)),
                ("holder_key", models.IntegerField(null=True)),
                ("suspected_since", models.DateTimeField(null=True)),
                ("worker_deaths", models.SmallIntegerField(db_default=0, help_text="in a row")),
                ("idempotency_key", models.CharField(max_length=255, null=True)),
                (
                    "progress",
                    models.SmallIntegerField(help_text="percent, as the handler reports it", null=True),
                ),
                ("result", models.JSONField(null=True)),
                ("last_error", models.TextField(db_default="")),
                ("history", models.JSONField(db_default=[], help_text="the last attempts, oldest first")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("started_at", models.DateTimeField(help_text="of the latest attempt", null=True)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name": "job",
                "db_table": "processing_jobs",
                "permissions": [
                    ("requeue_processingjob", "Can requeue dead letters"),
                    ("discard_processingjob", "Can discard dead letters"),
                ],
                "indexes": [
                    models.Index(
                        models.OrderBy(models.F("priority"), descending=True),
                        models.F("available_at"),
                        models.F("id"),
                        condition=models.Q(("status", "pending")),
                        name="jobs_pending_in_claim_order",
                    ),
                    models.Index(
                        condition=models.Q(("status", "processing")),
                        fields=["locked_at"],
                        name="jobs_processing",
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending"), ("worker_deaths__gte", 2)),
                        fields=["id"],
                        name="jobs_to_be_run_alone",
                    ),
                    models.Index(
                        condition=models.Q(("status", "dead_letter")), fields=["id"], name="jobs_dead_letters"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("idempotency_key",), name="idempotency_key_is_unique"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["pending", "processing", "succeeded", "dead_letter", "failed"])
                        ),
                        name="status_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("locked_at__isnull", False),
                                ("locked_by__isnull", False),
                                ("status", "processing"),
                            ),
                            models.Q(
                                models.Q(("status", "processing"), _negated=True),
                                ("locked_at__isnull", True),
                                ("locked_by__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="processing_iff_locked",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at__isnull", False), ("status__in", ("succeeded", "failed"))),
                            models.Q(
                                models.Q(("status__in", ("succeeded", "failed")), _negated=True),
                                ("finished_at__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="finished_iff_final",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("attempts__gte", 0),
                            ("attempts__lte", models.F("max_attempts")),
                            ("max_attempts__gte", 1),
                        ),
                        name="attempts_within_max",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "pending"), _negated=True),
                            ("attempts__lt", models.F("max_attempts")),
                            _connector="OR",
                        ),
                        name="pending_has_attempts_left",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("priority__gte", -100), ("priority__lte", 100)),
                        name="priority_in_range",
                    ),
                ],
            },
        ),
        migrations.RunSQL(
            # Each job's row is written a few times in its life: room for the new versions on the same page, and
            # vacuum by a count of dead rows that doesn't grow with the finished ones.
            """
            ALTER TABLE processing_jobs SET (
                fillfactor = 70,
                autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
                autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0
            )
            """,
            """
            ALTER TABLE processing_jobs RESET (
                fillfactor,
                autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
                autovacuum_analyze_scale_factor, autovacuum_vacuum_cost_delay
            )
            """,
        ),
    ]
