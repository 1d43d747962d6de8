"""Files made for the tests: PDFs sound, damaged and hostile, and real ones from samples/."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pikepdf

SAMPLES = Path(__file__).parent / "samples"


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def pdf(*texts: str, change: Callable[[pikepdf.Pdf], None] = lambda pdf: None, **save: object) -> bytes:
    """Return a PDF with one page per text, in Latin-1.

    Args:
        change: Called with the document before it is saved.
    """
    document = pikepdf.new()
    for text in texts:
        document.add_blank_page(page_size=(595, 842))
        page = document.pages[-1]
        font = pikepdf.Dictionary(
            Type=pikepdf.Name.Font,
            Subtype=pikepdf.Name.Type1,
            BaseFont=pikepdf.Name.Helvetica,
            Encoding=pikepdf.Name.WinAnsiEncoding,
        )
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F=font))
        shown = "".join(f"{byte:02x}" for byte in text.encode("cp1252"))
        page.Contents = document.make_stream(f"BT /F 12 Tf 20 800 Td <{shown}> Tj ET".encode())
    change(document)
    target = BytesIO()
    document.save(target, **save)
    return target.getvalue()


def ten_pages(**kwargs: object) -> bytes:
    return pdf(*(f"seite{number} wort{number}" for number in range(1, 11)), **kwargs)


def with_broken_page(document: pikepdf.Pdf) -> None:
    """Make the fifth page something that is none."""
    document.Root.Pages.Kids[4] = document.make_indirect(pikepdf.Dictionary(Type=pikepdf.Name.Nonsense))


def with_page_tree_cycle(document: pikepdf.Pdf) -> None:
    document.Root.Pages.Kids.append(document.Root.Pages)


def without_pages(document: pikepdf.Pdf) -> None:
    document.Root.Pages.Kids = pikepdf.Array([])
    document.Root.Pages.Count = 0


def with_glyph_for_nul(document: pikepdf.Pdf) -> None:
    """Give the font a Unicode map by which the letter Z stands for U+0000, as broken producers do."""
    cmap = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        b"1 begincodespacerange <00> <ff> endcodespacerange\n"
        b"1 beginbfchar <5a> <0000> endbfchar\n"
        b"endcmap end end"
    )
    document.pages[0].Resources.Font.F.ToUnicode = document.make_stream(cmap)


INVALID_PDF = b"%PDF-1.4\n% forty-four bytes that mean nothing"
