"""Two tenants and the operators, each with the same people and one of everything that has an id."""

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import Group, User
from django.test import Client
from django.test.client import ClientHandler
from django.utils import timezone

from dms_project.tenancy import PUBLIC, use
from dms_project.tenancy.models import Tenant
from dms_project.tokens.models import ApiToken
from documents import thumbnails
from documents.models import AuditEntry, Document, DocumentPage, DocumentVersion, Note, ResumableUpload, SavedSearch
from documents.roles import Role, set_role
from jobqueue.models import JobSchedule, ProcessingJob
from jobqueue.queue import Queue
from tests.documents.http import Api

HOSTS = {"acme": "acme.localhost", "globex": "globex.localhost", PUBLIC: "localhost"}
DOCUMENT, JOB, NOTE = "documents/document", "jobqueue/processingjob", "documents/note"
SCHEMA = "tenancy/tenant schema_name"
SEARCH = "documents/savedsearch"
UPLOAD = "documents/resumableupload"

Ids = dict[str, Any]


def unknown_ids(like: Ids) -> Ids:
    """Return ids that nobody has."""
    return dict.fromkeys(like, 999_999_999) | {DOCUMENT: uuid4(), UPLOAD: uuid4(), SCHEMA: "nobody"}


@dataclass
class House:
    """A schema with its people: a ``user``, a member of ``staff`` without any permission, a superuser (``boss``).

    ``ids``: of one object of each kind, by app and model. ``trashed``: the same, with a document in the trash.
    """

    name: str
    ids: Ids = field(default_factory=dict)
    trashed: Ids = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    _handlers: dict[bool, ClientHandler] = field(
        default_factory=lambda: {each: ClientHandler(each) for each in (False, True)}
    )

    def browser(self, role: str, host: str, enforce_csrf_checks: bool = False) -> Client:
        """Return somebody's browser, which sends their session to any host."""
        client = Client(headers={"host": HOSTS[host]})
        client.handler = self._handlers[enforce_csrf_checks]  # loads its middleware but once
        client.raise_request_exception = False
        if role in self.sessions:
            client.cookies["sessionid"] = self.sessions[role]
        return client

    def bearer(self, role: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[role]}"} if role in self.tokens else {}

    def let_in(self, role: str, user: User) -> None:
        client = Client(headers={"host": HOSTS[self.name]})
        client.force_login(user)
        self.sessions[role] = client.cookies["sessionid"].value
        self.tokens[role] = ApiToken.objects.issue(user, role)[1]


@dataclass(frozen=True)
class World:
    acme: House
    globex: House
    public: House


def furnish(name: str, first_id: int) -> House:
    """Fill a schema. Its ids begin at ``first_id``, so that no two schemas have one in common."""
    house = House(name)
    with use(name):
        user = User.objects.create_user("user", pk=first_id)
        house.let_in("user", user)
        reader = User.objects.create_user("reader", pk=first_id + 3)
        set_role(reader, Role.READER)
        house.let_in("reader", reader)
        house.let_in("staff", User.objects.create_user("staff", pk=first_id + 1, is_staff=True))
        house.let_in("boss", User.objects.create_superuser("boss", pk=first_id + 2))
        group = Group.objects.create(name="group", pk=first_id)
        token = ApiToken.objects.create(pk=first_id, user=user, label="scanner", sha256=f"{first_id:064}")
        entry = {"auth/user": user.pk, "auth/group": group.pk, "tokens/apitoken": token.pk, JOB: first_id, SCHEMA: name}
        made_by_hand = JobSchedule.objects.create(
            name=f"{first_id}", timetable="every 1 d", job_type="documents.process"
        )
        entry["jobqueue/jobschedule"] = made_by_hand.pk
        if name == PUBLIC:
            Queue().enqueue("test.ok", {})
            ProcessingJob.objects.update(id=first_id)
            entry["tenancy/tenant"] = Tenant.objects.get(schema_name="acme").pk
        else:
            entry["tenancy/tenant"] = Tenant.objects.get(schema_name=name).pk
            entry[DOCUMENT], trashed = _two_documents(Api(name, user), first_id)
            AuditEntry.objects.create(pk=first_id, action="renamed", document_id=entry[DOCUMENT])
            entry["documents/auditentry"] = first_id
            entry[NOTE] = Note.objects.create(pk=first_id, document_id=entry[DOCUMENT], text="note").pk
            boss = User.objects.get(username="boss")
            search = SavedSearch(pk=first_id, user=boss, name="search", key="search", asked={"q": "words"})
            search.save(force_insert=True)
            entry[SEARCH] = search.pk
            begun = ResumableUpload(UUID(int=first_id), user=boss, file_name="later", size_bytes=5)
            begun.expires_at = datetime.now(UTC) + timedelta(days=1)
            begun.save(force_insert=True)
            entry[UPLOAD] = begun.pk
            house.trashed = entry | {DOCUMENT: trashed}
    house.ids = entry
    return house


def _two_documents(api: Api, job_id: int) -> tuple[str, str]:
    """Upload a document and another one that goes to the trash; they share a job."""
    kept, trashed = (api.upload(f"{words} {job_id}".encode()).json()["id"] for words in ("words", "old words"))
    ProcessingJob.objects.exclude(payload__document_id=kept).delete()
    ProcessingJob.objects.update(id=job_id)
    Document.objects.update(job_id=job_id)
    Document.objects.filter(pk=trashed).update(deleted_at=timezone.now())
    for version in DocumentVersion.objects.all():
        DocumentPage.objects.create(version=version, number=1, text="words")
        thumbnail = asdict(thumbnails.keep(version, b"a small picture"))
        named = {f"thumbnail_{name}": value for name, value in thumbnail.items()}
        DocumentVersion.objects.filter(pk=version.pk).update(**named)
    return kept, trashed
