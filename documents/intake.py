"""What the active tenant takes in: its own rules, within those of the whole system."""

from fnmatch import fnmatchcase

from django.db.models import Sum

from dms_project.tenancy import PUBLIC, current
from documents.conf import conf
from documents.exceptions import FileTooLarge, TenantFull, TypeNotAccepted, TypeRefused
from documents.models import DocumentVersion, IntakeRules


def rules() -> IntakeRules:
    """Return the active tenant's rules; where nobody has made any, such as forbid nothing."""
    return IntakeRules.objects.first() or IntakeRules()


def max_file_bytes() -> int:
    """Return how large a file may be here. The operators' schema has no documents, and no rules."""
    own = rules().max_file_bytes if current() != PUBLIC else None
    return min(own or conf.max_upload_bytes, conf.max_upload_bytes)


def check(rules: IntakeRules, mime_type: str, size_bytes: int) -> None:
    """Raise ``TypeRefused``, ``FileTooLarge`` or ``TenantFull`` if the rules forbid such a file."""
    if mime_type in conf.refused_types:
        raise TypeRefused(f"Files of type {mime_type} are not taken in: programs are no documents.")
    accepted = rules.accepted_types
    if accepted and not any(fnmatchcase(mime_type, pattern) for pattern in accepted):
        raise TypeNotAccepted(f"Files of type {mime_type} are not taken in here, but {', '.join(accepted)}.")
    if rules.max_file_bytes is not None and size_bytes > rules.max_file_bytes:
        raise FileTooLarge(f"The file is larger than the {rules.max_file_bytes} bytes allowed here.")
    _check_room(rules, size_bytes)


def hold_room(rules: IntakeRules, size_bytes: int) -> None:
    """Make sure that there is room for a file until the caller's transaction ends, whoever else uploads meanwhile.

    Raises:
        TenantFull
    """
    if rules.max_total_bytes is not None:
        list(IntakeRules.objects.select_for_update())
        _check_room(rules, size_bytes)


def used_bytes() -> int:
    """Return how many bytes all originals have, those in the trash too."""
    return DocumentVersion.objects.aggregate(total=Sum("size_bytes"))["total"] or 0


def _check_room(rules: IntakeRules, size_bytes: int) -> None:
    if rules.max_total_bytes is not None and used_bytes() + size_bytes > rules.max_total_bytes:
        raise TenantFull(f"All documents together may have {rules.max_total_bytes} bytes, and there is no room left.")
