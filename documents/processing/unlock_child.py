"""The child process that takes the password off a PDF: ``python -m documents.processing.unlock_child REQUEST``.

The password comes by standard input, where no list of processes shows it; the copy goes to an open file.
"""

import json
import sys
import unicodedata
from typing import BinaryIO

import pikepdf

from documents.processing.confinement import confine
from documents.processing.events import Event, Refused, Unlocked, to_line
from documents.processing.findings import Reason
from documents.processing.limits import Limits


def main(argument: str) -> None:
    request = json.loads(argument)
    limits = Limits(**request["limits"])
    confine(limits, request["parent_pid"], file_bytes=limits.archive_bytes)
    password = sys.stdin.buffer.read().decode()
    with open(request["output"], "r+b") as target:
        print(to_line(_unlock(request["path"], target, password)), flush=True)


def _unlock(path: str, target: BinaryIO, password: str) -> Event:
    for encoded in _encodings(password):
        try:
            with pikepdf.open(path, password=encoded, suppress_warnings=True) as pdf:
                pdf.save(target)
        except pikepdf.PasswordError:
            continue
        except (pikepdf.PdfError, RuntimeError, ValueError, OSError) as error:
            return Refused(Reason.DAMAGED, str(error).replace(f"{path}: ", "").partition("\n")[0][:200])
        except MemoryError:
            return Refused(Reason.TOO_LARGE, "it takes more memory than it may")
        return Unlocked()
    return Refused(Reason.LOCKED, "the password doesn't open it")


def _encodings(password: str) -> list[bytes]:
    """Return the bytes that may be meant: PDF took to Unicode late, and programs differ in how they compose letters."""
    composed = unicodedata.normalize("NFC", password)
    found = [password.encode(), composed.encode(), composed.encode("latin-1", "ignore")]
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    main(sys.argv[1])
