"""Turns stored references into edges, for the files whose references are due."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import aclosing

from tenure.code import resolve
from tenure.code.model import PreparedFile, ResolvedFile
from tenure.ingestion.ahead import ahead
from tenure.ingestion.lease import LeasedJob
from tenure.ports.records import Repository
from tenure.ports.repositories import Database, UnitOfWork

RESOLVE_BATCH = 500
"""Files of one transaction, which writes most pages of the indexes of edges however few they are; the next are resolved
meanwhile.
"""
TABLES_KEPT = 4
"""Module tables of repositories that are kept in memory between syncs."""


class Resolver:
    """Holds the module tables of recently indexed repositories and resolves against them.

    A table is only a cache of the `exports` column: `forget` drops it whenever a sync failed half-way.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables: OrderedDict[str, resolve.ModuleTable] = OrderedDict()

    def forget(self, repository_id: str) -> None:
        """Drop the table; the next use reads it from SQL again."""
        self._tables.pop(repository_id, None)

    async def table(self, work: UnitOfWork, repository_id: str) -> resolve.ModuleTable:
        """The module table of the repository as stored."""
        table = self._tables.pop(repository_id, None)
        if table is None:
            table = resolve.ModuleTable(await work.files.exports(repository_id))
        self._tables[repository_id] = table
        while len(self._tables) > TABLES_KEPT:
            self._tables.popitem(last=False)
        return table

    async def note_changes(
        self, work: UnitOfWork, repository_id: str, changed: Sequence[PreparedFile], removed_paths: Iterable[str]
    ) -> None:
        """Mark the files whose edges may change because of these files, in the transaction that changes them."""
        table = await self.table(work, repository_id)
        exports = {prepared.path: prepared.file.exports for prepared in changed if prepared.file is not None}
        changes: dict[str, bytes | None] = {**exports, **dict.fromkeys(removed_paths)}
        modules: set[str] = set()
        for path, new in changes.items():
            modules.update(_affected(table, path, new))
        for path, new in changes.items():
            table.replace(path, new)
        if modules:
            await work.edges.mark_unresolved(await work.edges.dependents(repository_id, sorted(modules)))

    async def run(self, repository: Repository, leased: LeasedJob) -> None:
        """Resolve every file that is due, in batches, each one transaction."""
        async with self._database.reading(repository.workspace_id) as work:
            table = await self.table(work, repository.id)
            due = await work.files.unresolved(repository.id)

        async def resolved(start: int) -> tuple[int, list[ResolvedFile]]:
            async with self._database.reading(repository.workspace_id) as work:
                references = await work.files.references(due[start : start + RESOLVE_BATCH])
            # In a thread: hundreds of files take longer than the event loop may be held up.
            return start, await asyncio.to_thread(resolve_batch, repository.workspace_id, references, table)

        async with aclosing(ahead(range(0, len(due), RESOLVE_BATCH), resolved)) as batches:
            async for start, files in batches:
                async with self._database.writing(repository.workspace_id) as work:
                    await leased.keep(work, resolving=len(due) - start)
                    await store_resolved(work, files)


def _affected(table: resolve.ModuleTable, path: str, new: bytes | None) -> list[str]:
    """The keys under which others may now be answered differently."""
    old = table.exports_of(path)
    if old is None and new is None:
        return []
    if old is None or new is None:
        return resolve.modules_of(path, table)
    if resolve.interface_of(old) == resolve.interface_of(new):
        return []
    return resolve.modules_of(path, table, is_new_or_gone=False)


def resolve_batch(
    workspace_id: str, references: dict[str, tuple[str, bytes]], table: resolve.ModuleTable
) -> list[ResolvedFile]:
    """The edges of these files, from their stored references alone."""
    return [
        resolve.resolve_file(workspace_id, file_id, path, packed, table)
        for file_id, (path, packed) in references.items()
    ]


async def store_resolved(work: UnitOfWork, resolved: Sequence[ResolvedFile]) -> None:
    """Make the files' edges and unresolved references be exactly these."""
    await work.edges.replace(
        [file.file_id for file in resolved],
        [edge for file in resolved for edge in file.edges],
        [reference for file in resolved for reference in file.unresolved],
        {file.file_id: file.lookups for file in resolved},
    )
