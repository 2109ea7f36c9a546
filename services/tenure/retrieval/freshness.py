"""How far the index is behind the tree, told with every answer."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tenure.code.drift import has_changed
from tenure.core.commands import JobKind
from tenure.core.context import Freshness
from tenure.core.errors import TenureError
from tenure.ports.records import FileState, Repository, RepositoryKind
from tenure.ports.repositories import Database
from tenure.ports.source_tree import GitHead, GitRepository

CHECK_SECONDS = 0.5
"""HEAD is read at most this often per repository."""
COUNT_SECONDS = 10.0
"""Rows are counted at most this often per repository, behind the answers but for the first."""

OnBehind = Callable[[str, str], None]
"""Told (workspace id, repository id) when an answer found the index behind."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """What was counted of a repository, when, and at which revision."""

    at: float
    revision: int
    left_out: int
    without_vector: int
    pending: int


@dataclass(frozen=True, slots=True)
class _SeenHead:
    """HEAD as it was read, or why it could not be, when, and after which sync: a later sync has seen a later HEAD."""

    at: float
    indexed_at: datetime | None
    head: GitHead | TenureError


class FreshnessCheck:
    """Compares repositories with their trees, without delaying answers more than a look at HEAD."""

    def __init__(self, database: Database, git: GitRepository, model: str, dimension: int, on_behind: OnBehind) -> None:
        self._database = database
        self._git = git
        self._model = model
        self._dimension = dimension
        self._on_behind = on_behind
        self._heads: dict[str, _SeenHead] = {}
        self._counted: dict[str, _Counted] = {}
        self._counting: dict[str, asyncio.Task[_Counted]] = {}

    async def of(self, repositories: Sequence[Repository]) -> list[Freshness]:
        """One entry per repository, in order."""
        return [await self._one(repository) for repository in repositories]

    async def close(self) -> None:
        """End counts that are under way."""
        running = list(self._counting.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def stale_items(
        self, repositories: Mapping[str, Repository], files: Mapping[str, FileState], owners: Mapping[str, str]
    ) -> set[str]:
        """Ids of the files whose text on disk is not the indexed one any more; `owners` gives each file's repository."""
        stale = set()
        for file in files.values():
            repository = repositories.get(owners.get(file.id, ""))
            if repository is None or repository.kind is RepositoryKind.BARE:
                continue
            if has_changed(Path(repository.root) / file.path, file.signature, file.content_hash):
                stale.add(file.id)
                self._on_behind(repository.workspace_id, repository.id)
        return stale

    async def _one(self, repository: Repository) -> Freshness:
        counted = await self._counts(repository)
        detail = await self._moved(repository)
        if detail:
            self._on_behind(repository.workspace_id, repository.id)
        return Freshness(
            repository_id=repository.id,
            name=repository.name,
            branch=repository.branch,
            commit=repository.commit,
            is_stale=repository.is_stale or bool(detail),
            files_pending=counted.pending,
            files_left_out=counted.left_out,
            chunks_without_vector=counted.without_vector,
            detail=detail or repository.detail,
        )

    async def _counts(self, repository: Repository) -> _Counted:
        """The newest counts; old ones are given once more while new ones are taken."""
        known = self._counted.get(repository.id)
        is_old = known is None or time.monotonic() - known.at > COUNT_SECONDS
        task = self._counting.get(repository.id)
        if task is None and is_old:
            task = self._counting[repository.id] = asyncio.create_task(self._count(repository))
            task.add_done_callback(lambda _: self._counting.pop(repository.id, None))
        if known is not None and known.revision == repository.revision:
            return known
        return await asyncio.shield(task) if task is not None else await self._count(repository)

    async def _count(self, repository: Repository) -> _Counted:
        async with self._database.reading(repository.workspace_id) as work:
            gaps = await work.gaps(repository.id, self._model, self._dimension)
            job = await work.jobs.newest(JobKind.INDEX, repository.id)
        counted = _Counted(
            at=time.monotonic(),
            revision=repository.revision,
            left_out=gaps.left_out,
            without_vector=gaps.without_vector,
            pending=int(job.progress.get("pending", 0)) if job is not None else 0,
        )
        self._counted[repository.id] = counted
        return counted

    async def _head(self, repository: Repository) -> GitHead | TenureError:
        known = self._heads.get(repository.id)
        is_new = known is not None and time.monotonic() - known.at <= CHECK_SECONDS
        if known is not None and is_new and known.indexed_at == repository.indexed_at:
            return known.head
        try:
            head: GitHead | TenureError = await self._git.head(repository.root)
        except TenureError as error:
            head = error
        self._heads[repository.id] = _SeenHead(time.monotonic(), repository.indexed_at, head)
        return head

    async def _moved(self, repository: Repository) -> str:
        """What moved since the index was made, '' if nothing that can be seen at once."""
        if repository.kind is not RepositoryKind.WORK_TREE:
            return ""
        head = await self._head(repository)
        if isinstance(head, TenureError):
            return f"the tree can't be looked at: {head}"
        if head.branch != repository.branch:
            return f"the tree is on {head.branch or 'no branch'}, the index on {repository.branch or 'no branch'}"
        if head.commit != repository.commit:
            return f"the tree is at {(head.commit or '-')[:12]}, the index at {(repository.commit or '-')[:12]}"
        return ""
