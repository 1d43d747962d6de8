"""The no-op job for the backends of Django's task API. Import it when Django is configured."""

try:
    from django.tasks import task
except ImportError:  # Django 5.2 has it as a package of its own
    from django_tasks import task  # type: ignore[no-redef]  # the same, by another name

from scripts.bench.marks import mark


@task()
def noop(number: int) -> None:
    """Do nothing but say so."""
    mark(number)
