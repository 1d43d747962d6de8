"""Queues can be paused."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("jobqueue", "0002_lanes")]

    operations = [
        migrations.CreateModel(
            name="PausedQueue",
            fields=[
                ("queue_name", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("paused_at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "paused_queues"},
        ),
    ]
