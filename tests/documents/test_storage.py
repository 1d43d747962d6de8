"""The object store, on a local folder and on a real S3 server."""

import hashlib
import os
import stat
import threading
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from documents.exceptions import (
    ObjectDamaged,
    ObjectExists,
    ObjectMissing,
    StorageMisconfigured,
    StorageUnavailable,
)
from documents.storage import ObjectStore, key_of, object_store
from documents.storage._local import MARKER
from tests.documents.servers import S3Server, free_ports, s3_storage, use_storage
from tests.faults.proxy import FaultyConnection

LARGE = 34 * 2**20 + 17  # more than two parts of a multipart upload


def new_key(tenant: str = "acme") -> str:
    return key_of(tenant, uuid4(), 1)


def put(store: ObjectStore, content: bytes, key: str | None = None) -> str:
    key = key or new_key()
    store.put(key, BytesIO(content), hashlib.sha256(content).hexdigest())
    return key


def get(store: ObjectStore, key: str, start: int = 0, length: int | None = None) -> bytes:
    with store.open(key, start, length) as reader:
        return b"".join(reader)


def fetch(store: ObjectStore, key: str, content: bytes) -> bytes:
    target = BytesIO()
    store.fetch(key, target, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))
    return target.getvalue()


@pytest.mark.parametrize("content", [b"x", bytes(range(256)) * 5000], ids=["one byte", "many chunks"])
def test_what_was_put_is_got(store: ObjectStore, content: bytes) -> None:
    key = put(store, content)
    assert get(store, key) == content
    assert fetch(store, key, content) == content
    assert store.size(key) == len(content)


def test_a_large_object_survives_the_way_in_parts(store: ObjectStore) -> None:
    content = os.urandom(LARGE)
    key = put(store, content)
    assert fetch(store, key, content) == content


def test_a_file_is_stored_whole_wherever_it_was_read_to(store: ObjectStore) -> None:
    file = BytesIO(b"whole")
    file.seek(3)
    key = new_key()
    store.put(key, file, hashlib.sha256(b"whole").hexdigest())
    assert get(store, key) == b"whole"


@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_range_is_the_slice_it_names(store: ObjectStore, data: st.DataObject) -> None:
    content = bytes(range(251)) * 4
    key = "acme/ranges/1/original"
    put(store, content, key)
    start = data.draw(st.integers(0, len(content) - 1))
    length = data.draw(st.none() | st.integers(1, len(content) - start))
    assert get(store, key, start, length) == content[start:][:length]


def test_a_missing_object_is_told_at_once(store: ObjectStore) -> None:
    put(store, b"another one, so that the folder is there")
    key = new_key()
    for ask in (store.open, store.size):
        with pytest.raises(ObjectMissing, match=key):
            ask(key)


def test_an_object_is_never_overwritten(store: ObjectStore) -> None:
    key = put(store, b"first")
    with pytest.raises(ObjectExists):
        put(store, b"second", key)
    assert get(store, key) == b"first"


def test_a_large_object_is_never_overwritten(store: ObjectStore) -> None:
    key = put(store, b"first")
    with pytest.raises(ObjectExists):
        put(store, bytes(LARGE), key)
    assert get(store, key) == b"first"


def test_putting_the_same_bytes_again_succeeds(store: ObjectStore) -> None:
    key = put(store, b"same")
    assert put(store, b"same", key) == key


