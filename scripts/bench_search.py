"""``make bench-search``: how long the search takes over many documents, beside its goal.

Makes a tenant with documents of one page whose words are as frequent as those of a language (Zipf), and asks what
people ask: rare and common words, two at a time, phrases, beginnings, filters. What is timed is all that the API does
for a search but HTTP. On the server that BENCH_DATABASE_URL names, or an embedded one that lasts as long as the run.
"""

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.bench import machine
from scripts.bench.errors import NotMeasured
from scripts.bench.server import Database, running_server
from scripts.postgres import PostgresError, escaped
from scripts.postgres_home import HomeError

GOAL_MS = 100
TENANT = "search"
WORDS = 20_000
PAGE_WORDS = 80
#: The first ones, which stand for "the" and "and": nobody searches for them, and stemmers leave them out.
STOP_WORDS = 100
_SYLLABLES = "ba de fi go ku la me ni po ru sa te vi wo zu ka".split()  # noqa: SIM905 - easier to read

# Word n stands about n times more rarely than the first. Both stemmers leave these words as they are, so one is enough.
_PAGES = f"""
DROP INDEX pages_by_word, document_titles_by_word;
INSERT INTO documents_document (id, title, status, created_at, document_date)
SELECT lpad(to_hex(n), 32, '0')::uuid, 'Document ' || n || ' ' || (%(words)s::text[])[1 + n %% {WORDS}], 'ready',
    now() - n * interval '1 minute', current_date - (n / 100)
FROM generate_series(1, %(documents)s) AS n;
INSERT INTO documents_documentversion
    (id, document_id, number, is_current, sha256, size_bytes, mime_type, file_name, storage_key, page_count, created_at)
SELECT n, lpad(to_hex(n), 32, '0')::uuid, 1, true, lpad(to_hex(n), 64, '0'), 1000,
    CASE WHEN n %% 10 = 0 THEN 'image/png' ELSE 'application/pdf' END, 'file', 'key ' || n, 1, now()
FROM generate_series(1, %(documents)s) AS n;
INSERT INTO documents_documentpage (version_id, number, text, search)
SELECT n, 1, text, to_tsvector('dms_german', text)
FROM generate_series(1, %(documents)s) AS n, LATERAL (
    SELECT string_agg((%(words)s::text[])[1 + floor(power({WORDS}, random()))::int - 1], ' ') AS text
    FROM generate_series(1, {PAGE_WORDS}) WHERE n > 0
) AS page;
INSERT INTO documents_tag (id, name, key) SELECT n, 'tag ' || n, 'tag ' || n FROM generate_series(1, 50) AS n;
INSERT INTO documents_document_tags (document_id, tag_id)
SELECT lpad(to_hex(n), 32, '0')::uuid, 1 + n %% 50 FROM generate_series(1, %(documents)s) AS n;
INSERT INTO documents_word SELECT unnest(%(words)s::text[]) ON CONFLICT DO NOTHING;
CREATE INDEX pages_by_word ON documents_documentpage USING gin (search);
CREATE INDEX document_titles_by_word ON documents_document USING gin (title_search);
"""  # noqa: S608 - of our own numbers


