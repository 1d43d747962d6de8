"""``docs/reference/queue.md``, from the docstrings of what a project imports. ``--check``: is it in step?"""

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/queue.md"

#: Where it is imported from, where it is written, and the names; none: every class. In the order of getting to know it.
PUBLIC: list[tuple[str, str, list[str]]] = [
    ("jobqueue.queue", "queue", ["Queue"]),
    ("jobqueue.queue", "specs", ["JobSpec"]),
    ("jobqueue.handlers", "handlers", ["job_handler", "JobContext"]),
    ("jobqueue.backoff", "backoff", ["linear", "constant"]),
    ("jobqueue.flows", "flows", ["chain", "group", "graph", "Step"]),
    ("jobqueue.schedules", "schedules", ["schedule", "cron", "every"]),
    ("jobqueue.testing", "testing/running", ["run_jobs", "JobsFailed"]),
    ("jobqueue.testing", "testing/immediate", ["immediate"]),
    ("jobqueue.testing", "testing/assertions", ["assert_enqueued", "assert_not_enqueued", "enqueued"]),
    ("jobqueue.testing", "testing/clock", ["let_pass", "QueueClock"]),
    ("jobqueue.testing", "testing/crashes", ["crash_worker"]),
    ("jobqueue.conf", "conf", ["JobQueueSettings"]),
    ("jobqueue.exceptions", "exceptions", []),
]
INTRODUCTION = """# The queue in Python

What a project imports from `jobqueue`, as its docstrings say it. Made by `make reference`: change the docstrings.
"""
_SECTION = re.compile(r"(Args|Returns|Raises|Yields):")
_ENTRY = re.compile(r"(\*{0,2}[\w., ]+): (.*)", re.DOTALL)

_WIDTH = 100

Documented = ast.ClassDef | ast.FunctionDef


def page() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION]
    for position, (module, file, names) in enumerate(PUBLIC):
        if position == 0 or PUBLIC[position - 1][0] != module:
            parts.append(f"## `{module}`\n")
        parts += _of_file(ROOT / "jobqueue" / f"{file}.py", names)
    return "\n".join(parts)


def _of_file(file: Path, names: list[str]) -> Iterator[str]:
    nodes = {node.name: node for node in ast.parse(file.read_text()).body if isinstance(node, Documented)}
    for name in names or nodes:
        yield from _of(nodes[name], name, level=3)


def _of(node: Documented, name: str, level: int) -> Iterator[str]:
    yield f"{'#' * level} `{name}`\n"
    if signature := _signature(node):
        yield f"```python\n{signature}\n```\n"
    if text := ast.get_docstring(node):
        yield _as_markdown(text)
    if isinstance(node, ast.ClassDef):
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_") and ast.get_docstring(member):
                yield from _of(member, f"{name}.{member.name}", level + 1)


def _signature(node: Documented) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        return f"class {node.name}({bases})" if bases else ""
    returns = ast.unparse(node.returns) if node.returns else "None"
    if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
        return f"{node.name}: {returns}"
    arguments = [text for text in _arguments(node.args) if text not in ("self", "cls")]
    line = f"{node.name}({', '.join(arguments)}) -> {returns}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{node.name}(", *(f"    {argument}," for argument in arguments), f") -> {returns}"])


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    for argument, default in zip(arguments.args, defaults, strict=True):
        yield _argument(argument, default)
    if arguments.vararg:
        yield f"*{ast.unparse(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _argument(argument, default)
    if arguments.kwarg:
        yield f"**{ast.unparse(arguments.kwarg)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")


def _as_markdown(docstring: str) -> str:
    """Turn the sections of a docstring in Google's style into lists; but for the quotes, the rest is Markdown."""
    lines: list[str] = []
    for paragraph in docstring.replace("``", "`").split("\n\n"):
        heading, _, rest = paragraph.partition("\n")
        if not _SECTION.fullmatch(heading):
            lines += [paragraph, ""]
            continue
        lines += [f"**{heading}**", ""]
        for entry in _entries(textwrap.dedent(rest)):
            named = _ENTRY.fullmatch(entry)
            lines.append(f"- `{named[1]}`: {named[2]}" if named and heading != "Returns:" else f"- {entry}")
        lines.append("")
    return "\n".join(lines)


def _entries(text: str) -> list[str]:
    """Split a section: what is indented goes on with the entry before."""
    return [" ".join(entry.split()) for entry in re.split(r"\n(?! )", text)]


def main() -> None:
    if "--check" not in sys.argv:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        sys.exit(f"{PAGE.relative_to(ROOT)} is not what the docstrings say: run `make reference`")


if __name__ == "__main__":
    main()
