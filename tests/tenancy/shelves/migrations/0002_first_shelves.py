"""Two shelves, one above the other: rows whose foreign key is checked at the end of the transaction."""

from django.db import migrations


def build(apps, schema_editor):
    Shelf = apps.get_model("shelves", "Shelf")
    Shelf.objects.create(load=1, above=Shelf.objects.create(load=1))


class Migration(migrations.Migration):
    dependencies = [("shelves", "0001_shelf")]
    operations = [migrations.RunPython(build, migrations.RunPython.noop)]
