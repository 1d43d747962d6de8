"""The documents of an office that doesn't exist."""

from playwright.sync_api import Browser

from tests.pages.conftest import SAMPLES
from tests.pages.people import File

_AGREEMENT = [
    "<h1>Rental agreement</h1><p>between Holm Estates Ltd. and Acme Printing Ltd. on the rooms at 12 Market Street, "
    "ground floor, used as a print shop with office and store.</p><h2>1 Term</h2><p>The tenancy begins on 1 April 2026 "
    "and is made for five years. It is extended by one year at a time unless one of the parties gives notice in "
    "writing six months before it ends.</p><h2>2 Rent</h2><p>The rent is 2,480 euros a month, heating not included, "
    "due on the third working day.</p>",
    "<h2>3 Deposit</h2><p>The tenant pays a deposit of three months' rent. The landlord keeps it apart from other "
    "money and returns it within eight weeks of the tenant's leaving.</p><h2>4 Notice</h2><p>The right to give notice "
    "for a serious reason is not touched. Notice needs the written form.</p><h2>5 Repairs</h2><p>Small repairs up to "
    "150 euros are borne by the tenant.</p>",
]


def documents(browser: Browser) -> list[File]:
    """Return them, the oldest first. One of each kind: found, of several pages, locked, damaged, of no known type."""
    minutes = ["<h1>Minutes</h1><p>Works council, 12 March. Present: five of seven.</p><p>The deposit for the new "
               "machine is paid by the end of the month.</p>"]  # fmt: skip
    invoice = ["<h1>Invoice 2026-1183</h1><p>Paper, 90 g, 40 boxes: 1,912.00 euros.</p><p>A deposit of 200 euros was "
               "taken off.</p>"]  # fmt: skip
    report = [
        f"<h1>Chapter {n}</h1><p>What happened in the year, told in the order in which it did.</p>"
        for n in range(1, 25)
    ]
    return [
        File("Annual report 2025.pdf", _pdf(browser, report)),
        File("Price list, spring.pdf", _pdf(browser, invoice)[:900]),
        File("Staff handbook.rtf", b"{\\rtf1 The handbook of our staff, as the old typewriter program wrote it.}"),
        File("Invoice 2026-1183 Holm & Sons.pdf", _pdf(browser, invoice)),
        File("Payslip, February.pdf", (SAMPLES / "libreoffice-writer-password.pdf").read_bytes()),
        File("Letter from the town hall.png", (SAMPLES / "typewriter.png").read_bytes()),
        File("Minutes of the works council, 12 March.pdf", _pdf(browser, minutes)),
        File("Rental agreement, 12 Market Street.pdf", _pdf(browser, _AGREEMENT)),
        File(
            "Notes on the move.txt",
            b"Ask Holm Estates about the deposit.\nMeasure the door: the press is 1.9 m wide.\n",
        ),
    ]


def _pdf(browser: Browser, pages: list[str]) -> bytes:
    page = browser.new_page()
    try:
        page.set_content(
            "".join(f"<section style='break-after: page; font: 12pt serif'>{text}</section>" for text in pages)
        )
        return page.pdf(format="A4", margin={"top": "25mm", "left": "25mm", "right": "25mm", "bottom": "25mm"})
    finally:
        page.close()
