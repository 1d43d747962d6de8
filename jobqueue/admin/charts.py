"""Charts as SVG that needs no script and no inline style: what a template draws, computed from numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 480, 150
#: Left of the plot stand the numbers, below it the times.
LEFT, BOTTOM, TOP = 52, 22, 8


@dataclass(frozen=True)
class Series:
    """One value per slot, oldest first; None: none. Drawn as bars or as a line, in a colour of the style sheet."""

    label: str
    colour: str
    values: Sequence[float | None]
    as_bars: bool = False


@dataclass(frozen=True)
class Bar:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Drawn:
    """A series as it is drawn."""

    label: str
    colour: str
    bars: list[Bar]
    #: Lines, each as the points of a polyline; where a value is missing, a line ends.
    lines: list[str]


@dataclass(frozen=True)
class Chart:
    """What the template needs."""

    name: str
    title: str
    #: For who can't see it.
    summary: str
    series: list[Drawn]
    #: Height and text of each horizontal line.
    grid: list[tuple[float, str]]
    #: Place, text and alignment of the times below.
    times: list[tuple[float, str, str]]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT


def chart(
    name: str, title: str, series: Sequence[Series], text: Callable[[float], str], times: tuple[str, str, str]
) -> Chart:
    """Draw series of equal length.

    Args:
        name: For the style sheet.
        title: For people.
        series: At least one; bars first, since what comes later covers it.
        text: Says a value in a few characters.
        times: The first moment, the middle, and the last.
    """
    top = nice_ceiling(max((value for each in series for value in each.values if value is not None), default=0))
    middle = LEFT + (WIDTH - LEFT) / 2
    return Chart(
        name,
        title,
        summary="; ".join(f"{each.label}: {_summary(each.values, text)}" for each in series),
        series=[_draw(each, top) for each in series],
        grid=[(_y(top * share, top), text(top * share)) for share in (0, 0.5, 1)],
        times=[(LEFT, times[0], "start"), (middle, times[1], "middle"), (WIDTH, times[2], "end")],
    )


def nice_ceiling(value: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, ... or of 0.1, 0.2, 0.5, ... that isn't less; 1 for nothing."""
    if value <= 0:
        return 1
    scale = 1.0
    while scale < value:
        scale *= 10
    while scale / 10 >= value:
        scale /= 10
    return next(scale * share for share in (0.1, 0.2, 0.5, 1) if scale * share >= value)


def _summary(values: Sequence[float | None], text: Callable[[float], str]) -> str:
    known = [value for value in values if value is not None]
    return f"{text(min(known))} - {text(max(known))}" if known else "-"


def _draw(series: Series, top: float) -> Drawn:
    step = (WIDTH - LEFT) / max(len(series.values), 1)
    if series.as_bars:
        floor = _y(0, top)
        bars = [
            Bar(
                round(LEFT + slot * step + 0.5, 1), _y(value, top), round(step - 1, 1), round(floor - _y(value, top), 1)
            )
            for slot, value in enumerate(series.values)
            if value
        ]
        return Drawn(series.label, series.colour, bars, [])
    lines: list[list[str]] = [[]]
    for slot, value in enumerate(series.values):
        if value is None:
            lines.append([])
        else:
            lines[-1].append(f"{LEFT + (slot + 0.5) * step:.1f},{_y(value, top)}")
    # A single point is no line: it is drawn as a short one.
    return Drawn(
        series.label, series.colour, [], [" ".join(line * 2 if len(line) == 1 else line) for line in lines if line]
    )


def _y(value: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top, 1)
