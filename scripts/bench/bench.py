"""What every part of the benchmark works with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.bench.server import Database, Server
from scripts.bench.sizes import Sizes
from scripts.bench.stage import Entrant, Stage, open_stage

#: While jobs are prepared, nothing waits for the disk.
_PREPARING = {"PGOPTIONS": "-c synchronous_commit=off"}
_FILL_PER_CALL = 5_000


@dataclass(frozen=True)
class Bench:
    """A run: on which server, how much, and who takes part."""

    server: Server
    sizes: Sizes
    folder: Path
    ours: Entrant
    floor: Entrant
    peers: list[Entrant]

    def empty(self, entrant: Entrant) -> Database:
        """Return the template of an entrant's database without jobs. The floor works on our tables."""
        owner = self.ours if entrant is self.floor else entrant

        def build(database: Database) -> None:
            with open_stage(owner, database, self.folder, _PREPARING) as stage:
                stage.call("prepare")

        return self.server.template(owner.name, build)

    def filled(self, entrant: Entrant, jobs: int, base: Database | None = None) -> Database:
        """Return the template with so many no-op jobs waiting, on top of the empty one or of ``base``."""
        owner = self.ours if entrant is self.floor else entrant
        base = base or self.empty(owner)

        def build(database: Database) -> None:
            with open_stage(owner, database, self.folder, _PREPARING) as stage:
                stage.call("fill", jobs=jobs, per_call=_FILL_PER_CALL)

        return self.server.template(f"{base.name} with {jobs}", build, base)

    @contextmanager
    def stage(self, entrant: Entrant, template: Database, **variables: str) -> Iterator[Stage]:
        """Give a stage on a copy of the template, with everything that was prepared on disk."""
        with (
            self.server.clone(template) as database,
            open_stage(entrant, database, self.folder, variables) as stage,
        ):
            self.server.checkpoint()
            yield stage
