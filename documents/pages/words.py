"""What the states, steps, reasons and events of a document are called on the pages, and what a person can do."""

from dataclasses import dataclass, replace

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from documents.exceptions import InvalidValue
from documents.states import AuditAction

Words = str | Promise


@dataclass(frozen=True)
class Problem:
    """Why a step gave less than one would like. ``short`` stands in a list, ``why`` and ``advice`` on its page."""

    short: Words
    why: Words
    advice: Words
    passes: bool = False  # another try may help


STOPPED = Problem(
    _("Reading was interrupted"),
    _("The program that read this document was stopped again and again."),
    _("Try again. If it happens once more, tell whoever runs this system."),
    passes=True,
)

_KNOWN = {
    "locked": Problem(
        _("Locked with a password"),
        _("The file is protected with a password."),
        _("Somebody who knows the password can open it here, if it is a PDF; of any other, upload a copy without one."),
    ),
    "damaged": Problem(
        _("Damaged"),
        _("The file is damaged: parts of it can’t be read."),
        _("Open it on your computer. If it can be opened there, save it anew and upload it again."),
    ),
    "unsupported": Problem(
        _("No reader for this type"),
        _("Text can’t be read from files of this type."),
        _("You can download it at any time. To make it searchable, upload it as a PDF too."),
    ),
    "too_large": Problem(
        _("Too large to read whole"),
        _("The document is too large to be read to its end."),
        _("Split it into smaller files and upload those."),
    ),
    "timeout": Problem(
        _("Took too long"),
        _("Reading took too long and was stopped."),
        _("Try again. If it happens once more, split the document into smaller files."),
        passes=True,
    ),
    "no_text": Problem(
        _("No text in it"),
        _("No page has text; it may be a scan or a photograph."),
        _("You can find it by its title."),
    ),
    "unavailable": Problem(
        _("Could not be read just now"),
        _("The document was fine, but something that is needed to read it could not be reached."),
        _("Try again."),
        passes=True,
    ),
    "tool_missing": Problem(
        _("A program is missing"),
        _("A program that is needed for this step is not installed here."),
        _("Tell whoever runs this system."),
    ),
}
_UNKNOWN = Problem(
    _("Could not be read"),
    _("The document could not be read."),
    _("Try again, or upload it in another form."),
    passes=True,
)

# Without a thumbnail nothing is missing but the thumbnail.
_NO_THUMBNAIL = Problem(
    _("No picture of it"),
    _("No picture of the first page could be made. The text is not affected."),
    _("You can download the document and open it on your computer."),
)
_NO_THUMBNAIL_NOW = replace(_NO_THUMBNAIL, advice=_("Try again."), passes=True)
_THUMBNAIL = {
    "timeout": _NO_THUMBNAIL_NOW,
    "unavailable": _NO_THUMBNAIL_NOW,
    "unsupported": replace(_NO_THUMBNAIL, short=_("No picture for this type")),
}

STEPS: dict[str, Words] = {
    "inspect": _("Open the file"),
    "text": _("Read the text"),
    "ocr": _("Recognise text in pictures"),
    "thumbnail": _("Make a picture of the first page"),
    "index": _("Make it searchable"),
}

#: What a button says that repeats a step.
REPEATS: dict[str, Words] = {
    "text": _("Read it again"),
    "ocr": _("Recognise it again"),
    "thumbnail": _("Draw it again"),
    "index": _("Index it again"),
}

STEP_ENDINGS: dict[str, Words] = {
    "done": _("done"),
    "failed": _("failed"),
    "skipped": _("left out"),
    "waiting": _("waiting"),
    "running": _("running"),
}

EVENTS: dict[str, Words] = {
    AuditAction.UPLOADED: _("Uploaded"),
    AuditAction.UPLOADED_AGAIN: _("Uploaded once more; nothing was stored twice"),
    AuditAction.RENAMED: _("Renamed"),
    AuditAction.TRASHED: _("Moved to the trash"),
    AuditAction.RESTORED: _("Restored from the trash"),
    AuditAction.REPROCESSED: _("Sent to be read again"),
    AuditAction.TAGGED: _("Tags changed"),
    AuditAction.CORRESPONDENT_SET: _("Correspondent changed"),
    AuditAction.DATED: _("Date changed"),
    AuditAction.NOTED: _("Note written"),
    AuditAction.NOTE_REMOVED: _("Note removed"),
    AuditAction.PURGED: _("Deleted for good"),
    AuditAction.IMPORTED: _("Imported"),
    AuditAction.UNLOCKED: _("Opened with its password"),
}

ATTEMPTS: dict[str, Words] = {
    "succeeded": _("Reading finished"),
    "failed": _("Reading failed"),
    "released": _("Reading was put off"),
    "worker_died": _("Reading was interrupted"),
    "cancelled": _("Reading was cancelled"),
}


_REFUSED = {
    "title_empty": _("A title needs at least one visible character. Nothing was changed."),
    "comma": _("A tag can’t have a comma. Nothing was changed."),
    "too_many_tags": _("These are too many tags. Nothing was changed."),
    "name_too_long": _("A name can’t be so long. Nothing was changed."),
    "note_empty": _("A note needs at least one visible character."),
    "not_drawn": _("No picture is made of files of this type."),
    "not_recognised": _("Text is recognised in PDF and pictures only, and where that is switched on."),
    "name_empty": _("A name needs at least one visible character. Nothing was changed."),
    "nothing_asked": _("Search for something or choose a filter first, then save that."),
    "too_many_searches": _("You have too many saved searches. Remove one that you don’t need any more."),
    "wrong_password": _("This password doesn’t open the document."),
    "not_locked": _("This document can’t be opened with a password, or doesn’t need one."),
    "note_too_long": _("This note is too long. It was not kept."),
}


def refused(error: InvalidValue) -> Words:
    """Return the words for a value that can't be kept."""
    return _REFUSED.get(error.code, str(error))


def problem(reason: str, step: str = "") -> Problem:
    """Return the words for the reason of a step; those of a reason that is newer than this page are general ones."""
    if step == "thumbnail":
        return _THUMBNAIL.get(reason, _NO_THUMBNAIL)
    return _KNOWN.get(reason, _UNKNOWN)
