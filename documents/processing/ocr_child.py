"""The child process that recognises text: ``python -m documents.processing.ocr_child REQUEST``, events on its output.

OCRmyPDF does the work, with Tesseract for the recognition and PDFium, not Ghostscript, for the pictures. Both run under
the limits of this process, and write to a folder that goes when they end.
"""

import json
import signal
import sys
from pathlib import Path

from documents.processing.confinement import confine, end_session_on
from documents.processing.events import Event, Recognised, Refused, to_line
from documents.processing.findings import Reason, Unreadable
from documents.processing.limits import Limits

_SIMULTANEOUS = 1  # a page at a time: a worker has other jobs beside
# That a page stands on its head; a letter of six lines comes to 10.
_SURE_ENOUGH = 5.0
# Of a page as a picture; OCRmyPDF has it in memory several times. What is larger stays as it is.
_BYTES_PER_PIXEL = 20


def main(argument: str) -> None:
    request = json.loads(argument)
    limits = Limits(**request["limits"])
    confine(limits, request["parent_pid"], file_bytes=limits.archive_bytes, parent_dies=signal.SIGTERM)
    end_session_on(signal.SIGTERM)  # Tesseract goes, too, which nothing binds to the parent
    try:
        from documents.processing.sheets import as_pdf  # loaded here, under the limits

        folder = Path(request["folder"])
        _recognise(as_pdf(request["path"], request["mime_type"], limits, folder), folder, limits, request["languages"])
    except Unreadable as error:
        _report(Refused(error.reason, error.detail))
    except MemoryError:
        _report(Refused(Reason.TOO_LARGE, f"it takes more than {limits.memory_bytes // 2**20} MiB of memory"))
    else:
        _report(Recognised())


def _recognise(source: Path, folder: Path, limits: Limits, languages: list[str]) -> None:
    import ocrmypdf
    from ocrmypdf import exceptions

    try:
        ocrmypdf.ocr(
            source,
            folder / "archive.pdf",
            language=languages,
            mode="skip",  # pages that have text are left as they are
            rotate_pages=True,
            rotate_pages_threshold=_SURE_ENOUGH,
            deskew=True,
            output_type="auto",  # PDF/A if that can be made of it
            pdfa_backend="internal",
            rasterizer="pypdfium",
            optimize=0,
            jobs=_SIMULTANEOUS,
            use_threads=True,
            skip_big=limits.memory_bytes / _BYTES_PER_PIXEL / 1e6,
            max_image_mpixels=limits.pixels / 1e6,
            tesseract_timeout=limits.seconds,
            invalidate_digital_signatures=True,  # the original keeps its own
            progress_bar=False,
            plugins=["documents.processing.ocr_progress"],
        )
    except exceptions.MissingDependencyError as error:
        raise Unreadable(Reason.TOOL_MISSING, _one_line(error)) from error
    except exceptions.EncryptedPdfError as error:
        raise Unreadable(Reason.LOCKED, "a password is needed to open it") from error
    except (exceptions.ExitCodeException, ValueError, OSError, RuntimeError) as error:
        raise Unreadable(Reason.DAMAGED, f"its text can't be recognised: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).partition("\n")[0][:200]


def _report(event: Event) -> None:
    """Tell the parent."""
    print(to_line(event), file=sys.__stdout__, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
