"""The app; it has no tables."""

from django.apps import AppConfig

from jobqueue.signals import worker_started


class OperatorsConfig(AppConfig):
    name = "dms_project.operators"
    label = "operators"
    verbose_name = "operators"

    def ready(self) -> None:
        from dms_project.operators import fleet_work  # noqa: F401 - importing registers its receivers
        from dms_project.operators.banner import announce_places

        worker_started.connect(announce_places, dispatch_uid="dms_project.operators")
