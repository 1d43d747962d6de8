"""Text search configurations of the tenant's own, so that a schema is whole by itself and goes as a whole."""

from django.db import migrations

# Accents go before the stemmer sees the word; `unaccent` lives in the schema `extensions`, on every tenant's path.
_CREATE = """
CREATE TEXT SEARCH CONFIGURATION dms_{language} (COPY = pg_catalog.{language});
ALTER TEXT SEARCH CONFIGURATION dms_{language}
    ALTER MAPPING FOR hword, hword_part, word WITH extensions.unaccent, pg_catalog.{language}_stem;
"""
_DROP = "DROP TEXT SEARCH CONFIGURATION dms_{language}"


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.RunSQL(_CREATE.format(language=language), _DROP.format(language=language))
        for language in ("german", "english")
    ]
