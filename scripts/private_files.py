"""Files that only their owner may read."""

import os
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write the file whole or not at all, with mode 0600 from the first moment."""
    unfinished = path.with_name(f".{path.name}.new")
    unfinished.unlink(missing_ok=True)
    with open(unfinished, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)
    unfinished.replace(path)
