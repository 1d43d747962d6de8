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

# The admin, but for its redirect to an object's own page: no model has one, and it fails on an id that is no UUID.
_urls, _app_name, _namespace = admin.site.urls
admin_urls = [url for url in _urls if getattr(url, "name", "") != "view_on_site"], _app_name, _namespace

urlpatterns = [
    path("favicon.ico", icon),
    path("admin/", admin_urls),
    path("api/", api.urls),
    path("", include("dms_project.logins.urls")),
    path("", include("documents.pages.urls")),
]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error
