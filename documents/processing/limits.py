"""What reading one document may cost."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Beyond these the rest of a document is left unread, and its findings say so."""

    #: Wall-clock and processor time, each.
    seconds: int
    #: Address space of the child process.
    memory_bytes: int
    #: Pages read; the others are counted only.
    pages: int
    #: Characters of text kept, over all pages.
    characters: int
