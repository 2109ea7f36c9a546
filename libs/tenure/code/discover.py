"""Which files of a tree are indexed, and which are left out, each with its reason."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tenure.code.admission import reason_to_leave_out
from tenure.code.disk import SUBMODULE, UNSAFE_PATH, is_unsafe, survey_folder, survey_listed
from tenure.code.ignore import MAX_IGNORE_BYTES, OWN_IGNORE_FILE, IgnoreRules
from tenure.code.masking import mask_path
from tenure.code.model import Candidate, Discovery
from tenure.core.errors import InvalidInput
from tenure.ports.records import LeftOut, RepositoryKind
from tenure.ports.source_tree import GitRepository, TreeEntry

NAMED_REFUSALS = 5
"""How many of the files that were left out an error names."""

UNSTORABLE_NAME = "its name holds a secret"
"""Why a file is left out whose path could not be stored as it is."""

_LINK_MODE = "120000"
_SUBMODULE_MODE = "160000"


async def discover(root: str, kind: RepositoryKind, git: GitRepository, *, tree_commit: str | None = None) -> Discovery:
    """The candidates of a tree by path, and what was left out. Nothing outside `root` is read, no link followed.

    A work tree's candidates are what git lists minus `.tenureignore`; a plain folder's follow `.gitignore` and
    `.tenureignore`; a bare repository's are the tree of `tree_commit` minus its `.tenureignore`. `InvalidInput` if
    `root` can't be read, or if nothing is to be indexed: an index is never emptied by mistake.
    """
    if kind is RepositoryKind.BARE:
        found = await _discover_tree(root, git, tree_commit)
        return _require_some(_without_secret_names(found), root, has_entries=True)
    top = os.path.realpath(root)
    names = [name for name in _names_in(top) if name != ".git"]
    if kind is RepositoryKind.WORK_TREE:
        found = await _discover_work_tree(top, git)
    else:
        found = await asyncio.to_thread(survey_folder, top)
    return _require_some(_without_secret_names(found), root, has_entries=bool(names))


async def _discover_work_tree(top: str, git: GitRepository) -> Discovery:
    found, perhaps = await asyncio.to_thread(survey_listed, top, await git.list_candidates(top))
    if not perhaps:
        return found
    left_out = [LeftOut(path, perhaps[path]) for path in await git.list_submodules(top) if path in perhaps]
    return Discovery(found.candidates, sorted([*found.left_out, *left_out], key=lambda left: left.path))


def _names_in(top: str) -> list[str]:
    try:
        return [path.name for path in Path(top).iterdir()]
    except OSError as error:
        raise InvalidInput(f"can't read the folder {top!r}: {error.strerror}; name a readable folder") from error


def _without_secret_names(found: Discovery) -> Discovery:
    """Paths that hold a secret are left out, and named with the secret masked."""
    paths = "\n".join([*(c.path for c in found.candidates), *(left.path for left in found.left_out)])
    if mask_path(paths) == paths:
        return found
    masked = {candidate.path: mask_path(candidate.path) for candidate in found.candidates}
    kept = [candidate for candidate in found.candidates if masked[candidate.path] == candidate.path]
    # Masked names may meet; each path is listed once.
    left_out = {name: LeftOut(name, UNSTORABLE_NAME) for path, name in masked.items() if name != path}
    for item in found.left_out:
        name = mask_path(item.path)
        left_out[name] = LeftOut(name, item.reason, item.signature)
    return Discovery(kept, list(left_out.values()))


def _require_some(found: Discovery, root: str, has_entries: bool) -> Discovery:
    if found.candidates:
        return found
    if found.left_out:
        named = ", ".join(f"{left.path!r} ({left.reason})" for left in found.left_out[:NAMED_REFUSALS])
        raise InvalidInput(f"nothing to index under {root!r}: left out were {len(found.left_out)} paths: {named}")
    if has_entries:
        raise InvalidInput(f"nothing to index under {root!r}: it holds no file that is not ignored")
    raise InvalidInput(f"empty folder: there is nothing to index under {root!r}; add files and index again")


async def _discover_tree(root: str, git: GitRepository, commit: str | None) -> Discovery:
    if commit is None:
        raise InvalidInput(f"the repository {root!r} has no commit to index; name a branch, tag or commit that exists")
    entries = await git.list_tree(root, commit)
    rules = IgnoreRules(_rule_texts(entries, await _ignore_files(root, git, entries)).get)
    candidates: list[Candidate] = []
    left_out: list[LeftOut] = []
    for entry in entries:
        # An unsafe path is named before the rules are asked: their folders are those of a tidy path.
        reason = UNSAFE_PATH if is_unsafe(entry.path) else ""
        if not reason and rules.ignores(entry.path, is_folder=entry.mode == _SUBMODULE_MODE):
            continue
        reason = reason or _reason(entry)
        if reason:
            left_out.append(LeftOut(entry.path, reason))
        else:
            candidates.append(Candidate(entry.path, entry.object_id, entry.size, object_id=entry.object_id))
    return Discovery(candidates, left_out)


def _reason(entry: TreeEntry) -> str:
    if entry.mode == _SUBMODULE_MODE:
        return SUBMODULE
    if entry.mode == _LINK_MODE:
        return "link"
    if entry.size < 0:
        return "not in this partial clone"
    return reason_to_leave_out(entry.path, entry.size)


async def _ignore_files(root: str, git: GitRepository, entries: Sequence[TreeEntry]) -> Mapping[str, bytes]:
    """The blobs of the tree's own ignore files."""
    own = [entry for entry in entries if _is_own_ignore_file(entry)]
    large = next((entry.path for entry in own if entry.size > MAX_IGNORE_BYTES), None)
    if large is not None:
        raise InvalidInput(f"the ignore file {large!r} is over {MAX_IGNORE_BYTES} bytes; shorten it")
    return await git.read_blobs(root, [entry.object_id for entry in own])


def _rule_texts(entries: Sequence[TreeEntry], blobs: Mapping[str, bytes]) -> dict[str, str]:
    """Texts of the ignore files by their folder. One that is absent can't be applied, and that is an error."""
    texts: dict[str, str] = {}
    for entry in filter(_is_own_ignore_file, entries):
        if entry.object_id not in blobs:
            raise InvalidInput(f"the ignore file {entry.path!r} is not in this partial clone; fetch it and index again")
        texts[entry.path.rpartition("/")[0]] = os.fsdecode(blobs[entry.object_id])
    return texts


def _is_own_ignore_file(entry: TreeEntry) -> bool:
    is_named_so = entry.path.rpartition("/")[2] == OWN_IGNORE_FILE
    return is_named_so and entry.mode not in {_LINK_MODE, _SUBMODULE_MODE}
