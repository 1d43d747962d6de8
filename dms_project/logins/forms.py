"""The login form."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from dms_project.logins.throttle import WINDOW, is_throttled


class LoginForm(AuthenticationForm):
    """Says so when a login is refused for too many failures, instead of calling a right password wrong."""

    error_messages = {
        "invalid_login": _("This user name and password don’t belong together. Upper and lower case matter."),
        "inactive": _("This account is switched off."),
        "throttled": _("Too many failed attempts. Try again in %(minutes)d minutes."),
    }

    def clean(self) -> dict[str, Any]:
        if self.request is not None and is_throttled(self.request, self.cleaned_data.get("username", "")):
            minutes = {"minutes": int(WINDOW.total_seconds() // 60)}
            raise ValidationError(self.error_messages["throttled"], code="throttled", params=minutes)
        return super().clean()
