"""What processing one document may cost: the one place that says so, for every step."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Beyond these a document, or the rest of it, is left alone, and its findings say so. Each may be set otherwise."""

    #: Wall-clock and processor time of a child process, each.
    seconds: int = 120
    #: Address space of a child process.
    memory_bytes: int = 2**30
    #: Pages read; the others are counted only.
    pages: int = 10_000
    #: Characters of text kept, over all pages.
    characters: int = 20_000_000
    #: Bytes that the parts of an office file, which are compressed, may expand to. Pictures in it are not unpacked.
    inflated_bytes: int = 2**30
    #: Pixels of a picture, alone or on a page. A larger one is not decoded: A0, scanned at 600 dpi, has 558 million.
    pixels: int = 600_000_000
    #: Bytes of each file that is written while text is recognised.
    archive_bytes: int = 2**30
