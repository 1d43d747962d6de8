"""``make reset-test-env``: end what an aborted test run left behind, drop the test databases and build them anew."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
from psycopg import sql

from scripts.postgres import EmbeddedPostgres, PostgresError
from scripts.postgres_home import HomeError

TEST_SERVER = Path(__file__).resolve().parent.parent / "var/test-postgres"
# Builds the databases as every run does; whether a run keeps them is the suite's affair.
BUILD = ["-m", "pytest", "--quiet", "--create-db", "--reuse-db", "tests/house/test_databases.py"]


def main() -> None:
    try:
        if url := os.environ.get("DATABASE_URL"):
            drop_test_databases(url)
            sys.exit(subprocess.run([sys.executable, *BUILD]).returncode)
        server = EmbeddedPostgres(TEST_SERVER)
        server.end_leftover()
        server.home.remove()
        print("No test server is left; `make test` makes one with fresh databases, and removes it.")
    except (HomeError, PostgresError) as error:
        sys.exit(f"error: {error}")
    except psycopg.OperationalError as error:
        sys.exit(f"error: the database that DATABASE_URL names: {str(error).splitlines()[0]}")


def drop_test_databases(url: str) -> None:
    """Drop what tests make beside the database that ``url`` names: ``test_<name>`` and ``test_<name>_...``."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, dbname="postgres", autocommit=True, connect_timeout=5) as connection:
        rows = connection.execute(
            "SELECT datname FROM pg_database WHERE datname = %s OR starts_with(datname, %s) ORDER BY datname",
            [f"test_{name}", f"test_{name}_"],
        ).fetchall()
        for (database,) in rows:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))
            print(f"Dropped {database}.", flush=True)


if __name__ == "__main__":
    main()
