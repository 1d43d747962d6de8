"""What a person reads at the end: what there was, and whether the queue kept its promises."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.faults.checker import PROMISES, Violation, violations
from tests.faults.history import History

#: So many violations of each kind are told one by one.
TOLD = 5


@dataclass(frozen=True)
class Verdict:
    """What the checker found, to be printed or written down."""

    summary: Sequence[str]
    broken: Sequence[Violation]

    @property
    def clean(self) -> bool:
        return not self.broken

    def __str__(self) -> str:
        end = "clean. Every promise was kept." if self.clean else f"{len(self.broken):,} broken promises."
        return "\n".join([*self.summary, "", *self._table(), *self._examples(), "", f"VERDICT: {end}"])

    def as_json(self) -> dict[str, Any]:
        """Return it all, with every violation."""
        counts = Counter(violation.kind for violation in self.broken)
        rows = [
            {"promise": kind, "broken": counts[kind], "goal": 0, "verdict": _word(counts[kind])} for kind in PROMISES
        ]
        broken = [{"kind": violation.kind, "text": violation.text} for violation in self.broken]
        return {"clean": self.clean, "summary": list(self.summary), "rows": rows, "broken": broken}

    def _table(self) -> list[str]:
        counts = Counter(violation.kind for violation in self.broken)
        lines = [f"{'what must not be':80} found  goal"]
        for kind, meaning in PROMISES.items():
            lines.append(f"{f'{kind}: {meaning}':80} {counts[kind]:5,}     0  {_word(counts[kind])}")
        return lines

    def _examples(self) -> list[str]:
        lines = []
        for kind, count in Counter(violation.kind for violation in self.broken).items():
            texts = [violation.text for violation in self.broken if violation.kind == kind]
            lines += ["", f"BROKEN, {kind} ({count:,}):", *(f"  {text}" for text in texts[:TOLD])]
            if count > TOLD:
                lines.append(f"  and {count - TOLD:,} more")
        return lines


def verdict(history: History, seen: Sequence[Violation] = ()) -> Verdict:
    """Judge a history; ``seen`` is what was found broken by other means."""
    return Verdict(_summary(history), [*violations(history), *seen])


def _word(count: int) -> str:
    return "missed" if count else "ok"


def _summary(history: History) -> list[str]:
    outcomes = Counter(enqueue.outcome for enqueue in history.enqueues)
    died = sum(worker.died for worker in history.workers.values())
    overlaps = sum(history.end_of(first) > second.started for first, second in history.successive_runs())
    return [
        f"Enqueued: {outcomes['committed']:,} committed, {outcomes['rolled back']:,} rolled back, "
        f"{outcomes['unknown']:,} whose outcome nobody heard.",
        f"Rows: {len(history.rows):,} ({_counted(Counter(row.status for row in history.rows))}).",
        f"Runs: {len(history.runs):,} in {len(history.workers):,} workers, {died:,} of which died; "
        + (f"{overlaps:,} overlapped with the next of their job." if overlaps else "none overlapped."),
        f"Faults: {len(history.faults):,} ({_counted(Counter(fault.kind for fault in history.faults))}).",
    ]


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counter.items())) or "none"
