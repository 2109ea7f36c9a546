"""How far the index is behind the tree, told with every answer."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tenure.code.drift import has_changed
from tenure.core.commands import JobKind
from tenure.core.context import Freshness
from tenure.core.errors import TenureError
from tenure.core.memory import FileRecord
from tenure.ports.records import Repository, RepositoryKind
from tenure.ports.repositories import Database
from tenure.ports.source_tree import GitRepository

CHECK_SECONDS = 0.5
"""HEAD is read, and counts are taken, at most this often per repository."""

OnBehind = Callable[[str, str], None]
"""Told (workspace id, repository id) when an answer found the index behind."""


@dataclass(slots=True)
class _Checked:
    at: float
    freshness: Freshness


class FreshnessCheck:
    """Compares repositories with their trees, without delaying answers more than a look at HEAD."""

    def __init__(self, database: Database, git: GitRepository, model: str, dimension: int, on_behind: OnBehind) -> None:
        self._database = database
        self._git = git
        self._model = model
        self._dimension = dimension
        self._on_behind = on_behind
        self._checked: dict[str, _Checked] = {}

    async def of(self, repositories: Sequence[Repository]) -> list[Freshness]:
        """One entry per repository, in order."""
        return list(await asyncio.gather(*(self._one(repository) for repository in repositories)))

    def stale_items(self, repositories: Mapping[str, Repository], files: Mapping[str, FileRecord]) -> set[str]:
        """Ids of the files whose text on disk is not the indexed one any more."""
        stale = set()
        for file in files.values():
            repository = repositories.get(file.repository_id)
            if repository is None or repository.kind is RepositoryKind.BARE:
                continue
            if has_changed(Path(repository.root) / file.path, file.signature, file.content_hash):
                stale.add(file.id)
                self._on_behind(repository.workspace_id, repository.id)
        return stale

    async def _one(self, repository: Repository) -> Freshness:
        checked = self._checked.get(repository.id)
        if checked is not None and time.monotonic() - checked.at < CHECK_SECONDS:
            known = checked.freshness
            is_same = known.commit == repository.commit and not repository.is_stale
            return known if is_same else replace(known, is_stale=True)
        freshness = await self._look(repository)
        self._checked[repository.id] = _Checked(time.monotonic(), freshness)
        return freshness

    async def _look(self, repository: Repository) -> Freshness:
        async with self._database.reading(repository.workspace_id) as work:
            counts = await work.counts(repository.id, self._model, self._dimension)
            job = await work.jobs.newest(JobKind.INDEX, repository.id)
        detail = await self._moved(repository)
        if detail:
            self._on_behind(repository.workspace_id, repository.id)
        return Freshness(
            repository_id=repository.id,
            name=repository.name,
            branch=repository.branch,
            commit=repository.commit,
            is_stale=repository.is_stale or bool(detail),
            files_pending=int(job.progress.get("pending", 0)) if job is not None else 0,
            files_left_out=counts.left_out,
            chunks_without_vector=counts.chunks - counts.chunks_embedded,
            detail=detail or repository.detail,
        )

    async def _moved(self, repository: Repository) -> str:
        """What moved since the index was made, '' if nothing that can be seen at once."""
        if repository.kind is not RepositoryKind.WORK_TREE:
            return ""
        try:
            head = await self._git.head(repository.root)
        except TenureError as error:
            return f"the tree can't be looked at: {error}"
        if head.branch != repository.branch:
            return f"the tree is on {head.branch or 'no branch'}, the index on {repository.branch or 'no branch'}"
        if head.commit != repository.commit:
            return f"the tree is at {(head.commit or '-')[:12]}, the index at {(repository.commit or '-')[:12]}"
        return ""
