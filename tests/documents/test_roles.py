"""Roles: which one somebody has, and what the API answers to those who have too little. Each route: tests/access."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command

from dms_project.tenancy import use
from documents.models import AuditEntry, Document
from documents.roles import Role, role_of, set_role
from tests.documents.http import Api


def test_who_is_in_no_group_has_the_role_of_the_settings(user: User, settings: Any) -> None:
    assert role_of(user) is Role.EDITOR
    settings.DMS_DEFAULT_ROLE = "reader"
    assert role_of(user) is Role.READER


def test_of_several_groups_the_highest_counts_and_others_mean_nothing(user: User) -> None:
    for name in ("reader", "admin", "editor", "Admin", "boss"):
        user.groups.add(Group.objects.create(name=name))
    assert role_of(user) is Role.ADMIN
    set_role(user, Role.READER)
    assert role_of(user) is Role.READER
    assert user.groups.count() == 3
    user.is_superuser = True
    assert role_of(user) is Role.ADMIN


def test_a_reader_reads_and_changes_nothing(api: Api, user: User) -> None:
    document_id = api.upload(b"words").json()["id"]
    set_role(user, Role.READER)
    refused = [
        api.upload(b"more"),
        api.client.patch(f"/api/documents/{document_id}", '{"title": "x"}', "application/json"),
        api.client.delete(f"/api/documents/{document_id}"),
        *(api.client.post(f"/api/documents/{document_id}/{verb}") for verb in ("restore", "reprocess", "purge")),
        api.client.post(f"/api/documents/{document_id}/notes", '{"text": "x"}', "application/json"),
    ]
    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(403, "not_allowed")}
    assert AuditEntry.objects.count() == 1
    assert b"".join(api.get(f"/{document_id}/download")) == b"words"


def test_only_an_admin_deletes_for_good_and_only_from_the_trash(api: Api, user: User) -> None:
    path = f"/api/documents/{api.upload(b'words').json()['id']}"
    api.client.delete(path)
    assert api.client.post(f"{path}/purge").status_code == 403
    set_role(user, Role.ADMIN)
    assert api.client.post(f"{path}/purge").status_code == 204
    assert api.client.post(f"{path}/purge").status_code == 404
    assert not Document.objects.exists()
    assert AuditEntry.objects.latest("pk").actor_name == "alice"


def test_a_role_holds_in_its_tenant_alone(api: Api, user: User, tenant: str) -> None:
    elsewhere = {"acme": "globex", "globex": "acme"}[tenant]
    with use(elsewhere):
        namesake = User.objects.create_user("alice", pk=user.pk)
        set_role(namesake, Role.ADMIN)
    assert role_of(user) is Role.EDITOR


def test_the_command_gives_a_role(user: User, tenant: str, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("documents", "set-role", "alice", "reader", "--tenant", tenant)
    assert capsys.readouterr().out == f"alice of {tenant} is reader now.\n"
    assert role_of(User.objects.get()) is Role.READER
    with pytest.raises(CommandError, match="has no user bob"):
        call_command("documents", "set-role", "bob", "reader", "--tenant", tenant)
