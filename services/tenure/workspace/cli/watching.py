"""What `tenure watch` notices: changes of files, and of what git keeps beside them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import watchfiles

DEBOUNCE_MS = 200
"""Changes that come within this time are one sync: a checkout writes many files."""
STEP_MS = 50
_TELLING = frozenset({"HEAD", "refs", "packed-refs", "index"})
"""What changes inside git's folder when the tree or its history did; the rest is bookkeeping."""


async def changes(root: Path, home: Path, stop: asyncio.Event) -> AsyncIterator[frozenset[Path]]:
    """The changed paths of each burst of changes that may concern the index of this tree, until `stop` is set."""
    git_folder = linked_git_folder(root)
    watched = [root] if git_folder is None else [root, git_folder]

    def is_wanted(_: watchfiles.Change, changed: str) -> bool:
        return is_worth_a_sync(Path(changed), root, git_folder, home)

    async for burst in watchfiles.awatch(
        *watched, watch_filter=is_wanted, stop_event=stop, step=STEP_MS, debounce=DEBOUNCE_MS
    ):
        yield frozenset(Path(changed) for _, changed in burst)


def is_worth_a_sync(changed: Path, root: Path, git_folder: Path | None, home: Path) -> bool:
    """False for git's bookkeeping, which changes without the tree changing, and for Tenure's own home: indexing
    writes there, and would wake itself for ever. Pure.
    """
    if changed.is_relative_to(home):
        return False
    if git_folder is not None and changed.is_relative_to(git_folder):
        return _is_telling(changed.relative_to(git_folder).parts)
    parts = changed.relative_to(root).parts if changed.is_relative_to(root) else ()
    if ".git" not in parts:
        return True
    return _is_telling(parts[parts.index(".git") + 1 :])


def linked_git_folder(root: Path) -> Path | None:
    """The git folder of a linked work tree or submodule, which lies elsewhere; None where it is `.git` itself."""
    pointer = root / ".git"
    try:
        text = pointer.read_text("utf-8", "surrogateescape") if pointer.is_file() else ""
    except OSError:
        return None
    target = text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else ""
    folder = (root / target).resolve() if target else None
    return folder if folder is not None and folder.is_dir() else None


def _is_telling(inside: tuple[str, ...]) -> bool:
    return bool(inside) and inside[0] in _TELLING and not inside[-1].endswith(".lock")
