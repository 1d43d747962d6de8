from django.apps import AppConfig


class TokensConfig(AppConfig):
    name = "dms_project.tokens"
    label = "tokens"
    verbose_name = "API tokens"
