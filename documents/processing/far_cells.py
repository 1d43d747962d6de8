"""Workbooks whose cells lie far apart.

Calamine lays out the whole rectangle between a sheet's first and last cell, so that two cells in opposite corners take
more memory than any machine has. But nothing says that a cell must name its place: without their places the cells of a
row stand side by side, and that is how they are read here anyway.
"""

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import IO

from documents.processing.limits import Limits
from documents.processing.packages import Package, container_errors

_SHEETS = "xl/worksheets/*.xml"
_MOST_CELLS = 4_000_000  # of a rectangle: calamine takes some 32 bytes for each, empty or not
_CHUNK_BYTES = 2**20
_ROW = re.compile(rb'<(?:\w+:)?row\b[^<>]*?\sr="(\d{1,7})"')
_CELL = re.compile(rb'<(?:\w+:)?c\b[^<>]*?\sr="([A-Z]{1,3})')
_PLACE = re.compile(rb'(<(?:\w+:)?(?:row|c)\b[^<>]*?)\sr="[^"<>]*"')


def moved_together(path: str, limits: Limits) -> IO[bytes] | None:
    """Return the workbook with the cells of far-flung sheets side by side; None if there is no such sheet.

    Raises:
        Unreadable
    """
    package = Package(path, limits)
    far = {name for name in package.names(_SHEETS) if _is_far_flung(package, name)}
    if not far:
        return None
    copy = BytesIO()
    package = Package(path, limits)
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for name in package.names("*"):
            if not name.endswith((".xml", ".rels")):
                continue
            with target.open(name, "w", force_zip64=True) as part:
                for tags in _whole_tags(package.open(name)):
                    part.write(_PLACE.sub(rb"\1", tags) if name in far else tags)
    copy.seek(0)
    return copy


def _is_far_flung(package: Package, name: str) -> bool:
    last_row, columns = 0, set[bytes]()
    for tags in _whole_tags(package.open(name)):
        last_row = max(last_row, *map(int, _ROW.findall(tags)), 0)
        columns.update(_CELL.findall(tags))
    return last_row * max(map(_number_of, columns), default=0) > _MOST_CELLS


def _number_of(column: bytes) -> int:
    number = 0
    for letter in column:
        number = number * 26 + letter - ord("A") + 1
    return number


def _whole_tags(part: IO[bytes]) -> Iterator[bytes]:
    """Yield a part piece by piece, none of which ends within a tag, unless that is longer than a piece."""
    rest = b""
    with part, container_errors():
        while chunk := part.read(_CHUNK_BYTES):
            whole, bracket, begun = (rest + chunk).rpartition(b">")
            yield whole + bracket
            rest = begun
        yield rest
