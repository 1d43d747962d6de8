"""S3 in trouble of every kind: told with its reason, in bounded time, and over when it is over (D29)."""

import errno
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import BytesIO
from typing import Any

import botocore.auth
import pytest
from botocore.awsrequest import AWSHTTPConnection

from documents.exceptions import ObjectMissing, OutageReason, StorageUnavailable
from documents.models import Document
from documents.storage import ObjectStore, object_store
from jobqueue.models import ProcessingJob
from tests.documents.http import Api
from tests.documents.servers import S3Server, http_answer, s3_storage, use_storage
from tests.documents.test_storage import LARGE, new_key, put
from tests.documents.work import work_off
from tests.faults.proxy import FaultyConnection
from tests.stopwatch import Stopwatch

Call = Callable[[ObjectStore], object]

EVERY_CALL: dict[str, Call] = {
    "put": lambda store: put(store, b"x"),
    "open": lambda store: store.open(new_key()),
    "size": lambda store: store.size(new_key()),
    "delete": lambda store: store.delete(new_key()),
    "list": lambda store: list(store.list_keys("acme/")),
    "unfinished": lambda store: list(store.list_unfinished("acme/")),
    "tenants": lambda store: list(store.list_tenants()),
    "check": lambda store: store.check(),
}


def reason_of(call: Call, store: ObjectStore) -> OutageReason:
    with pytest.raises(StorageUnavailable) as caught:
        call(store)
    return caught.value.reason


SLOW_DOWN = "<Error><Code>SlowDown</Code><Message>later</Message></Error>"
NO_SPACE = "<Error><Code>XMinioStorageFull</Code><Message>no space</Message></Error>"
TROUBLE = {
    "refuse": OutageReason.UNREACHABLE,
    "silence": OutageReason.NO_ANSWER,
    "trickle": OutageReason.NO_ANSWER,
    "slow down": OutageReason.FAILING,
    "no space": OutageReason.FULL,
}


class Trouble:
    """One kind of trouble with the connection to S3, for as long as a block lasts."""

    def __init__(self, mode: str, connection: FaultyConnection, settings: Any) -> None:
        self.reason = TROUBLE[mode]
        said = {"slow down": http_answer("503 Slow Down", SLOW_DOWN), "no space": http_answer("507 Full", NO_SPACE)}
        self._said = said.get(mode, b"")
        self._mode = "say" if self._said else mode
        self._connection = connection
        self._settings = settings

    def __enter__(self) -> None:
        # Long enough for a second attempt where something answers.
        self._settings.DMS_STORAGE_TIMEOUT = timedelta(seconds=1 if self.reason is OutageReason.NO_ANSWER else 4)
        self._connection.said, self._connection.mode = self._said, self._mode

    def __exit__(self, *exc_info: object) -> None:
        self._settings.DMS_STORAGE_TIMEOUT = timedelta(seconds=20)
        self._connection.mode = "pass"


@pytest.fixture(params=TROUBLE)
def trouble(request: pytest.FixtureRequest, connection_to_s3: FaultyConnection, settings: Any) -> Trouble:
    object_store().check()  # makes the client, which takes a moment that counts
    return Trouble(request.param, connection_to_s3, settings)


def test_every_call_tells_the_reason_in_bounded_time(trouble: Trouble) -> None:
    store = object_store()

    def answered(call: Call) -> tuple[OutageReason, float]:
        with Stopwatch() as watch:
            return reason_of(call, store), watch.seconds

    with trouble, ThreadPoolExecutor(len(EVERY_CALL)) as callers:  # side by side, since most of it is waiting
        answers = dict(zip(EVERY_CALL, callers.map(answered, EVERY_CALL.values()), strict=True))
    assert {name: reason for name, (reason, _) in answers.items()} == dict.fromkeys(EVERY_CALL, trouble.reason)
    assert {name: seconds for name, (_, seconds) in answers.items() if seconds >= 5} == {}


