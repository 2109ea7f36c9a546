"""Whether a folder holds a repository, by the signs that git itself goes by; a `.git` that is not valid is none."""

import os
import re
import stat
from pathlib import Path

_FILE_MARK = b"gitdir: "
_MAX_FILE_BYTES = 1_048_576
"""A larger `.git` file is none to git."""
_HEAD = re.compile(rb"ref:\s*refs/|[0-9a-fA-F]{40}")
_MAX_HEAD_BYTES = 256
_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def is_repository(folder: str) -> bool:
    """True if git takes the `.git` in the folder for a repository's: a folder that is one, or a file that leads to one.

    A `.git` file that can't be read may be one and counts. Of what a file points to, only these signs are looked at.
    """
    entry = Path(folder, ".git")
    try:
        status = entry.stat()
    except OSError:
        return False
    if stat.S_ISDIR(status.st_mode):
        return _is_git_folder(entry)
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_FILE_BYTES:
        return False
    try:
        content = _read(entry, _MAX_FILE_BYTES)
    except OSError:
        return True
    target = os.fsdecode(content.removeprefix(_FILE_MARK).rstrip(b"\r\n"))
    if not content.startswith(_FILE_MARK) or not target or "\0" in target:
        return False
    return _is_git_folder(Path(folder, target))


def _is_git_folder(path: Path) -> bool:
    if not _has_head(path / "HEAD"):
        return False
    common = _common_folder(path)
    return os.access(common / "objects", os.X_OK) and os.access(common / "refs", os.X_OK)


def _has_head(path: Path) -> bool:
    try:
        if path.is_symlink():  # as git once kept HEAD
            return str(path.readlink()).startswith("refs/")
        return _HEAD.match(_read(path, _MAX_HEAD_BYTES)) is not None
    except OSError:
        return False


def _common_folder(path: Path) -> Path:
    """Where objects and refs are: a linked work tree's git folder names another one."""
    try:
        named = _read(path / "commondir", _MAX_FILE_BYTES).rstrip(b"\r\n")
    except OSError:
        return path
    return path / os.fsdecode(named) if named and b"\0" not in named else path


def _read(path: Path, limit: int) -> bytes:
    """The beginning of a regular file; `OSError` for anything else, and it never waits."""
    descriptor = os.open(path, _OPEN_FLAGS)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit)
