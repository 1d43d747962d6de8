"""Documents, their versions with the text of each page, and what happened to them. Tables of a tenant's schema."""

from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from dms_project.tenancy.relations import cascade_where_it_lives, set_null_where_it_lives
from documents.states import AuditAction, DocumentStatus, Duplicates

TITLE_MAX_LENGTH = 255
FILE_NAME_MAX_LENGTH = 255
LABEL_MAX_LENGTH = 64
NOTE_MAX_LENGTH = 10_000

#: Made in each tenant's schema by the first migration; both take accents off before they stem.
SEARCH_CONFIGURATIONS = ("dms_german", "dms_english")


class Label(models.Model):
    """A name that documents share. Two names that differ in upper and lower case alone are one; the first one stays."""

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=LABEL_MAX_LENGTH)
    # Folded by Python, since what lower() does in PostgreSQL depends on the database's locale.
    key = models.CharField(max_length=3 * LABEL_MAX_LENGTH, unique=True, help_text="the name in lower case")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


class Tag(Label):
    """A word that somebody gave to documents."""

    class Meta:
        constraints = [models.CheckConstraint(name="tag_is_not_empty", condition=~Q(name="") & ~Q(key=""))]


class Correspondent(Label):
    """Whom a document comes from, or goes to."""

    class Meta:
        constraints = [models.CheckConstraint(name="correspondent_is_not_empty", condition=~Q(name="") & ~Q(key=""))]


