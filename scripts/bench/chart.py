"""Bars as SVG, readable on light and on dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

_WIDTH, _LABEL, _VALUE = 760, 230, 90
_LINE, _BAR, _TITLE, _GAP = 24, 16, 34, 14

_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.ours { fill: #0969da } .floor { fill: #8c959f } .peer { fill: #bf8700 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.ours { fill: #4493f8 } .floor { fill: #6e7681 } .peer { fill: #d29922 }
}
"""


@dataclass(frozen=True)
class Bar:
    """One figure. ``kind`` is ours, floor or peer, and decides the colour."""

    label: str
    value: float
    kind: str


@dataclass(frozen=True)
class Panel:
    """Bars that are drawn to one scale, which begins at zero."""

    title: str
    bars: Sequence[Bar]


def svg(panels: Sequence[Panel], description: str) -> str:
    """Draw panels below each other, in each the longest bar first.

    Args:
        panels: Those without bars are left out.
        description: For whoever doesn't see the picture.
    """
    drawn: list[str] = []
    top = 0
    for panel in panels:
        if panel.bars:
            drawn += _panel(panel, top)
            top += _TITLE + _LINE * len(panel.bars) + _GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" viewBox="0 0 {_WIDTH} {top}"'
            f' role="img" aria-label={quoteattr(description)}>',
            f"<style>{_STYLE}</style>",
            *drawn,
            "</svg>\n",
        ]
    )


def _panel(panel: Panel, top: int) -> list[str]:
    longest = max(bar.value for bar in panel.bars)
    lines = [f'<text class="title" x="0" y="{top + 20}">{escape(panel.title)}</text>']
    for row, bar in enumerate(sorted(panel.bars, key=lambda bar: -bar.value)):
        y = top + _TITLE + _LINE * row
        width = max(1.0, (_WIDTH - _LABEL - _VALUE) * bar.value / longest) if longest else 1.0
        lines += [
            f'<text x="{_LABEL - 10}" y="{y + 13}" text-anchor="end">{escape(bar.label)}</text>',
            f'<rect class="{bar.kind}" x="{_LABEL}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="2"/>',
            f'<text x="{_LABEL + width + 8:.1f}" y="{y + 13}">{bar.value:,.0f}</text>',
        ]
    return lines
