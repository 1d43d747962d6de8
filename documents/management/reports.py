"""How ``documents verify`` tells what it found: a line each for people, one JSON object for programs."""

import json
from abc import ABC, abstractmethod
from dataclasses import asdict

from django.core.management.base import OutputWrapper
from django.core.serializers.json import DjangoJSONEncoder
from django.template.defaultfilters import filesizeformat

from documents.verification import Problem, Verified


class Report(ABC):
    """Written while the comparison goes on: nothing is collected, so the number of problems doesn't matter."""

    def __init__(self, out: OutputWrapper) -> None:
        self.out = out
        self.problems = 0

    def add(self, problem: Problem) -> None:
        """Tell of a problem."""
        self._write(problem)
        self.problems += 1

    @abstractmethod
    def _write(self, problem: Problem) -> None: ...

    @abstractmethod
    def end(self, verified: Verified, *, complete: bool) -> None:
        """Sum up. ``complete``: all that was to be compared was compared."""


class TextReport(Report):
    """For people."""

    def _write(self, problem: Problem) -> None:
        self.out.write(f"{problem.fault:<10}  {problem.key}  {problem.detail}: {problem.advice}")

    def end(self, verified: Verified, *, complete: bool) -> None:
        """Sum up in a line, if there is something to sum up."""
        if not complete:
            return
        size = filesizeformat(verified.bytes).replace("\xa0", " ")
        young = f"; without a row, but too young to be orphans: {verified.young}" if verified.young else ""
        self.out.write(f"objects compared: {verified.objects} ({size}); problems: {self.problems or 'none'}{young}")


class JsonReport(Report):
    """For programs: one JSON object, valid to its end even if the comparison broke off."""

    def __init__(self, out: OutputWrapper) -> None:
        super().__init__(out)
        self.out.write('{"problems": [', ending="")

    def _write(self, problem: Problem) -> None:
        line = json.dumps(asdict(problem), cls=DjangoJSONEncoder)
        self.out.write(f"{',' if self.problems else ''}\n  {line}", ending="")

    def end(self, verified: Verified, *, complete: bool) -> None:
        """Close the list and give the sums."""
        sums = asdict(verified) | {"complete": complete}
        self.out.write("\n], " + json.dumps(sums).removeprefix("{"))
