"""Reading what Excel writes: XLSX and XLSB, with or without macros, which nobody here looks at, and the old XLS."""

from collections.abc import Iterator
from datetime import date, time
from typing import IO, Any

import python_calamine

from documents.processing.events import Event
from documents.processing.far_cells import moved_together
from documents.processing.findings import Reason, Unreadable
from documents.processing.flowing_text import PAGE_BREAK, report
from documents.processing.limits import Limits
from documents.processing.office_xml import drawn_text
from documents.processing.packages import Package


def read_workbook(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the values of the cells: each sheet begins a page, with its name. Comments and text boxes come last."""
    yield from report(_workbook(path, limits), limits, first_page)


def read_xls(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the values of the cells of an old workbook, which is no package."""
    with open(path, "rb") as file:
        yield from report(_cells(file), limits, first_page)


def _workbook(path: str, limits: Limits) -> Iterator[str]:
    package = Package(path, limits)
    for name in package.names("xl/*"):
        if name.endswith((".xml", ".bin")):
            package.charge(name)  # calamine unpacks it by itself, and has no limits
    with moved_together(path, limits) or open(path, "rb") as file:
        yield from _cells(file)
    yield PAGE_BREAK
    yield from drawn_text(Package(path, limits), "xl/comments*.xml", "xl/drawings/drawing*.xml")


def _cells(file: IO[bytes]) -> Iterator[str]:
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(file)
    except python_calamine.PasswordError as error:
        raise Unreadable(Reason.LOCKED, "a password is needed to open it") from error
    except python_calamine.CalamineError as error:
        raise Unreadable(Reason.DAMAGED, f"its sheets can't be read: {str(error)[:200]}") from error
    for name in workbook.sheet_names:
        yield f"{PAGE_BREAK}{name}\n"
        yield from _rows(workbook, name)


def _rows(workbook: python_calamine.CalamineWorkbook, name: str) -> Iterator[str]:
    try:
        for row in workbook.get_sheet_by_name(name).iter_rows():
            cells = [shown for value in row if (shown := _shown(value))]
            if cells:
                yield "\t".join(cells) + "\n"
    except python_calamine.WorksheetNotFound:
        return  # a chart has a sheet's name, and no cells
    except python_calamine.CalamineError as error:
        raise Unreadable(Reason.DAMAGED, f"the sheet {name} can't be read: {str(error)[:200]}") from error


def _shown(value: Any) -> str:
    """Return a value as one would look for it: whole numbers without a point, dates as they are sorted."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, date | time):
        return value.isoformat().removesuffix("T00:00:00").replace("T", " ")
    return str(value).strip()
