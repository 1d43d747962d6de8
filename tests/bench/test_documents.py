"""What a run leaves behind for the documentation."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.bench.chart import Bar, Panel, svg
from scripts.bench.documents import Report
from scripts.bench.figures import Spread
from scripts.bench.goals import Goal, Row
from scripts.bench.trials import Key, Results, Sample

SVG = "{http://www.w3.org/2000/svg}"
RATES = {
    Key("enqueue", "floor", "COPY"): [100_000.0],
    Key("drain", "ours", "1 process"): [9_000.0, 11_000.0, 10_000.0],
    Key("drain", "floor", "n = 100, two transactions"): [12_000.0],
    Key("drain", "floor", "n = 100, one transaction"): [15_000.0],
    Key("drain", "PgQueuer", "stock"): [2_000.0],
    Key("drain", "PgQueuer", "best, 1 process"): [7_000.0],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    results = Results()
    for key, rates in RATES.items():
        for turn, rate in enumerate(rates, start=1):
            results.add(Sample(key, turn, 2.0, 0.0, {"per_second": rate}))
    rows = [Row("drain: of the | floor", Goal(">=", 0.6), Spread(0.66, 0.6, 0.73), "x")]
    Report({"cores": "2"}, {"rounds": 3}, results, rows, {"drain": 20.0}).write(tmp_path / "bench")
    return tmp_path / "bench"


def test_a_program_can_read_every_repeat_and_every_verdict(folder: Path) -> None:
    document = json.loads((folder / "results.json").read_text())

    assert document["conditions"] == {"cores": "2"}
    assert [(row["title"], row["verdict"]) for row in document["rows"]] == [("drain: of the | floor", "ok")]
    assert len(document["samples"]) == sum(len(rates) for rates in RATES.values())
    assert document["samples"][1]["figures"] == {"per_second": 9_000.0}


def test_speeds_stand_below_each_other_whatever_the_setting_is_called(folder: Path) -> None:
    lines = (folder / "tables.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    column = next(line for line in cells if "drain, 1 process" in line).index("drain, 1 process")

    assert {line[0]: line[column] for line in cells[-3:]} == {"ours": "10,000", "floor": "15,000", "PgQueuer": "7,000"}
    assert r"| drain: of the \| floor | 0.66 x | >= 0.6 | ok |" in (folder / "tables.md").read_text()


def test_the_chart_shows_the_fastest_setting_of_each_fastest_first(folder: Path) -> None:
    picture = ElementTree.fromstring((folder / "chart.svg").read_text())
    bars = [(bar.get("class"), float(bar.get("width", "0"))) for bar in picture.iter(f"{SVG}rect")]
    longest = bars[0][1]

    assert [kind for kind, _ in bars] == ["floor", "ours", "peer", "floor"]
    assert [round(width / longest, 2) for _, width in bars[:3]] == [1.0, 0.67, 0.47]


def test_names_cannot_break_the_chart() -> None:
    picture = ElementTree.fromstring(svg([Panel("a < b", [Bar('"&<', 0.0, "peer")]), Panel("empty", [])], 'a "b" & c'))

    assert [text.text for text in picture.iter(f"{SVG}text")] == ["a < b", '"&<', "0"]
    assert picture.get("aria-label") == 'a "b" & c'
