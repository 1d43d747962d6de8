from django.apps import AppConfig


class LoginsConfig(AppConfig):
    name = "dms_project.logins"

    def ready(self) -> None:
        from dms_project.logins import throttle  # noqa: F401 - connects the receivers