def main() -> int:
    """Returns 0, or 1 if it could not measure."""
    options = _options()
    try:
        with running_server() as server:
            database = server.template("search", lambda database: _fill(database, options.documents))
            seconds = _measure(database, options.searches)
    except (HomeError, NotMeasured, PostgresError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    _report(seconds, options)
    return 0


def _fill(database: Database, documents: int) -> None:
    os.environ |= database.environment | {
        "DATABASE_URL": url_of(database),
        "DJANGO_SETTINGS_MODULE": "dms_project.settings",
        "DJANGO_DEBUG": "true",
    }
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from dms_project.tenancy import use
    from dms_project.tenancy.schemas import create_tenant

    print(f"making {documents:,} documents ...", file=sys.stderr, flush=True)
    call_command("migrate", verbosity=0)
    create_tenant(TENANT, domain=f"{TENANT}.localhost")
    with use(TENANT), connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        for statement in filter(str.strip, _PAGES.split(";\n")):
            cursor.execute(statement, {"documents": documents, "words": _vocabulary()})


def url_of(database: Database) -> str:
    """Return what DATABASE_URL says of it."""
    given = {"user": "postgres", "host": "127.0.0.1", "port": "5432"} | database.server.parameters
    password = f":{escaped(given['password'])}" if given.get("password") else ""
    server = f"{escaped(given['user'])}{password}@{escaped(given['host'])}:{given['port']}"
    return f"postgresql://{server}/{database.name}"


def _vocabulary() -> list[str]:
    """Return made-up words, each another one, that stemmers take for German or English."""
    base = len(_SYLLABLES)
    return ["".join(_SYLLABLES[number // base**place % base] for place in range(4)) + "rn" for number in range(WORDS)]


def _measure(database: Database, searches: int) -> dict[str, list[float]]:
    """Return the seconds that each search of a kind took, after as many to warm up."""
    from dms_project.tenancy import use
    from documents import listing
    from documents.filters import Filters

    seconds: dict[str, list[float]] = {}
    with use(TENANT):
        for kind, words, filters in [*_questions(searches, seed=1), *_questions(searches, seed=2)]:
            start = time.perf_counter()
            listing.list_documents(words=words, filters=Filters(**filters), page=1)
            seconds.setdefault(kind, []).append(time.perf_counter() - start)
        from django.db import connection

        connection.close()
    return {kind: taken[len(taken) // 2 :] for kind, taken in seconds.items()}


def _questions(count: int, seed: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    chosen = random.Random(seed)  # noqa: S311 - the same searches each time
    words = _vocabulary()

    def word() -> str:
        return words[int(STOP_WORDS * (WORDS / STOP_WORDS) ** chosen.random())]

    kinds: dict[str, Callable[[], tuple[str, dict[str, Any]]]] = {
        "a word, as frequent as in a text": lambda: (word(), {}),
        "a rare word": lambda: (words[chosen.randrange(1000, WORDS)], {}),
        "two words": lambda: (f"{word()} {word()}", {}),
        "one of the ten commonest words": lambda: (words[STOP_WORDS + chosen.randrange(10)], {}),
        "a phrase": lambda: (f'"{word()} {word()}"', {}),
        "the beginning of a word": lambda: (f"{word()[:5]}*", {}),
        "two words, one of them excluded": lambda: (f"{word()} -{word()}", {}),
        "a word with a tag": lambda: (word(), {"tags": (f"tag {chosen.randrange(1, 51)}",)}),
        "a mistyped word": lambda: (words[chosen.randrange(WORDS)].replace("a", "y", 1) + "q", {}),
    }
    for _ in range(count):
        kind = chosen.choice(list(kinds))
        yield (kind, *kinds[kind]())


def _report(seconds: dict[str, list[float]], options: argparse.Namespace) -> None:
    every = [one for taken in seconds.values() for one in taken]
    rows = {**dict(sorted(seconds.items())), "all": every}
    print(f"\n{options.documents:,} documents; milliseconds  {'n':>5} {'median':>8} {'p95':>8} {'longest':>8}")
    figures = {}
    for kind, taken in rows.items():
        p95 = statistics.quantiles(taken, n=20)[-1] if len(taken) > 1 else taken[0]
        figures[kind] = {"n": len(taken), "median": statistics.median(taken), "p95": p95, "longest": max(taken)}
        cells = " ".join(f"{1000 * figures[kind][name]:8.1f}" for name in ("median", "p95", "longest"))
        verdict = f"  wanted < {GOAL_MS}: {'ok' if 1000 * p95 < GOAL_MS else 'missed'}" if kind == "all" else ""
        print(f"{kind:36} {len(taken):5} {cells}{verdict}")
    options.out.mkdir(parents=True, exist_ok=True)
    written = {"machine": machine.describe(), "documents": options.documents, "seconds": figures}
    (options.out / "search.json").write_text(json.dumps(written, indent=1) + "\n")
    print(f"search.json is in {options.out}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-search ARGS=...", description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000, metavar="N", help="default %(default)s")
    parser.add_argument("--searches", type=int, default=500, metavar="N", help="default %(default)s")
    parser.add_argument("--out", type=Path, default=Path("var/bench"), metavar="FOLDER", help="default %(default)s")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
