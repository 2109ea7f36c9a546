"""Whether HEAD may have moved since git was asked, from the files in which git keeps it: no process for each look."""

import os
import stat
from pathlib import Path
from typing import TypeAlias

HeadMark: TypeAlias = tuple[object, ...]
"""Equal as long as HEAD names the same branch and the same commit."""
_MOST_BYTES = 4096
"""HEAD, a ref and the pointer of a linked work tree are one line each."""
_SYMBOLIC = b"ref: "


def head_mark(root: str) -> HeadMark | None:
    """The mark of a work tree or bare repository; None where only git itself can say, or where there is none.

    Take it before git is asked: what changes in between makes the next mark another one. What is read is compared and
    goes nowhere else, and nothing is read that could make the reader wait.
    """
    folder = _git_folder(Path(root))
    head = folder and _line(folder / "HEAD")
    if not folder or not head:
        return None
    if not head.startswith(_SYMBOLIC):
        return (head,)
    name = os.fsdecode(head.removeprefix(_SYMBOLIC))
    # A ref of another kind (`refs/worktree/`, a table of refs, a ref to a ref) is not looked for here.
    if not name.startswith("refs/heads/") or ".." in name.split("/"):
        return None
    shared = _shared_folder(folder)
    loose = _line(shared / name)
    if (loose or b"").startswith(_SYMBOLIC) or (shared / "reftable").exists():
        return None
    return (head, loose, _version(shared / "packed-refs"))


def _git_folder(root: Path) -> Path | None:
    entry = root / ".git"
    if entry.is_dir():
        return entry
    if not os.path.lexists(entry):
        return root
    pointer = _line(entry)
    return root / os.fsdecode(pointer.removeprefix(b"gitdir: ")) if pointer else None


def _shared_folder(folder: Path) -> Path:
    """Where the branches of all work trees are kept."""
    pointer = _line(folder / "commondir")
    return folder / os.fsdecode(pointer) if pointer else folder


def _line(path: Path) -> bytes | None:
    """The line of a small file, None if there is no such plain file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            content = os.read(descriptor, _MOST_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
        finally:
            os.close(descriptor)
    except (OSError, ValueError):  # ValueError: a NUL in a pointer is no path
        return None
    return None if content is None else content.strip()


def _version(path: Path) -> tuple[int, ...] | None:
    """Git writes this file anew and moves it into place, so its number changes with its content."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns)
