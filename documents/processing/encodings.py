"""Bytes of a text whose encoding nobody named."""

import codecs

from charset_normalizer import from_bytes

_BOMS = [  # UTF-32 first: its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))
_WESTERN = "äöüÄÖÜßéèêëáàâåæøœçñíìîïóòôõúùûÉÈÀÁÅÆØÇÑÓÚ§°€£©®«»„“”‚‘’–—…•´¿¡\u00a0".encode("cp1252")  # noqa: RUF001 - meant so
_SAMPLE_BYTES = 64 * 1024


def looks_like_text(sample: bytes) -> bool:
    """Tell a text from a binary file by its first bytes; an empty file is none.

    Some control characters are tolerated: a log or an export with a NUL in it is still a text.
    """
    if not sample:
        return False
    if _by_mark(sample) or _wide(sample):
        return True
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if _decodes(sample, "utf-8"):
        return controls <= len(sample) * 0.3
    return controls <= len(sample) * 0.01


def decode(data: bytes, *, is_whole: bool = True) -> tuple[str, str]:
    """Return the text, and the encoding it turned out to have. Never fails: what can't be decoded becomes U+FFFD.

    A mark at the start decides, then strict UTF-8, then the pattern of NULs that UTF-16 and UTF-32 leave in European
    text, then statistics, then Windows-1252.

    Args:
        is_whole: False if ``data`` is the start of a longer text; it may end in the middle of a character.
    """
    encoding = _by_mark(data) or ("utf-8" if _decodes(data, "utf-8", is_whole=is_whole) else None)
    encoding = encoding or _wide(data) or _by_statistics(data) or "cp1252"
    return codecs.getincrementaldecoder(encoding)("replace").decode(data, final=is_whole), encoding


def _by_mark(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _BOMS if data.startswith(mark)), None)


def _decodes(data: bytes, encoding: str, *, is_whole: bool = False) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)("strict").decode(data, final=is_whole)
    except UnicodeDecodeError:
        return False
    return True


def _wide(data: bytes) -> str | None:
    """Name UTF-16 or UTF-32 without a mark by where the NULs stand, if that is what the bytes look like."""
    sample = data[:_SAMPLE_BYTES]
    quarter = len(sample) // 4
    if not quarter:
        return None
    filled = [quarter - sample[place : quarter * 4 : 4].count(0) for place in range(4)]
    share = [count / quarter for count in filled]
    for encoding, low in (("utf-32-le", 0), ("utf-32-be", 3)):
        if share[low] > 0.9 and sum(share) - share[low] < 0.4:
            return encoding
    even, odd = (share[0] + share[2]) / 2, (share[1] + share[3]) / 2
    if even > 0.9 and odd < 0.3:
        return "utf-16-le"
    if odd > 0.9 and even < 0.3:
        return "utf-16-be"
    return None


def _by_statistics(data: bytes) -> str | None:
    """Ask charset-normalizer, but prefer Windows-1252 where it fits as well: short texts are guessed badly."""
    sample = data[:_SAMPLE_BYTES]
    matches = from_bytes(sample)
    best = matches.best()
    if best is None:
        return None
    likely_western = best.byte_order_mark is False and _is_western(sample)
    return "cp1252" if likely_western else str(best.encoding)


def _is_western(sample: bytes) -> bool:
    """Whether every byte above ASCII is one that Western European text uses, and they are few."""
    high = sample.translate(None, bytes(range(128)))
    few = 0.5 if len(sample) < 64 else 0.25
    return len(high) < len(sample) * few and not high.translate(None, _WESTERN)
