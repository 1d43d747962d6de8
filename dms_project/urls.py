"""URLs of every host; which schema answers is the tenancy middleware's decision."""

from django.contrib import admin
from django.urls import path

from dms_project.api import api

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/", api.urls),
]
