"""Which files are worth reading, by their path and size alone, and how to tell that one changed."""

import os
from functools import lru_cache

from tenure.code.languages.registry import TextKind, kind_of, language_of
from tenure.code.masking import is_key_file

MAX_SOURCE_BYTES = 8 * 1024 * 1024
"""Source of a known language is parsed up to this size."""

MAX_TEXT_BYTES = 1024 * 1024
"""Any other text of more than this is taken for generated data."""

CLOCK_SLACK_NS = 20_000_000
"""Two changes within this time may bear one time stamp: kernels stamp files by a clock that ticks every 1 to 10 ms."""

COARSE_SLACK_NS = 2_000_000_000
"""The same where the file system keeps whole seconds only; FAT keeps every other one."""

_REMEMBERED_PATHS = 1 << 17
_SECOND_NS = 1_000_000_000


def reason_to_leave_out(path: str, size: int) -> str:
    """Why the file is not to be read, '' if it is."""
    if _is_key_file(path):
        return "key file"
    if size <= MAX_TEXT_BYTES:
        return ""
    if kind_of(language_of(path)) is not TextKind.SOURCE:
        return "generated data over 1 MB"
    return "source over 8 MB" if size > MAX_SOURCE_BYTES else ""


# The same paths are asked for at every sync of a running server.
_is_key_file = lru_cache(maxsize=_REMEMBERED_PATHS)(is_key_file)


def signature_of(status: os.stat_result) -> str:
    """What changes whenever the file does: size, mtime, ctime and inode. ctime can't be put back by hand."""
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"


def is_racy(signature: str, read_at_ns: int) -> bool:
    """True if the file may have changed again, unseen, after it was read at `read_at_ns` (wall clock, before opening).

    Such a signature must not be trusted at the next sync: store '' in its place, so that the file is hashed again.
    The id of a blob is never racy.
    """
    parts = signature.split(":")
    if len(parts) == 1:
        return False
    stamps = [int(part) for part in parts[1:3]]
    is_coarse = all(stamp % _SECOND_NS == 0 for stamp in stamps)
    return max(stamps) + (COARSE_SLACK_NS if is_coarse else CLOCK_SLACK_NS) >= read_at_ns
