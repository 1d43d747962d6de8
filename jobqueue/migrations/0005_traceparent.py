"""A job may name the span in which it was enqueued. A row without one is no longer than before."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobqueue", "0004_job_schedules")]

    operations = [
        migrations.AddField(
            model_name="processingjob",
            name="traceparent",
            field=models.CharField(max_length=55, null=True),
        ),
    ]
