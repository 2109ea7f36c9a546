"""What links the files of a repository, read from SQL and kept in memory as long as it holds."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tenure.code.episodes import commit_of
from tenure.code.history import Commit
from tenure.code.languages.registry import language_of
from tenure.core import ids
from tenure.core.cochange import ChangeHistory, PastChange
from tenure.core.impact import ImportGraph, Ties
from tenure.core.likeness import ContentIndex, PathNames
from tenure.core.memory import EdgeType
from tenure.core.pages import pages
from tenure.ports.records import FileState, Repository
from tenure.ports.repositories import UnitOfWork

_NEVER = object()
"""Differs from every commit, and from the None of a history that is being read."""
CONTENT_PAGE = 500
"""Files whose rows are read at once to get at their vectors."""


@dataclass(slots=True)
class _Language:
    """What is derived for the files of one language; None is what has to be made again."""

    history: ChangeHistory | None = None
    names: PathNames | None = None
    imports: ImportGraph | None = None
    contents: ContentIndex = field(default_factory=ContentIndex)
    revisions: dict[str, int] = field(default_factory=dict)


class RepositoryTies:
    """The ties of one repository. `refresh` brings them up to the index and reads only what changed since; hold `lock`
    from the refresh until the last use of what `of` gave.
    """

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.files: dict[str, FileState] = {}
        self.commit_times: list[datetime] = []
        self._version: object = None
        self._history_of: object = _NEVER
        self._commits: list[Commit] = []
        self._touched: dict[str, list[str]] = {}
        self._imports: list[tuple[str, str]] = []
        self._languages: dict[str, _Language] = {}

    async def refresh(self, work: UnitOfWork, repository: Repository) -> None:
        """Forget what a sync since the last call changed, and read it again."""
        version = (repository.revision, repository.indexed_at, repository.history_commit)
        if version == self._version:
            return
        before = self.files.keys()
        self.files = {state.path: state for state in await work.files.states(repository.id)}
        have_paths_changed = before != self.files.keys()
        path_of = {state.id: path for path, state in self.files.items()}
        await self._refresh_imports(work, repository, path_of)
        if have_paths_changed or repository.history_commit != self._history_of:
            await self._refresh_history(work, repository, path_of)
        for known in self._languages.values():
            known.names = None if have_paths_changed else known.names
            known.imports = None
        self._version = version

    async def of(self, work: UnitOfWork, language: str) -> Ties:
        """The ties of all files of one language."""
        known = self._languages.setdefault(language, _Language())
        files = [state for state in self.files.values() if state.language == language]
        await _refresh_contents(work, known, files)
        return await asyncio.to_thread(self._make, known, [state.path for state in files], language)

    def _make(self, known: _Language, paths: Sequence[str], language: str) -> Ties:
        if known.history is None:
            sizes = [files_of_language(commit, language) for commit in self._commits]
            present = set(paths)
            touched = {sha: [path for path in files if path in present] for sha, files in self._touched.items()}
            known.history = ChangeHistory(past_changes(self._commits, touched, sizes))
        if known.names is None:
            known.names = PathNames(paths)
        if known.imports is None:
            inside = set(paths)
            known.imports = ImportGraph(pair for pair in self._imports if inside.issuperset(pair))
        return Ties(known.history, known.names, known.imports, known.contents)

    async def _refresh_imports(self, work: UnitOfWork, repository: Repository, path_of: Mapping[str, str]) -> None:
        self._imports = [
            (path_of[edge.source_id], path_of[edge.target_id])
            async for edge in work.edges.export(repository.id, (EdgeType.IMPORTS,))
            if edge.source_id in path_of and edge.target_id in path_of
        ]

    async def _refresh_history(self, work: UnitOfWork, repository: Repository, path_of: Mapping[str, str]) -> None:
        if repository.history_commit != self._history_of:
            commits = [commit_of(node) for node in await work.nodes.commits(repository.id)]
            # Messages are most of a commit's size, and nothing here reads them.
            self._commits = [replace(commit, message="") for commit in commits]
            self.commit_times = [commit.authored_at for commit in commits]
        sha_of = {ids.commit_id(repository.workspace_id, repository.id, c.sha): c.sha for c in self._commits}
        touched: dict[str, list[str]] = defaultdict(list)
        async for edge in work.edges.export(repository.id, (EdgeType.TOUCHED,)):
            if edge.source_id in sha_of and edge.target_id in path_of:
                touched[sha_of[edge.source_id]].append(path_of[edge.target_id])
        self._touched = dict(touched)
        self._history_of = repository.history_commit
        for known in self._languages.values():
            known.history = None


async def _refresh_contents(work: UnitOfWork, known: _Language, files: Sequence[FileState]) -> None:
    present = {state.path for state in files}
    for path in [path for path in known.revisions if path not in present]:
        known.contents.drop(path)
        del known.revisions[path]
    changed = [state for state in files if known.revisions.get(state.path) != state.revision]
    for page in pages(changed, CONTENT_PAGE):
        records = await work.files.get_many([state.id for state in page])
        for record in records.values():
            known.contents.put(record.path, record.sparse)
            known.revisions[record.path] = record.revision


def past_changes(
    commits: Sequence[Commit], touched: Mapping[str, Sequence[str]], sizes: Sequence[int]
) -> list[PastChange]:
    """The commits, newest first, as changes of the files in `touched` (present names by commit id); `sizes` are the
    numbers of files of the language that each commit had.
    """
    return [PastChange(touched.get(commit.sha, ()), size) for commit, size in zip(commits, sizes, strict=True)]


def files_of_language(commit: Commit, language: str) -> int:
    """How many files of a language the commit changed, those that are gone since included."""
    return sum(1 for change in commit.changes if language_of(change.path) == language)
