"""The names of objects: ``<tenant>/<document uuid>/<version>/<kind>``. Nothing in them comes from people."""

import re
from dataclasses import dataclass
from uuid import UUID

ORIGINAL = "original"
_KEY = re.compile(
    r"(?P<tenant>[a-z][a-z0-9_]{0,62})/(?P<document>[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"/(?P<version>[1-9][0-9]{0,8})/(?P<kind>[a-z0-9][a-z0-9._-]*)"
)


@dataclass(frozen=True)
class KeyParts:
    """What a key says."""

    tenant: str
    document_id: UUID
    version: int
    kind: str


def key_of(tenant: str, document_id: UUID, version: int, kind: str = ORIGINAL) -> str:
    """Return the key of an object."""
    return f"{tenant}/{document_id}/{version}/{kind}"


def parse_key(key: str) -> KeyParts | None:
    """Return the parts of a key, or None if no object of ours has such a name."""
    found = _KEY.fullmatch(key)
    if found is None:
        return None
    return KeyParts(found["tenant"], UUID(found["document"]), int(found["version"]), found["kind"])
