"""Runs one operation of one contender in a process of its own: ``child MODULE:CLASS OPERATION JSON``."""

import importlib
import json
import sys

from scripts.bench.contender import Contender


def load(path: str) -> Contender:
    """Return the contender that ``module:class`` names."""
    module, _, name = path.partition(":")
    contender: Contender = getattr(importlib.import_module(module), name)()
    return contender


def main() -> None:
    """The answer is the last line on standard output."""
    path, operation, arguments = sys.argv[1:]
    answer = getattr(load(path), operation)(**json.loads(arguments))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
