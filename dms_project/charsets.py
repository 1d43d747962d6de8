"""The charset of a request's body, before Django sees it: it would stumble over one that is no text encoding."""

import re
from typing import Any

# Python knows more codecs than there are text encodings ("hex", "idna"); forms and JSON come in one of these.
_KNOWN = {"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "windows-1252", "cp1252"}
_PARAMETER = re.compile(r";\s*charset\s*=\s*\"?([^\s;\"]*)\"?", re.IGNORECASE)


def drop_unknown_charset(environ: dict[str, Any]) -> None:
    """Take a charset that we don't know out of the content type, so that the default, UTF-8, is in force."""
    content_type = environ.get("CONTENT_TYPE", "")
    found = _PARAMETER.search(content_type)
    if found and found[1].lower() not in _KNOWN:
        environ["CONTENT_TYPE"] = _PARAMETER.sub("", content_type)