class Document(models.Model):
    """What a user sees as one document. Its content stands in its versions, the current one of which is shown."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    title = models.CharField(max_length=TITLE_MAX_LENGTH)
    status = models.CharField(max_length=20, choices=DocumentStatus.choices, db_default=DocumentStatus.PROCESSING.value)
    steps = models.JSONField(db_default=[], help_text="name, status, reason and detail of each step that has ended")
    # A number, not a foreign key: the queue removes jobs that ended long ago.
    job_id = models.BigIntegerField(null=True, help_text="the job that processes it, or did so last")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, set_null_where_it_lives, null=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True, help_text="when it was moved to the trash")
    tags = models.ManyToManyField(Tag, related_name="documents")
    correspondent = models.ForeignKey(Correspondent, models.SET_NULL, null=True, related_name="documents")
    document_date = models.DateField(null=True, help_text="of the letter or bill itself")
    date_is_guessed = models.BooleanField(db_default=True, help_text="from the text; false: somebody set or cleared it")
    title_search = models.GeneratedField(
        expression=SearchVector("title", config=SEARCH_CONFIGURATIONS[0])
        + SearchVector("title", config=SEARCH_CONFIGURATIONS[1]),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        constraints = [
            models.CheckConstraint(name="document_status_is_known", condition=Q(status__in=DocumentStatus.values)),
            models.CheckConstraint(name="document_title_is_not_empty", condition=~Q(title="")),
        ]
        indexes = [
            models.Index(
                F("created_at").desc(),
                F("id"),
                name="documents_newest_first",
                condition=Q(deleted_at__isnull=True),
            ),
            models.Index(fields=["document_date"], name="documents_by_their_date"),
            GinIndex(fields=["title_search"], name="document_titles_by_word"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def names_of_tags(self) -> list[str]:
        """In the order of the alphabet; asks nothing if the tags were fetched with the document."""
        return [tag.name for tag in sorted(self.tags.all(), key=lambda tag: tag.key)]


class DocumentVersion(models.Model):
    """An original as it was uploaded, and where it lies.

    Only ``is_current`` and what processing found ever change: ``page_count``, and which objects are its thumbnail, its
    archive version and its copy without a password.
    """

    document = models.ForeignKey(Document, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    is_current = models.BooleanField(default=True)
    is_copy = models.BooleanField(db_default=False, help_text="another document had these bytes, which was allowed")
    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField()
    mime_type = models.CharField(max_length=100, help_text="by its content")
    file_name = models.CharField(max_length=FILE_NAME_MAX_LENGTH, help_text="as it was uploaded; only for display")
    storage_key = models.CharField(max_length=200)
    thumbnail_key = models.CharField(max_length=200, db_default="", help_text="empty: there is no thumbnail")
    thumbnail_sha256 = models.CharField(max_length=64, db_default="")
    thumbnail_size_bytes = models.PositiveIntegerField(db_default=0)
    archive_key = models.CharField(max_length=200, db_default="", help_text="empty: there is no archive version")
    archive_sha256 = models.CharField(max_length=64, db_default="")
    archive_size_bytes = models.PositiveBigIntegerField(db_default=0)
    unlocked_key = models.CharField(max_length=200, db_default="", help_text="of the copy without a password; or empty")
    unlocked_sha256 = models.CharField(max_length=64, db_default="")
    unlocked_size_bytes = models.PositiveBigIntegerField(db_default=0)
    page_count = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "number"], name="version_number_is_unique_in_document"),
            models.UniqueConstraint(
                fields=["document"], condition=Q(is_current=True), name="document_has_one_current_version"
            ),
            # Decides who is first when the same bytes come twice at a time. The trash counts too.
            models.UniqueConstraint(
                fields=["sha256"], condition=Q(is_current=True, is_copy=False), name="current_original_is_unique"
            ),
            models.UniqueConstraint(fields=["storage_key"], name="object_belongs_to_one_version"),
            models.UniqueConstraint(
                fields=["thumbnail_key"], condition=~Q(thumbnail_key=""), name="thumbnail_belongs_to_one_version"
            ),
            models.CheckConstraint(
                name="thumbnail_is_described",
                condition=Q(thumbnail_key="", thumbnail_sha256="", thumbnail_size_bytes=0)
                | Q(thumbnail_sha256__regex="^[0-9a-f]{64}$", thumbnail_size_bytes__gte=1) & ~Q(thumbnail_key=""),
            ),
            models.UniqueConstraint(
                fields=["archive_key"], condition=~Q(archive_key=""), name="archive_belongs_to_one_version"
            ),
            models.CheckConstraint(
                name="archive_is_described",
                condition=Q(archive_key="", archive_sha256="", archive_size_bytes=0)
                | Q(archive_sha256__regex="^[0-9a-f]{64}$", archive_size_bytes__gte=1) & ~Q(archive_key=""),
            ),
            models.UniqueConstraint(
                fields=["unlocked_key"], condition=~Q(unlocked_key=""), name="unlocked_copy_belongs_to_one_version"
            ),
            models.CheckConstraint(
                name="unlocked_copy_is_described",
                condition=Q(unlocked_key="", unlocked_sha256="", unlocked_size_bytes=0)
                | Q(unlocked_sha256__regex="^[0-9a-f]{64}$", unlocked_size_bytes__gte=1) & ~Q(unlocked_key=""),
            ),
            models.CheckConstraint(name="version_number_is_positive", condition=Q(number__gte=1)),
            models.CheckConstraint(name="version_is_not_empty", condition=Q(size_bytes__gte=1)),
            models.CheckConstraint(name="sha256_is_hexadecimal", condition=Q(sha256__regex="^[0-9a-f]{64}$")),
        ]
        indexes = [models.Index(fields=["sha256"], name="originals_by_hash", condition=Q(is_current=True))]

    def __str__(self) -> str:
        return f"version {self.number}"


class DocumentPage(models.Model):
    """The text of one page, and the words to find it by."""

    id = models.BigAutoField(primary_key=True)
    version = models.ForeignKey(DocumentVersion, models.CASCADE, related_name="pages")
    number = models.PositiveIntegerField()
    text = models.TextField()
    is_recognised = models.BooleanField(db_default=False, help_text="the text was recognised in a picture")
    # Written with the text. Not generated by the database: a page with too many words would refuse its own text.
    search = SearchVectorField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "number"], name="page_number_is_unique_in_version"),
            models.CheckConstraint(name="page_number_is_positive", condition=Q(number__gte=1)),
        ]
        indexes = [GinIndex(fields=["search"], name="pages_by_word")]

    def __str__(self) -> str:
        return f"page {self.number}"


class Note(models.Model):
    """What somebody wrote about a document."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.CASCADE, related_name="notes")
    text = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, set_null_where_it_lives, null=True, related_name="+")
    author_name = models.CharField(max_length=150, blank=True, help_text="stays when the user goes")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.CheckConstraint(name="note_is_not_empty", condition=~Q(text=""))]

    def __str__(self) -> str:
        return f"note {self.pk}"


