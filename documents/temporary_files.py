"""Writing to temporary files whose folder may be full, or gone."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from documents.exceptions import StorageFull, StorageUnavailable


@contextmanager
def writing() -> Iterator[None]:
    """Have a temporary folder that takes no more told as what it is, and not as an error of ours.

    Raises:
        StorageFull, StorageUnavailable: Instead of the ``OSError``.
    """
    try:
        yield
    except OSError as error:
        message = f"the folder for temporary files (TMPDIR): {error.strerror or error}."
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StorageFull(message) if full else StorageUnavailable(message) from error
