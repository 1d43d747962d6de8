"""API tokens in the admin: to look at and to revoke. ``manage.py token create`` issues them."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from dms_project.tokens.models import ApiToken
from jobqueue.admin.labels import label

label(
    ApiToken,
    _("API token"),
    _("API tokens"),
    label=_("label"),
    user=_("user"),
    created_at=_("created at"),
    last_used_at=_("last used at"),
    revoked_at=_("revoked at"),
)


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    list_display = ["label", "user", "created_at", "last_used_at", "revoked_at"]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter)]
    list_select_related = ["user"]
    search_fields = ["label", "user__username"]
    fields = ["label", "user", "created_at", "last_used_at", "revoked_at"]
    actions = ["revoke"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("tokens.change_apitoken")

    @admin.action(description=_("Revoke"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        revoked = [token for token in queryset if token.revoke()]
        for token in revoked:
            self.log_change(request, token, "Revoked.")
        words = {"revoked": len(revoked), "tokens": len(queryset)}
        self.message_user(request, gettext("%(revoked)d of %(tokens)d tokens revoked.") % words)