def test_in_trouble_uploads_and_downloads_are_answered_clearly_and_work_again(api: Api, trouble: Trouble) -> None:
    path = f"/{api.upload(b'stored before').json()['id']}/download"
    expected = (503, "storage_unavailable")
    if trouble.reason is OutageReason.FULL:
        expected = (507, "storage_full")
    with trouble:
        for answer in (api.upload(b"content"), api.get(path)):
            assert (answer.status_code, answer.json()["code"]) == expected
        assert Document.objects.count() == 1
        assert api.get().status_code == 200
    assert api.upload(b"content").status_code == 201
    assert b"".join(api.get(path)) == b"stored before"


def test_a_job_that_meets_trouble_is_tried_again_and_finds_nothing_about_the_document(
    api: Api, trouble: Trouble
) -> None:
    path = f"/{api.upload(b'some words').json()['id']}"
    with trouble:
        [job] = work_off()
    assert (job.status, job.attempts) == ("pending", 1)
    assert (api.get(path).json()["status"], api.get(path).json()["steps"]) == ("processing", [])
    ProcessingJob.objects.update(available_at="2000-01-01T00:00Z")
    work_off()
    assert api.get(path).json()["status"] == "ready"


def test_a_name_that_nobody_knows_is_an_outage(settings: Any) -> None:
    entry = s3_storage(1)
    entry["OPTIONS"]["endpoint_url"] = "http://storage.invalid"  # type: ignore[index]
    store = use_storage(settings, entry)
    assert reason_of(EVERY_CALL["check"], store) is OutageReason.UNREACHABLE


def test_wrong_keys_a_missing_bucket_and_a_wrong_clock_are_told_apart(
    s3_server: S3Server, s3_store: ObjectStore, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without those that SeaweedFS takes even where there is no bucket: it makes one.
    calls = [EVERY_CALL[name] for name in ("open", "size", "list", "tenants", "check")]

    def reasons(**wrong: str) -> set[OutageReason]:
        store = use_storage(settings, s3_storage(s3_server.port, **wrong))
        return {reason_of(call, store) for call in calls}

    assert reasons(secret="wrong") == {OutageReason.REFUSED}
    assert reasons(bucket="nowhere") == {OutageReason.NO_BUCKET}
    now = botocore.auth.get_current_datetime
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *args: now(*args) - timedelta(minutes=20))
    assert reasons() == {OutageReason.CLOCK}


def test_a_put_in_parts_that_fails_leaves_no_parts(s3_store: ObjectStore) -> None:
    class Failing(BytesIO):
        def read(self, *args: Any) -> bytes:
            if self.tell() > LARGE // 2:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(*args)

    key = new_key()
    with pytest.raises(OSError, match="Input/output"):
        s3_store.put(key, Failing(bytes(LARGE)), "0" * 64)
    assert list(s3_store.list_unfinished(key)) == []
    with pytest.raises(ObjectMissing):
        s3_store.open(key)


def test_parts_that_could_not_be_removed_are_listed_and_can_be_abandoned(
    connection_to_s3: FaultyConnection, s3_store: ObjectStore
) -> None:
    key, store = new_key(), object_store()

    class CutOff(BytesIO):
        def read(self, *args: Any) -> bytes:
            if self.tell() > LARGE // 2:
                connection_to_s3.mode = "refuse"
            return super().read(*args)

    with pytest.raises(StorageUnavailable):
        store.put(key, CutOff(bytes(LARGE)), "0" * 64)
    [unfinished] = s3_store.list_unfinished(key)
    assert unfinished.key == key
    s3_store.abandon(unfinished)
    s3_store.abandon(unfinished)
    assert list(s3_store.list_unfinished(key)) == []


@pytest.mark.parametrize("said", [b"", b"Connection: keep-alive\r\n", b"half a li"])
def test_a_server_that_is_gone_after_100_continue_keeps_no_thread_reading_for_ever(said: bytes) -> None:
    connection = AWSHTTPConnection("127.0.0.1")
    with pytest.raises(ConnectionResetError):
        connection._consume_headers(BytesIO(said))
    connection._consume_headers(BytesIO(b"Connection: keep-alive\r\n\r\n"))
