"""What is enqueued again and again."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [
        ("jobqueue", "0003_paused_queues"),
    ]

    operations = [
        migrations.CreateModel(
            name="JobSchedule",
            fields=[
                ("name", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("timetable", models.CharField(help_text="see jobqueue.timetables.parse", max_length=200)),
                ("job_type", models.CharField(blank=True, db_default="", max_length=100)),
                ("payload", models.JSONField(blank=True, db_default={}, default=dict)),
                ("queue_name", models.CharField(db_default="default", default="default", max_length=100)),
                ("priority", models.SmallIntegerField(db_default=0, default=0, help_text="-100 to 100, higher first")),
                (
                    "overlap",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="off: a time is left out while the job of the one before is unfinished",
                    ),
                ),
                ("paused", models.BooleanField(db_default=False, default=False)),
                ("next_at", models.DateTimeField(help_text="NULL: paused", null=True)),
                ("done_until", models.DateTimeField(db_default=Now())),
                ("last_at", models.DateTimeField(help_text="the latest time for which a job was enqueued", null=True)),
                ("last_job_id", models.BigIntegerField(null=True)),
                (
                    "problem",
                    models.TextField(blank=True, db_default="", help_text="why the latest time could not be enqueued"),
                ),
            ],
            options={
                "verbose_name": "schedule",
                "db_table": "job_schedules",
            },
        ),
    ]
