"""What a run prints: the goals, then all that was measured."""

from __future__ import annotations

from collections.abc import Sequence

from scripts.bench.goals import Row
from scripts.bench.trials import Key, Results, Sample

_DISTURBED = "*"
_LONGEST_REASON = 60


def number(value: float) -> str:
    """Write a figure with as many digits as mean something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def goals_table(rows: Sequence[Row]) -> str:
    """One line for each goal: figure, goal, and whether it is met."""
    return _aligned([["goal", "figure", "wanted", "", "lowest to highest", ""], *goal_cells(rows)], right=(1,))


def goal_cells(rows: Sequence[Row]) -> list[list[str]]:
    """Return the table of goals, less its heading."""
    lines = []
    for row in rows:
        spread = row.spread
        figure = f"{number(spread.median)} {row.unit}".rstrip() if spread else "-"
        between = f"{number(spread.low)} to {number(spread.high)}" if spread else ""
        disturbed = f"{_DISTURBED} {row.disturbed} disturbed" if row.disturbed else ""
        note = "; ".join(filter(None, [_short(row.note), disturbed]))
        lines.append([row.title, figure, f"{row.goal.sign} {row.goal.bound:,g}", row.verdict, between, note])
    return lines


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Write a table as Markdown; the first line is its heading."""
    heading, *body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([heading, "|" + " --- |" * len(lines[0]), *body])


def measured_table(results: Results, parts: Sequence[str], missing: Sequence[str]) -> str:
    """One line for each thing that was tried, with its figures: the median, and the lowest and highest."""
    lines = [("what", "who", "setting", "figures")]
    for part in parts:
        lines += [(part, key.contender, key.setting, _figures(results, key)) for key in results.keys(part)]
    lines += [("", name, "", "not installed") for name in missing]
    return _aligned(lines)


def progress(sample: Sample, rounds: int) -> str:
    """The line that is printed when one trial has been measured."""
    figures = ", ".join(f"{name} {number(value)}" for name, value in sample.figures.items()) or sample.reason
    load = f" {_DISTURBED} others used {sample.other_cores:.1f} cores" if sample.disturbed else ""
    return f"{sample.round}/{rounds} {sample.key}: {figures} ({sample.seconds:.1f} s){load}"


def _figures(results: Results, key: Key) -> str:
    samples = results.of(key)
    names = list(dict.fromkeys(name for sample in samples for name in sample.figures))
    if not names:
        return f"not measured: {_short(results.reason(key))}"
    texts = []
    for name in names:
        spread = results.spread(key, name)
        if spread:
            between = f" ({number(spread.low)} to {number(spread.high)})" if spread.low < spread.high else ""
            texts.append(f"{name.replace('_', ' ')} {number(spread.median)}{between}")
    disturbed = sum(sample.disturbed for sample in samples)
    return ", ".join(texts) + (f" {_DISTURBED} {disturbed} of {len(samples)} disturbed" if disturbed else "")


def _short(reason: str) -> str:
    """The whole reason stands in the lines of progress and in the JSON."""
    return reason if len(reason) <= _LONGEST_REASON else reason[: _LONGEST_REASON - 3] + "..."


def _aligned(lines: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]

    def cell(text: str, column: int) -> str:
        return text.rjust(widths[column]) if column in right else text.ljust(widths[column])

    return "\n".join("  ".join(cell(text, column) for column, text in enumerate(line)).rstrip() for line in lines)
