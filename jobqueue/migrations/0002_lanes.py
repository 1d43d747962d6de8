"""Claims read the pending jobs lane by lane, and jobs without an idempotency key cost its index nothing."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobqueue", "0001_processing_jobs")]

    operations = [
        migrations.AddIndex(
            "processingjob",
            models.Index(
                fields=["job_type", "queue_name", "priority", "available_at", "id"],
                name="jobs_pending_by_lane",
                condition=models.Q(status="pending"),
            ),
        ),
        migrations.RemoveIndex("processingjob", "jobs_pending_in_claim_order"),
        migrations.RemoveConstraint("processingjob", "idempotency_key_is_unique"),
        migrations.AddConstraint(
            "processingjob",
            models.UniqueConstraint(
                fields=["idempotency_key"],
                name="idempotency_key_is_unique",
                condition=models.Q(idempotency_key__isnull=False),
            ),
        ),
    ]
