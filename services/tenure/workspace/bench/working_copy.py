"""A copy of a tree, with its history, that a benchmark may edit: the original is only read."""

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tenure.core.errors import InvalidInput
from tenure.core.pages import pages
from tenure.ports.source_tree import GitRepository, TreeEntry

_FILE_MODES = frozenset({"100644", "100755"})
_BLOBS_AT_ONCE = 500
_COPIED = ("HEAD", "index", "packed-refs", "shallow", "config")
"""What of a git folder makes a second one of the same commits, beside `refs`; objects are lent, not copied."""
_OWN_CONFIG = "[core]\n\trepositoryformatversion = 0\n"
_WORK_TREE = "\n[core]\n\tbare = false\n"
"""Stands last, where it counts."""


async def copy_tree(git: GitRepository, path: Path, target: Path) -> None:
    """Make `target` a work tree, or a folder, with the files that an index of `path` would see and the same HEAD.

    Of a bare repository it holds the files of HEAD. Objects are lent by the original, which has to stay. Raises
    `InvalidInput` for a path that is no folder, or a bare repository without a commit.
    """
    if not path.is_dir():
        raise InvalidInput(f"{path} is not a folder; name the top folder of a tree")
    found = await git.find_root(str(path.resolve()))
    if found is None:
        await asyncio.to_thread(shutil.copytree, path, target, symlinks=True)
        return
    root, is_bare = found
    target.mkdir(parents=True)
    if is_bare:
        await _write_head(git, root, target)
    else:
        await asyncio.to_thread(_copy_files, Path(root), target, await git.list_candidates(root))
    await asyncio.to_thread(_lend_history, _git_folder(Path(root)), target / ".git")


async def _write_head(git: GitRepository, root: str, target: Path) -> None:
    commit = await git.resolve_commit(root, "HEAD")
    entries = [entry for entry in await git.list_tree(root, commit) if entry.mode in _FILE_MODES]
    for page in pages(entries, _BLOBS_AT_ONCE):
        blobs = await git.read_blobs(root, [entry.object_id for entry in page])
        await asyncio.to_thread(_write_files, target, page, blobs)


def _write_files(target: Path, entries: Sequence[TreeEntry], blobs: Mapping[str, bytes]) -> None:
    for entry in entries:
        place = _inside(target, entry.path)
        if place is not None and entry.object_id in blobs:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(blobs[entry.object_id])


def _copy_files(root: Path, target: Path, paths: Sequence[str]) -> None:
    for path in paths:
        source, place = root / path, _inside(target, path)
        # A candidate that ends in a slash is a folder of another repository, one that is gone is still in git's list.
        if place is not None and (source.is_symlink() or source.is_file()):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place, follow_symlinks=False)


def _inside(target: Path, path: str) -> Path | None:
    """Where a path of a tree goes, None if that would be outside the copy or in its git folder."""
    parts = path.split("/")
    return None if not {"..", ".git", ""}.isdisjoint(parts) else target.joinpath(*parts)


def _git_folder(root: Path) -> Path:
    """The folder with HEAD: `.git`, where a linked work tree's `.git` file points, or the root of a bare repository."""
    entry = root / ".git"
    if entry.is_file():
        return (root / os.fsdecode(entry.read_bytes()).removeprefix("gitdir:").strip()).resolve()
    return entry if entry.is_dir() else root


def _lend_history(source: Path, target: Path) -> None:
    common = source
    if (source / "commondir").is_file():
        common = (source / (source / "commondir").read_text().strip()).resolve()
    (target / "objects" / "info").mkdir(parents=True)
    (target / "objects" / "info" / "alternates").write_text(f"{common.resolve() / 'objects'}\n")
    if (common / "refs").is_dir():
        shutil.copytree(common / "refs", target / "refs")
    (target / "refs").mkdir(exist_ok=True)
    for name in _COPIED:
        place = source / name if (source / name).is_file() else common / name
        if place.is_file():
            shutil.copyfile(place, target / name)
    config = target / "config"
    known = config.read_bytes() if config.is_file() else _OWN_CONFIG.encode()
    config.write_bytes(known + _WORK_TREE.encode())
