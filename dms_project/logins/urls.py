"""Log in, log out, choose the language."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path
from django.views.i18n import set_language

from dms_project.logins.forms import LoginForm

login = LoginView.as_view(
    template_name="documents/login.html", authentication_form=LoginForm, redirect_authenticated_user=True
)

urlpatterns = [
    path("login/", login, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("language", set_language, name="set_language"),
]
