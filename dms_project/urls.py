"""URLs of every host; which schema answers is the tenancy middleware's decision."""

from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.utils.functional import lazy
from django.views.generic import RedirectView

from dms_project.api import api
from documents.pages import errors

# Browsers ask for it beside pages that don't name an icon: the admin's.
icon = RedirectView.as_view(url=lazy(static, str)("documents/icon.svg"))

urlpatterns = [
    path("favicon.ico", icon),
    path("admin/", admin.site.urls),
    path("api/", api.urls),
    path("", include("dms_project.logins.urls")),
    path("", include("documents.pages.urls")),
]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error
