"""Which objects belong to a version, and that a row is only written for an object that is there and stays."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction

from documents import objects
from documents.exceptions import StorageUnavailable
from documents.models import DocumentVersion
from documents.storage import ObjectStore, key_of, parse_key
from tests.documents.http import Api


def test_a_version_owns_its_original(api: Api) -> None:
    api.upload(b"content")
    version = DocumentVersion.objects.get()
    assert [(owned.key, owned.size_bytes) for owned in objects.objects_of(version)] == [(version.storage_key, 7)]


def test_of_some_keys_those_of_versions_are_told_in_the_trash_too(api: Api, tenant: str) -> None:
    document_id = api.upload(b"content").json()["id"]
    key = DocumentVersion.objects.get().storage_key
    api.client.delete(f"/api/documents/{document_id}")
    strangers = [key_of(tenant, uuid4(), 1), key_of(tenant, document_id, 2), f"{key}.copy", "no key at all"]
    assert objects.owned_among([key, *strangers]) == {key}


@pytest.mark.parametrize(
    "key", ["", "acme", "acme/x/1/original", "../etc", f"acme/{UUID(int=1)}/0/original", "a/b/c/d/e"]
)
def test_what_is_no_key_has_no_parts(key: str) -> None:
    assert parse_key(key) is None


def test_a_key_has_the_parts_it_was_made_of() -> None:
    document_id = uuid4()
    parts = parse_key(key_of("acme", document_id, 12, "thumbnail"))
    assert parts
    assert (parts.tenant, parts.document_id, parts.version, parts.kind) == ("acme", document_id, 12, "thumbnail")


def test_what_is_missing_or_has_another_size_can_not_be_held(api: Api, local_store: ObjectStore) -> None:
    api.upload(b"content")
    key = DocumentVersion.objects.get().storage_key
    with transaction.atomic():
        objects.hold(key, 7)
        with pytest.raises(StorageUnavailable, match="altered"):
            objects.hold(key, 8)
        local_store.delete(key)
        with pytest.raises(StorageUnavailable, match="not there"):
            objects.hold(key, 7)


def test_an_upload_whose_object_vanished_before_its_row_was_written_is_a_503(
    api: Api, local_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = type(local_store).put

    def put_and_lose(store: ObjectStore, key: str, *args: Any) -> None:
        put(store, key, *args)
        store.delete(key)

    monkeypatch.setattr(type(local_store), "put", put_and_lose)
    assert api.upload(b"content").status_code == 503
    assert not DocumentVersion.objects.exists()
