"""The one place where text from a document is made fit for PostgreSQL, for search and for people."""

import re
import unicodedata

# Bytes that are no text (NUL would fail the INSERT), lone surrogates (they can't be encoded), noncharacters.
_UNFIT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\uffff]")
# A hyphen that stands only because a line ends: the soft hyphen, and U+FFFE, by which PDFium replaces a hyphen at the
# end of a line together with the break. Without it the word is whole again and can be found.
_HYPHENATION = re.compile("\u00ad\n?|\ufffe")
_LINE_BREAK = re.compile("\r\n?|[\x0c\x85\u2028\u2029]")


def clean_text(text: str) -> tuple[str, int]:
    """Return the text in NFC with unfit characters replaced by blanks, and how many those were.

    A blank, not nothing: what stands on either side of a glyph without a meaning stays findable.
    """
    text = _LINE_BREAK.sub("\n", text)
    text = _HYPHENATION.sub("", text)
    text, dropped = _UNFIT.subn(" ", text)
    return unicodedata.normalize("NFC", text).strip(), dropped


def clean_line(text: str, max_length: int) -> str:
    """Return the text as one line of at most ``max_length`` characters; may be empty.

    For titles and file names: control and format characters are gone too, so that nothing turns the direction of
    writing round or hides.
    """
    visible = "".join(" " if unicodedata.category(char)[0] == "C" else char for char in text)
    return " ".join(unicodedata.normalize("NFC", visible).split())[:max_length].strip()