class SavedSearch(models.Model):
    """What a user looks for again and again: a search of the list, under a name of the user's own."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, cascade_where_it_lives, related_name="+")
    name = models.CharField(max_length=LABEL_MAX_LENGTH)
    key = models.CharField(max_length=3 * LABEL_MAX_LENGTH, help_text="the name in lower case")
    asked = models.JSONField(help_text="parameters of the list's address")

    class Meta:
        verbose_name_plural = "saved searches"
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="search_name_is_unique_for_its_user"),
            models.CheckConstraint(name="search_has_a_name", condition=~Q(name="") & ~Q(key="")),
        ]

    def __str__(self) -> str:
        return self.name


class ResumableUpload(models.Model):
    """A file that comes in pieces, or has come. Written only by ``documents.resumable``."""

    id = models.UUIDField(primary_key=True, default=uuid4)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, cascade_where_it_lives, related_name="+")
    file_name = models.CharField(max_length=FILE_NAME_MAX_LENGTH)
    title = models.CharField(max_length=TITLE_MAX_LENGTH)
    tags = models.JSONField(default=list)
    size_bytes = models.BigIntegerField()
    received_bytes = models.BigIntegerField(default=0)
    expires_at = models.DateTimeField(db_index=True)
    # No foreign key: what became of the upload is told also when the document is gone.
    document_id = models.UUIDField(null=True, help_text="what the whole file became")
    duplicate = models.BooleanField(default=False)
    restored = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="upload_has_no_more_than_its_size",
                condition=Q(received_bytes__gte=0, received_bytes__lte=F("size_bytes")),
            ),
        ]

    def __str__(self) -> str:
        return self.file_name


class UploadPiece(models.Model):
    """Bytes of an unfinished upload, as an object of the store."""

    upload = models.ForeignKey(ResumableUpload, on_delete=models.CASCADE, related_name="pieces")
    start_byte = models.BigIntegerField()
    size_bytes = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    storage_key = models.CharField(max_length=255, unique=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["upload", "start_byte"], name="upload_has_one_piece_for_each_place"),
        ]

    def __str__(self) -> str:
        return self.storage_key


class Word(models.Model):
    """A word that stands, or stood, in a document: what somebody may have meant who mistyped it."""

    text = models.CharField(primary_key=True, max_length=100)

    class Meta:
        indexes = [GinIndex(fields=["text"], name="words_by_trigram", opclasses=["gin_trgm_ops"])]

    def __str__(self) -> str:
        return self.text


class IntakeRules(models.Model):
    """What this tenant takes in, beside what the settings say for all. One row, or none: then there are no rules."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    max_file_bytes = models.PositiveBigIntegerField(null=True, help_text="of one file; none: as the settings say")
    max_total_bytes = models.PositiveBigIntegerField(null=True, help_text="of all originals; none: any number")
    accepted_types = models.JSONField(db_default=[], default=list, help_text="such as image/*; none: all")
    duplicates = models.CharField(
        max_length=10, choices=Duplicates.choices, db_default=Duplicates.LINK.value, default=Duplicates.LINK
    )

    class Meta:
        constraints = [
            models.CheckConstraint(name="intake_rules_are_one_row", condition=Q(id=1)),
            models.CheckConstraint(name="intake_duplicates_are_known", condition=Q(duplicates__in=Duplicates.values)),
        ]

    def __str__(self) -> str:
        return "intake rules"


class AuditEntry(models.Model):
    """One thing that happened. The database refuses to change or delete it.

    No foreign keys: an entry outlives the user and the document it is about.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    actor_id = models.BigIntegerField(null=True, help_text="the user's id; none: the system")
    actor_name = models.CharField(max_length=150, blank=True)
    action = models.CharField(max_length=20, choices=AuditAction.choices)
    document_id = models.UUIDField()
    details = models.JSONField(db_default={})

    class Meta:
        verbose_name_plural = "audit entries"
        constraints = [
            models.CheckConstraint(name="audit_action_is_known", condition=Q(action__in=AuditAction.values)),
        ]
        indexes = [models.Index(fields=["document_id", "id"], name="audit_of_a_document")]

    def __str__(self) -> str:
        return f"{self.action} {self.document_id}"
