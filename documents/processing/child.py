"""The child process: ``python -m documents.processing.child REQUEST``, events on standard output.

A fresh interpreter that knows nothing: no settings, no database, no credentials, no network.
"""

import json
import sys
from collections.abc import Iterator

from documents.processing.confinement import confine
from documents.processing.events import Event, Refused, Stopped, to_line
from documents.processing.limits import Limits


def main(argument: str) -> None:
    request = json.loads(argument)
    limits = Limits(**request["limits"])
    confine(limits, request["parent_pid"])
    opened = False
    try:
        for event in _events(request["path"], request["mime_type"], limits, request["first_page"]):
            _report(event)
            opened = True
    except MemoryError:
        detail = f"reading it takes more than {limits.memory_bytes // 2**20} MiB of memory"
        _report(Stopped("too_large", detail) if opened else Refused("too_large", detail))


def _events(path: str, mime_type: str, limits: Limits, first_page: int) -> Iterator[Event]:
    # The parsers are loaded here, under the limits.
    if mime_type == "application/pdf":
        from documents.processing.pdf import read_pdf

        return read_pdf(path, limits, first_page)
    from documents.processing.plain_text import read_plain_text

    return read_plain_text(path, limits, first_page)


def _report(event: Event) -> None:
    print(to_line(event), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
