"""Whether a file on disk is still the one that was indexed."""

import os
import stat
from pathlib import Path

from tenure.code.admission import MAX_SOURCE_BYTES, signature_of
from tenure.core.ids import content_hash


def has_changed(path: Path, signature: str, indexed_hash: str) -> bool:
    """True if the file is gone, can't be read, or holds other bytes than those indexed.

    One look at the file where the signature is the indexed one; else its bytes are compared by hash.
    """
    try:
        status = path.lstat()
        if signature and signature_of(status) == signature:
            return False
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SOURCE_BYTES:
            return True
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return content_hash(file.read()) != indexed_hash
    except OSError:
        return True
