"""Draws docs/images/fair-shares.svg from the simulation: ``python -m tests.jobqueue.tenants.plot``."""

from itertools import pairwise
from pathlib import Path

from tests.jobqueue.tenants.simulation import simulate

FILE = Path("docs/images/fair-shares.svg")
SECONDS, THREADS = 60.0, 4
HEAVY = "jobs of 1 s, weight 2"
TENANTS = {
    "jobs of 10 ms, work for 20 s": [0.01] * 1_600,
    "jobs of 100 ms": [0.1] * 4_000,
    "jobs of 1 s": [1.0] * 400,
    HEAVY: [1.0] * 400,
}
COLOURS = {"light": ["#0969da", "#bf8700", "#1a7f37", "#8250df"], "dark": ["#4493f8", "#d29922", "#3fb950", "#ab7df8"]}
LEFT, TOP, WIDTH, HEIGHT, RIGHT, BOTTOM = 60, 30, 460, 260, 240, 45


def main() -> None:
    seen = simulate(TENANTS, THREADS, weights={HEAVY: 2.0}, until=SECONDS)
    most = max(had for course in seen.course.values() for moment, had in course if moment <= SECONDS)
    top = -(-most // 20) * 20

    def x(moment: float) -> float:
        return LEFT + WIDTH * moment / SECONDS

    def y(had: float) -> float:
        return TOP + HEIGHT * (1 - had / top)

    lines = [
        f'<text x="{x(moment):.0f}" y="{y(0) + 20:.0f}" text-anchor="middle">{moment}</text>'
        for moment in range(0, int(SECONDS) + 1, 10)
    ]
    for had in range(0, int(top) + 1, 20):
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(had):.1f}" y2="{y(had):.1f}"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y(had) + 4:.0f}" text-anchor="end">{had}</text>')
    lines.append(f'<text x="{LEFT - 40}" y="16">worker time, in seconds</text>')
    lines.append(
        f'<text x="{LEFT + WIDTH / 2:.0f}" y="{y(0) + 40:.0f}" text-anchor="middle">seconds since the start</text>'
    )
    labels = sorted((seen.had(name, SECONDS), number, name) for number, name in enumerate(TENANTS))
    label_y = y(0) + 18.0
    for had, number, name in labels:
        marks = [(moment, sum_) for moment, sum_ in seen.course[name] if moment <= SECONDS]
        thinned = [marks[0], *(b for a, b in pairwise(marks) if int(b[0] * 4) != int(a[0] * 4)), marks[-1]]
        end = (SECONDS, thinned[-1][1])
        points = " ".join(f"{x(moment):.1f},{y(value):.1f}" for moment, value in [*thinned, end])
        lines.append(f'<polyline class="c{number}" points="{points}"/>')
        label_y = min(y(had) + 4, label_y - 16)
        lines.append(f'<text class="t{number}" x="{LEFT + WIDTH + 10}" y="{label_y:.0f}">{name}</text>')
    FILE.write_text(_svg(lines))


def _svg(lines: list[str]) -> str:
    def colours(theme: str) -> str:
        return " ".join(
            f".c{number} {{ stroke: {colour} }} .t{number} {{ fill: {colour} }}"
            for number, colour in enumerate(COLOURS[theme])
        )

    width, height = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="Worker time of four simulated tenants">',
            "<style>text { font: 13px system-ui, sans-serif; fill: #1f2328 } polyline { fill: none; stroke-width: 2 } "
            f".grid {{ stroke: #8c959f; stroke-opacity: .35 }} {colours('light')}",
            f"@media (prefers-color-scheme: dark) {{ text {{ fill: #e6edf3 }} {colours('dark')} }}</style>",
            *lines,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    main()