def test_of_many_who_put_one_key_exactly_one_succeeds(store: ObjectStore) -> None:
    key, outcomes, barrier = new_key(), [], threading.Barrier(8)

    def compete(number: int) -> None:
        barrier.wait()
        try:
            put(store, b"%d" % number * 1000, key)
            outcomes.append(number)
        except ObjectExists:
            pass

    threads = [threading.Thread(target=compete, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [get(store, key)[:1]] == [b"%d" % number for number in outcomes]


def test_deleting_is_final_and_can_be_repeated(store: ObjectStore) -> None:
    key = put(store, b"gone")
    store.delete(key)
    store.delete(key)
    with pytest.raises(ObjectMissing):
        store.open(key)


def test_deleting_a_tenant_spares_the_one_whose_name_begins_alike(store: ObjectStore) -> None:
    gone, kept = put(store, b"1", new_key("acme")), put(store, b"2", new_key("acme2"))
    store.delete_tenant("acme")
    assert list(store.list_keys("acme/")) == []
    left = list(store.list_keys())
    assert kept in left
    assert gone not in left


def test_what_is_not_the_expected_bytes_is_not_passed_on_as_whole(store: ObjectStore) -> None:
    key = put(store, b"as stored")
    with pytest.raises(ObjectDamaged):
        fetch(store, key, b"as expected")


def test_the_store_that_answers_passes_the_check(store: ObjectStore) -> None:
    store.check()


# The S3 server in trouble


def test_wrong_credentials_are_told_from_an_outage(s3_server: S3Server, s3_store: ObjectStore, settings: Any) -> None:
    key = put(s3_store, b"secret")
    stranger = use_storage(settings, s3_storage(s3_server.port, secret="wrong"))
    for attempt in (stranger.check, lambda: put(stranger, b"x"), lambda: get(stranger, key)):
        with pytest.raises(StorageMisconfigured, match=r"SignatureDoesNotMatch|InvalidAccessKeyId"):
            attempt()


def test_a_bucket_that_does_not_exist_is_told_from_a_missing_object(
    s3_server: S3Server, s3_store: ObjectStore, settings: Any
) -> None:
    astray = use_storage(settings, s3_storage(s3_server.port, bucket="nowhere"))
    for attempt in (astray.check, lambda: get(astray, new_key())):
        with pytest.raises(StorageMisconfigured, match="NoSuchBucket"):
            attempt()


def test_a_server_that_is_not_there_is_an_outage(settings: Any) -> None:
    nobody = use_storage(settings, s3_storage(free_ports(1)[0]))
    for attempt in (nobody.check, lambda: put(nobody, b"x"), lambda: nobody.open("k"), lambda: nobody.delete("k")):
        with pytest.raises(StorageUnavailable):
            attempt()


@pytest.mark.parametrize("mode", ["refuse", "silence"])
def test_an_outage_is_noticed_and_over_when_it_is_over(connection_to_s3: FaultyConnection, mode: str) -> None:
    store = object_store()
    key = put(store, b"before")
    connection_to_s3.mode = mode
    for attempt in (lambda: put(store, b"x"), lambda: get(store, key)):
        with pytest.raises(StorageUnavailable):
            attempt()
    connection_to_s3.mode = "pass"
    assert get(store, key) == b"before"


@pytest.mark.parametrize("cut_after", [500, 2 * 2**20, 5 * 2**20])
def test_an_answer_that_breaks_off_never_passes_for_whole(connection_to_s3: FaultyConnection, cut_after: int) -> None:
    store = object_store()
    content = os.urandom(6 * 2**20)
    key = put(store, content)
    connection_to_s3.mode, connection_to_s3.cut_after = "cut", cut_after
    with pytest.raises(StorageUnavailable):
        get(store, key)


def test_an_upload_that_breaks_off_leaves_no_object(connection_to_s3: FaultyConnection) -> None:
    store = object_store()
    key = new_key()
    connection_to_s3.mode, connection_to_s3.cut_after = "cut", 0
    with pytest.raises(StorageUnavailable):
        put(store, bytes(LARGE), key)
    connection_to_s3.mode = "pass"
    with pytest.raises(ObjectMissing):
        store.open(key)


def test_a_lost_answer_to_a_put_that_worked_is_a_success(connection_to_s3: FaultyConnection) -> None:
    store = object_store()
    key = put(store, b"it arrived")
    # What botocore's retry does after it got no answer: the same again, and a 412.
    assert put(store, b"it arrived", key) == key


# The local folder


def test_folders_and_files_are_for_their_owner_alone(local_store: ObjectStore, tmp_path: Path) -> None:
    put(local_store, b"private")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "storage").rglob("*")}
    assert modes == {0o700, 0o600}


def test_nobody_sees_half_a_file(local_store: ObjectStore, tmp_path: Path) -> None:
    class Failing(BytesIO):
        def read(self, *args: Any) -> bytes:
            if self.tell():
                raise OSError(28, "No space left on device")
            return super().read(1)

    with pytest.raises(StorageUnavailable, match="No space left"):
        local_store.put(new_key(), Failing(b"two parts"), "0" * 64)
    assert [path.name for path in (tmp_path / "storage").rglob("*") if path.is_file()] == [MARKER]


def test_a_volume_that_is_not_mounted_does_not_make_objects_missing(local_store: ObjectStore, tmp_path: Path) -> None:
    key = put(local_store, b"on the volume")
    (tmp_path / "storage").rename(tmp_path / "elsewhere")
    with pytest.raises(StorageUnavailable, match="not there"):
        local_store.open(key)


def test_no_key_leads_out_of_the_folder(local_store: ObjectStore) -> None:
    from django.core.exceptions import SuspiciousFileOperation

    for key in ("../outside", "/etc/passwd", "acme/../../outside"):
        with pytest.raises(SuspiciousFileOperation):
            put(local_store, b"x", key)
