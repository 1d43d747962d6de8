"""The app's settings, typed, one prefix, defaults visible."""

from datetime import timedelta
from typing import Any

from django.conf import settings

from documents.processing.limits import Limits

_PROGRAMS = (
    "application/vnd.microsoft.portable-executable",
    "application/x-executable",
    "application/x-mach-binary",
)


class DocumentsSettings:
    """Read at the time of use, so that tests may override them."""

    @property
    def max_upload_bytes(self) -> int:
        """A larger file is answered 413."""
        return int(self._get("DMS_MAX_UPLOAD_BYTES", 2 * 2**30))

    @property
    def refused_types(self) -> tuple[str, ...]:
        """MIME types, told from the content, that are answered 415."""
        return tuple(self._get("DMS_REFUSED_TYPES", _PROGRAMS))

    @property
    def processing_limits(self) -> Limits:
        """What processing one document may cost."""
        default = Limits()
        timeout: timedelta = self._get("DMS_PROCESSING_TIMEOUT", timedelta(seconds=default.seconds))
        return Limits(
            seconds=int(timeout.total_seconds()),
            memory_bytes=int(self._get("DMS_PROCESSING_MEMORY_BYTES", default.memory_bytes)),
            pages=int(self._get("DMS_MAX_PAGES", default.pages)),
            characters=int(self._get("DMS_MAX_TEXT_CHARACTERS", default.characters)),
            inflated_bytes=int(self._get("DMS_MAX_INFLATED_BYTES", default.inflated_bytes)),
            pixels=int(self._get("DMS_MAX_PIXELS", default.pixels)),
        )

    @property
    def ocr_languages(self) -> list[str]:
        """The languages in which text is recognised, as Tesseract calls them; none: it isn't."""
        return str(self._get("DMS_OCR_LANGUAGES", "deu+eng")).replace("+", " ").split()

    @property
    def ocr_seconds(self) -> int:
        """How long recognising the text of one document may take."""
        timeout: timedelta = self._get("DMS_OCR_TIMEOUT", timedelta(minutes=30))
        return int(timeout.total_seconds())

    @property
    def storage_timeout(self) -> float:
        """Seconds that one call of the object store may take, without the time that the bytes of a file take."""
        return float(self._get("DMS_STORAGE_TIMEOUT", timedelta(seconds=20)).total_seconds())

    @property
    def storage_min_rate(self) -> int:
        """Bytes a second. A put that is slower, beyond ``storage_timeout``, is given up."""
        return int(self._get("DMS_STORAGE_MIN_RATE", 256 * 1024))

    @property
    def orphan_grace(self) -> timedelta:
        """An object that no row refers to may belong to an upload under way, until it is older than this."""
        grace: timedelta = self._get("DMS_ORPHAN_GRACE", timedelta(hours=24))
        return grace

    @property
    def default_role(self) -> str:
        """The role of users who are in none of the groups ``reader``, ``editor`` and ``admin``."""
        return str(self._get("DMS_DEFAULT_ROLE", "editor"))

    @property
    def trash_retention(self) -> timedelta:
        """What lies in the trash for longer is deleted for good by ``documents empty-trash``."""
        retention: timedelta = self._get("DMS_TRASH_RETENTION", timedelta(days=30))
        return retention

    @staticmethod
    def _get(name: str, default: Any) -> Any:
        return getattr(settings, name, default)


conf = DocumentsSettings()
