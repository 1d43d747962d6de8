"""Tenants can be suspended."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenancy", "0002_tenants")]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="suspended_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
