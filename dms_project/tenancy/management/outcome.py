"""What became of the schemas that a migrate went through."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dms_project.tenancy.names import listed


@dataclass(frozen=True)
class Failure:
    """A schema that could not be migrated. Made of text alone: it comes from another process, perhaps."""

    schema_name: str
    #: The migration that failed; empty if none had begun.
    migration: str
    reason: str
    traceback: str = ""

    def __str__(self) -> str:
        return f"{self.schema_name}{f', {self.migration}' if self.migration else ''}: {self.reason}"


@dataclass
class Outcome:
    """Filled while the schemas are migrated."""

    #: All schemas, in order.
    names: Sequence[str]
    #: Those in which something is to do and nothing has been tried yet.
    left: set[str]
    failures: list[Failure] = field(default_factory=list)

    def text(self, *, keep_going: bool) -> str:
        """Say what failed, where all others stand, and what to do; failures that were told one by one only by name."""
        failed = sorted(failure.schema_name for failure in self.failures)
        migrated = [name for name in self.names if name not in self.left and name not in failed]
        if keep_going:
            first = f"Failed: {listed(failed)}."
        else:
            first = "\n".join(f"Stopped at {failure}" for failure in self.failures)
        not_reached = [name for name in self.names if name in self.left]
        rest = f"Migrated: {listed(migrated)}. Not reached: {listed(not_reached)}."
        return f"{first}\n{rest} Fix the cause and run the same command again."
