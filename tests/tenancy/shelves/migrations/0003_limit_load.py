"""The constraint, which fails where a shelf is overloaded already."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shelves", "0002_first_shelves")]
    operations = [
        migrations.AddConstraint(
            model_name="shelf",
            constraint=models.CheckConstraint(condition=models.Q(load__lte=100), name="shelf_is_not_overloaded"),
        )
    ]
