"""An index made beside running work, in no transaction."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("shelves", "0003_limit_load")]
    operations = [AddIndexConcurrently("shelf", models.Index(fields=["load"], name="shelves_by_load"))]
