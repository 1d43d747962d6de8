"""The schema of extensions, which every search_path ends in."""

from django.db import migrations

from dms_project.tenancy.extensions import create_extensions


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        # Not dropped on the way back: nobody knows what else uses them.
        migrations.RunPython(create_extensions, migrations.RunPython.noop, elidable=False),
    ]
