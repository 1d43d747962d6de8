"""Office files and mails made for the tests: sound ones, locked ones, and such as want to do harm."""

import zipfile
from collections.abc import Mapping
from io import BytesIO

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_ODF = "urn:oasis:names:tc:opendocument:xmlns"


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP archive of these parts, compressed."""
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return target.getvalue()


def docx(body: str = "<w:p><w:r><w:t>words</w:t></w:r></w:p>", prolog: str = "", **parts: str | bytes) -> bytes:
    """Return a Word document.

    Args:
        body: What is in its body, as XML.
        prolog: What stands before its root.
        parts: Others, by their names without ``word/`` and ``.xml``.
    """
    main = f'{prolog}<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'
    return archive({"word/document.xml": main} | {f"word/{name}.xml": content for name, content in parts.items()})


def paragraph(text: str) -> str:
    """Return a paragraph of a Word document."""
    return f'<w:p xmlns:w="{_W}"><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def pptx(*slides: str, notes: str = "") -> bytes:
    """Return a presentation whose slides come in the order given, which isn't that of their names.

    Args:
        notes: Of the last slide.
    """
    parts: dict[str, str] = {}
    ids, relations = "", ""
    for place, text in enumerate(slides):
        number = len(slides) - place
        ids += f'<p:sldId id="{256 + place}" r:id="rId{number}"/>'
        relations += f'<Relationship Id="rId{number}" Type="{_R}/slide" Target="slides/slide{number}.xml"/>'
        parts[f"ppt/slides/slide{number}.xml"] = _slide(text)
    parts["ppt/presentation.xml"] = (
        f'<p:presentation xmlns:p="{_P}" xmlns:r="{_R}"><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>'
    )
    parts["ppt/_rels/presentation.xml.rels"] = f'<Relationships xmlns="{_RELS}">{relations}</Relationships>'
    if notes:
        parts["ppt/slides/_rels/slide1.xml.rels"] = (
            f'<Relationships xmlns="{_RELS}">'
            f'<Relationship Id="rId1" Type="{_R}/notesSlide" Target="../notesSlides/notesSlide1.xml"/>'
            f'<Relationship Id="rId2" Type="{_R}/image" Target="http://127.0.0.1:9/x.png" TargetMode="External"/>'
            "</Relationships>"
        )
        parts["ppt/notesSlides/notesSlide1.xml"] = _slide(notes)
    return archive(parts)


def _slide(text: str) -> str:
    return f'<p:sld xmlns:p="{_P}" xmlns:a="{_A}"><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>'


def xlsx(sheets: Mapping[str, str], strings: str = "", prolog: str = "") -> bytes:
    """Return a workbook.

    Args:
        sheets: The rows of each sheet, as XML, by its name. A cell of style 1 is a date.
        strings: The shared strings, as XML.
        prolog: What stands before the root of each sheet.
    """
    listed, relations = "", f'<Relationship Id="rIdS" Type="{_R}/sharedStrings" Target="sharedStrings.xml"/>'
    relations += f'<Relationship Id="rIdT" Type="{_R}/styles" Target="styles.xml"/>'
    parts: dict[str, str] = {}
    for number, (name, rows) in enumerate(sheets.items(), start=1):
        listed += f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>'
        relations += f'<Relationship Id="rId{number}" Type="{_R}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        parts[f"xl/worksheets/sheet{number}.xml"] = f'<worksheet xmlns="{_S}"><sheetData>{rows}</sheetData></worksheet>'
    parts["_rels/.rels"] = (
        f'<Relationships xmlns="{_RELS}"><Relationship Id="rId1" Type="{_R}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>"
    )
    parts["xl/workbook.xml"] = f'<workbook xmlns="{_S}" xmlns:r="{_R}"><sheets>{listed}</sheets></workbook>'
    parts["xl/_rels/workbook.xml.rels"] = f'<Relationships xmlns="{_RELS}">{relations}</Relationships>'
    parts["xl/sharedStrings.xml"] = f'<sst xmlns="{_S}">{strings}</sst>'
    parts["xl/styles.xml"] = (
        f'<styleSheet xmlns="{_S}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    )
    return archive(parts)


def open_document(kind: str, body: str, manifest: str = "") -> bytes:
    """Return an OpenDocument file: ``text``, ``spreadsheet`` or ``presentation``.

    Args:
        body: What is in its content, as XML.
        manifest: What its list of parts says, as XML.
    """
    spaces = " ".join(f'xmlns:{name}="{_ODF}:{where}:1.0"' for name, where in _PREFIXES.items())
    return archive(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content {spaces}>{body}</office:document-content>",
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0">{manifest}'
            "</manifest:manifest>",
        }
    )


_PREFIXES = {"office": "office", "text": "text", "table": "table", "draw": "drawing"}


def locked_office_file() -> bytes:
    """Return the beginning of a DOCX with a password: a little file system with two files in it."""
    header = bytearray(512)
    header[:8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    header[30:32] = (9).to_bytes(2, "little")  # sectors of 512 bytes
    header[48:52] = (1).to_bytes(4, "little")  # the directory is in the second
    names = ["Root Entry", "EncryptionInfo", "EncryptedPackage"]
    entries = b"".join(name.encode("utf-16-le").ljust(128, b"\0") for name in names)
    return bytes(header) + bytes(512) + entries.ljust(512, b"\0") + bytes(2048)
