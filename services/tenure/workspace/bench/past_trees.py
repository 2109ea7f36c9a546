"""What the product would have known of a repository before given commits, without indexing each state anew.

Files go through the same preparation, imports through the same resolution, and commits through the same reading of
history as in the index; but each version of a file is prepared once, and each commit is read once.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tenure.code.history import MAX_COMMITS, Commit, parse_record, present_paths
from tenure.code.languages.registry import PYTHON, language_of
from tenure.code.model import Candidate, PrepareRequest
from tenure.code.prepare import prepare_file
from tenure.code.resolve import ModuleTable, resolve_file
from tenure.core.cochange import ChangeHistory
from tenure.core.errors import InvalidInput
from tenure.core.ids import file_id
from tenure.core.impact import ImportGraph, Ties
from tenure.core.likeness import ContentIndex, PathNames
from tenure.core.memory import EdgeType
from tenure.ports.source_tree import GitRepository, TreeEntry
from tenure.retrieval.ties import files_of_language, past_changes

_WORKSPACE = "8d6a3a1e-33a3-4b5e-9f0c-7c1d1f5b2a10"
_REPOSITORY = "5e0f6b86-6f0a-4c39-8a55-2f3f6b9f9d11"
"""Ids name nothing that is stored here; they only have to be valid."""
_FILE_MODES = frozenset({"100644", "100755"})


@dataclass(frozen=True, slots=True)
class _Version:
    """One version of one file: what the index would hold of it. `imports` are its references without the uses."""

    sparse: bytes
    exports: bytes
    imports: bytes


class PastTrees:
    """Goes from state to state of one bare repository's Python files, changing only what differs."""

    def __init__(self, git: GitRepository, root: str) -> None:
        self._git = git
        self._root = root
        self._commits: dict[str, Commit] = {}
        self._sizes: dict[str, int] = {}
        self._versions: dict[tuple[str, str], _Version | None] = {}
        self._present: dict[str, str] = {}
        self._table = ModuleTable({})
        self._contents = ContentIndex()

    async def before(self, commits: Sequence[str]) -> AsyncIterator[tuple[str, Ties]]:
        """(commit, ties of the state strictly before it) for each commit, in order: its first parent's tree, and the
        newest `MAX_COMMITS` non-merge commits from there.
        """
        parents = await self._parents(commits)
        orders = {
            parent: await self._git.newest_commits(self._root, parent, MAX_COMMITS)
            for parent in dict.fromkeys(parents.values())
        }
        await self._read_commits(list(dict.fromkeys(sha for order in orders.values() for sha in order)))
        for commit in commits:
            parent = parents[commit]
            await self._move_to(await self._git.list_tree(self._root, parent))
            yield commit, self._ties(orders[parent])

    async def _parents(self, commits: Sequence[str]) -> dict[str, str]:
        parents = {}
        async for record in self._git.log_of(self._root, commits):
            commit = parse_record(record)
            if not commit.parents:
                raise InvalidInput(f"commit {commit.sha} of {self._root} has no parent: nothing was known before it")
            parents[commit.sha] = commit.parents[0]
        return parents

    async def _read_commits(self, order: Sequence[str]) -> None:
        async for record in self._git.log_of(self._root, order):
            commit = replace(parse_record(record), message="")
            self._commits[commit.sha] = commit
            self._sizes[commit.sha] = files_of_language(commit, PYTHON)

    async def _move_to(self, tree: Sequence[TreeEntry]) -> None:
        wanted = {
            entry.path: entry.object_id
            for entry in tree
            if entry.mode in _FILE_MODES and entry.path.endswith(".py") and language_of(entry.path) == PYTHON
        }
        await self._prepare([version for version in wanted.items() if version not in self._versions])
        known = {path: found for path, oid in wanted.items() if (found := self._versions[path, oid]) is not None}
        for path in [path for path in self._present if path not in known]:
            self._table.replace(path, None)
            self._contents.drop(path)
        for path, version in known.items():
            if self._present.get(path) != wanted[path]:
                self._table.replace(path, version.exports)
                self._contents.put(path, version.sparse)
        self._present = {path: wanted[path] for path in sorted(known)}

    async def _prepare(self, versions: Sequence[tuple[str, str]]) -> None:
        blobs = await self._git.read_blobs(self._root, [object_id for _, object_id in versions])
        for path, object_id in versions:
            raw = blobs.get(object_id)
            self._versions[path, object_id] = None if raw is None else _version(path, object_id, raw)

    def _ties(self, order: Sequence[str]) -> Ties:
        paths = list(self._present)
        commits = [self._commits[sha] for sha in order if sha in self._commits]
        touched = present_paths(commits, self._present.keys())
        sizes = [self._sizes[commit.sha] for commit in commits]
        history = ChangeHistory(past_changes(commits, touched, sizes))
        return Ties(history, PathNames(paths), ImportGraph(self._imports(paths)), self._contents)

    def _imports(self, paths: Sequence[str]) -> list[tuple[str, str]]:
        path_of = {_id(path): path for path in paths}
        pairs = []
        for path in paths:
            version = self._versions[path, self._present[path]]
            if version is None:
                continue
            resolved = resolve_file(_WORKSPACE, _id(path), path, version.imports, self._table)
            pairs += [(path, path_of[e.target_id]) for e in resolved.edges if e.type is EdgeType.IMPORTS]
        return pairs


def _version(path: str, object_id: str, raw: bytes) -> _Version | None:
    """The file as it would be indexed, None if it would be left out."""
    candidate = Candidate(path=path, signature=object_id, size=len(raw), object_id=object_id)
    prepared = prepare_file(PrepareRequest(_WORKSPACE, _REPOSITORY, candidate, 1, raw))
    if prepared.file is None:
        return None
    return _Version(prepared.file.sparse, prepared.file.exports, _imports_only(prepared.file.references))


def _imports_only(references: bytes) -> bytes:
    """References without the uses, which take most of the time to resolve and make no import edge."""
    if not references:
        return b""
    known: Mapping[str, object] = json.loads(references)
    return json.dumps({**known, "r": []}).encode()


def _id(path: str) -> str:
    return file_id(_WORKSPACE, _REPOSITORY, path)
