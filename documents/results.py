"""Writing down what the processing of a version found: text, words, thumbnail and status in one transaction."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from django.contrib.postgres.search import SearchVector
from django.db import OperationalError, transaction
from django.db.models import Case, DateField, F, Value, When
from django.db.models.functions import Left
from django.utils import timezone

from documents import dates, objects
from documents.models import SEARCH_CONFIGURATIONS, Document, DocumentPage, DocumentVersion
from documents.objects import OwnedObject
from documents.processing.findings import Findings, Page, Reason, Step, StepStatus, no_thumbnail
from documents.states import STEP_NAMES, DocumentStatus, status_after

# A tsvector holds 1 MB: two languages, up to four bytes a character, and a word may take twice its own bytes
# (its parts, its positions). Nothing that is printed on a page is longer.
INDEXED_CHARACTERS = 60_000
_BATCH = 200
_PROGRAM_LIMIT_EXCEEDED = "54000"


def wanted(document_id: UUID, number: int) -> DocumentVersion | None:
    """Return the version, unless it is no longer current or its document was deleted."""
    return DocumentVersion.objects.filter(
        document=document_id, number=number, is_current=True, document__deleted_at=None
    ).first()


def write(
    version: DocumentVersion,
    findings: Findings,
    steps: list[Step],
    hold: Callable[[], None],
    thumbnail: OwnedObject | None = None,
    then: Callable[[], int] | None = None,
) -> DocumentStatus | None:
    """Replace the version's pages and thumbnail, index it, and set the document's status and steps, all or nothing.

    Only these columns are touched, so an edit of the title meanwhile survives. Two runs at a time write one after the
    other.

    Args:
        hold: Called first in the transaction; raises if the run has lost its job to another, whose findings count.
        thumbnail: An object that is in the store by now; None: the version has no thumbnail.
        then: Called in the transaction if there is more to be done: enqueues that, and returns the job's id.

    Raises:
        StorageUnavailable: The thumbnail is not in the store any more. Nothing was changed.

    Returns:
        The status now; None if the document was deleted meanwhile or has a newer version: then nothing was changed.
    """
    with transaction.atomic():
        hold()
        if thumbnail:
            objects.hold(thumbnail.key, thumbnail.size_bytes)
        # The version, not the document: that stays free for those who rename or delete it while the text goes in.
        mine = DocumentVersion.objects.select_for_update().filter(pk=version.pk, is_current=True).first()
        if mine is None:
            return None
        mine.pages.all().delete()
        mine.page_count = findings.page_count
        mine.thumbnail_key = thumbnail.key if thumbnail else ""
        mine.thumbnail_sha256 = thumbnail.sha256 if thumbnail else ""
        mine.thumbnail_size_bytes = thumbnail.size_bytes if thumbnail else 0
        mine.save(update_fields=["page_count", "thumbnail_key", "thumbnail_sha256", "thumbnail_size_bytes"])
        pages = (DocumentPage(version=mine, number=page.number, text=page.text) for page in findings.pages)
        DocumentPage.objects.bulk_create(pages, batch_size=_BATCH)
        steps = [*steps, _index(mine, findings.pages, steps)]
        more: dict[str, Any] = {"status": DocumentStatus.PROCESSING, "job_id": then()} if then else {}
        status = _set_status(mine, steps, document_date=_guessed_date(findings.pages), **more)
        if status is None:
            transaction.set_rollback(True)
    return status


def give_up(version: DocumentVersion, hold: Callable[[], None]) -> None:
    """Say that the document could not be processed for a reason outside it. What an earlier run found stays."""
    reason = Reason.UNAVAILABLE
    steps = [
        Step("inspect", StepStatus.FAILED, reason, "it could not be read now; try again later"),
        Step("text", StepStatus.SKIPPED, reason),
        no_thumbnail(reason),
        Step("index", StepStatus.SKIPPED, reason),
    ]
    with transaction.atomic():
        hold()
        _set_status(version, steps)


def _set_status(version: DocumentVersion, steps: list[Step], **columns: Any) -> DocumentStatus | None:
    present = Document.objects.filter(pk=version.document_id, deleted_at=None)
    job_id = present.values_list("job_id", flat=True).first()
    now = timezone.now().isoformat(timespec="seconds")
    ended = [step if step.ended_at else replace(step, ended_at=now, job_id=job_id) for step in steps]
    columns = {"status": status_after(steps), "steps": [asdict(step) for step in ended]} | columns
    return columns["status"] if present.update(**columns) else None


def write_recognition(
    version: DocumentVersion, found: Findings, hold: Callable[[], None], archive: OwnedObject | None = None
) -> DocumentStatus | None:
    """Give the pages that have no text what was recognised, index them anew, and set the step ``ocr``, all or nothing.

    Args:
        found: What was read in the archive version.
        hold: As for ``write``.
        archive: An object that is in the store by now; None: the one that the version has, or none, stays.

    Raises:
        StorageUnavailable: The archive version is not in the store any more. Nothing was changed.

    Returns:
        As ``write``.
    """
    with transaction.atomic():
        hold()
        if archive:
            objects.hold(archive.key, archive.size_bytes)
        mine = DocumentVersion.objects.select_for_update().filter(pk=version.pk, is_current=True).first()
        if mine is None:
            return None
        if archive:
            mine.archive_key, mine.archive_sha256 = archive.key, archive.sha256
            mine.archive_size_bytes = archive.size_bytes
        mine.page_count = mine.page_count or found.page_count
        mine.save(update_fields=["archive_key", "archive_sha256", "archive_size_bytes", "page_count"])
        recognised = _fill_pages(mine, found.pages)
        pages = [Page(page.number, page.text) for page in mine.pages.order_by("number")]
        status = _replace_step(mine, _ocr_step(recognised), pages)
        if status is None:
            transaction.set_rollback(True)
    return status


def write_step(version: DocumentVersion, step: Step, hold: Callable[[], None]) -> DocumentStatus | None:
    """Say how a step ended that was done by itself and changed nothing. Returns as ``write``."""
    with transaction.atomic():
        hold()
        return _replace_step(version, step)


def write_thumbnail(
    version: DocumentVersion, step: Step, thumbnail: OwnedObject, hold: Callable[[], None]
) -> DocumentStatus | None:
    """Give the version another thumbnail, and set the step ``thumbnail``. Arguments and result as of ``write``."""
    with transaction.atomic():
        hold()
        objects.hold(thumbnail.key, thumbnail.size_bytes)
        mine = DocumentVersion.objects.filter(pk=version.pk, is_current=True)
        named = {f"thumbnail_{name}": value for name, value in asdict(thumbnail).items()}
        status = _replace_step(version, step) if mine.update(**named) else None
        if status is None:
            transaction.set_rollback(True)
    return status


def write_index(version: DocumentVersion, hold: Callable[[], None]) -> DocumentStatus | None:
    """Make the pages searchable anew, as they are stored. Returns as ``write``."""
    with transaction.atomic():
        hold()
        mine = DocumentVersion.objects.select_for_update().filter(pk=version.pk, is_current=True).first()
        if mine is None:
            return None
        pages = [Page(page.number, page.text) for page in mine.pages.order_by("number")]
        return _replace_step(mine, _index(mine, pages, _known_steps(mine)))


def _fill_pages(version: DocumentVersion, found: list[Page]) -> int:
    """Give what was recognised to the pages that have no text of their own, and return how many got some."""
    own = set(version.pages.filter(is_recognised=False).exclude(text="").values_list("number", flat=True))
    mine = [page for page in found if page.number not in own]
    version.pages.filter(number__in=[page.number for page in mine]).delete()
    rows = (DocumentPage(version=version, number=page.number, text=page.text, is_recognised=True) for page in mine)
    DocumentPage.objects.bulk_create(rows, batch_size=_BATCH)
    return sum(bool(page.text) for page in mine)


def _ocr_step(recognised: int) -> Step:
    if not recognised:
        return Step("ocr", StepStatus.DONE, Reason.NO_TEXT, "no text was found")
    return Step("ocr", StepStatus.DONE, detail=f"text recognised on {recognised} page{'s' * (recognised > 1)}")


def _replace_step(version: DocumentVersion, done: Step, pages: list[Page] | None = None) -> DocumentStatus | None:
    """Put a step where it belongs, and index the pages if they have changed."""
    steps = [step for step in _known_steps(version) if step.name != done.name]
    if done.name == "ocr" and done.status == StepStatus.DONE and not done.reason:
        steps = [replace(step, reason="", detail="") if _had_no_text(step) else step for step in steps]
    steps.append(done)
    if pages is None:
        return _set_status(version, _in_order(steps))
    steps = [step for step in steps if step.name != "index"]
    steps.append(_index(version, pages, steps))
    return _set_status(version, _in_order(steps), document_date=_guessed_date(pages))


def _known_steps(version: DocumentVersion) -> list[Step]:
    """Return the steps that have ended."""
    document = Document.objects.filter(pk=version.document_id).only("steps").first()
    return [Step(**step) for step in document.steps] if document else []


def _in_order(steps: list[Step]) -> list[Step]:
    return sorted(steps, key=lambda step: STEP_NAMES.index(step.name))


def _had_no_text(step: Step) -> bool:
    return step.name == "text" and step.reason == Reason.NO_TEXT


def _guessed_date(pages: list[Page]) -> Case:
    """Return the document's date: what somebody set or cleared stays."""
    guess = dates.guess((page.text for page in pages), timezone.localdate())
    return Case(When(date_is_guessed=True, then=Value(guess, DateField())), default=F("document_date"))


def _index(version: DocumentVersion, pages: list[Page], steps: list[Step]) -> Step:
    """Index the pages, each as far as its words fit. That they don't must not cost the document its text."""
    if not any(page.text for page in pages):
        failed = (step.reason for step in steps if step.name in ("inspect", "text") and step.status != StepStatus.DONE)
        reason = next(failed, Reason.NO_TEXT)
        return Step("index", StepStatus.SKIPPED, reason)
    text = Left("text", INDEXED_CHARACTERS)
    german, english = (SearchVector(text, config=configuration) for configuration in SEARCH_CONFIGURATIONS)
    try:
        with transaction.atomic():
            version.pages.update(search=german + english)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != _PROGRAM_LIMIT_EXCEEDED:
            raise
        return Step("index", StepStatus.FAILED, Reason.TOO_LARGE, "a page has more words than the index can hold")
    cut = sum(len(page.text) > INDEXED_CHARACTERS for page in pages)
    if cut:
        detail = f"only the first {INDEXED_CHARACTERS} characters of a page are searchable; longer pages: {cut}"
        return Step("index", StepStatus.DONE, Reason.TOO_LARGE, detail)
    return Step("index", StepStatus.DONE)
