"""The tables of tenants and their domains, in ``public`` by name."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import dms_project.tenancy.names


class Migration(migrations.Migration):
    dependencies = [("tenancy", "0001_extensions")]

    operations = [
        migrations.CreateModel(
            name="Tenant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "schema_name",
                    models.CharField(
                        max_length=63, validators=[dms_project.tenancy.names.validate_name], verbose_name="name"
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "db_table": '"public"."tenants"',
                "ordering": ["schema_name"],
                "constraints": [
                    models.UniqueConstraint(fields=("schema_name",), name="tenant_name_is_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("schema_name__regex", "^[a-z][a-z0-9_]{0,62}$")),
                        name="tenant_name_is_valid",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("schema_name__in", ("public", "extensions", "information_schema")), _negated=True
                            ),
                            models.Q(("schema_name__startswith", "pg_"), _negated=True),
                        ),
                        name="tenant_name_is_not_reserved",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Domain",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("host", models.CharField(max_length=253, validators=[dms_project.tenancy.names.validate_host])),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="domains", to="tenancy.tenant"
                    ),
                ),
            ],
            options={
                "db_table": '"public"."tenant_domains"',
                "ordering": ["host"],
                "constraints": [
                    models.UniqueConstraint(fields=("host",), name="domain_host_is_unique"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "host__regex",
                                "^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
                            )
                        ),
                        name="domain_host_is_valid",
                    ),
                ],
            },
        ),
    ]
