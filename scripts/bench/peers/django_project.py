"""A Django project for the peers that are Django apps."""

from typing import Any

from scripts.bench import libpq


def set_up(**settings: Any) -> None:
    """Configure Django with the least that these settings need beside them."""
    import django
    from django.conf import settings as django_settings

    if django_settings.configured:
        return
    django_settings.configure(
        SECRET_KEY="a project for benchmarks",  # noqa: S106 - it serves nobody
        USE_TZ=True,
        DATABASES={"default": libpq.django_database()},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        LOGGING={"version": 1, "disable_existing_loggers": False, "root": {"level": "WARNING"}},
        **settings,
    )
    django.setup()


def command(name: str, **options: Any) -> None:
    """Run a management command."""
    from django.core.management import call_command

    call_command(name, verbosity=0, **options)
