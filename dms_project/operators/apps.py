"""The app; it has no tables."""

from django.apps import AppConfig


class OperatorsConfig(AppConfig):
    name = "dms_project.operators"
    label = "operators"
    verbose_name = "operators"
