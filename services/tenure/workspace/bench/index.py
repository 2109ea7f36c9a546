"""`tenure bench index`: how long until a tree is searchable, and until a change in it is.

Works on a copy of the tree, in a home of its own. Baseline, in the same run: reading and hashing the same files.
"""

import asyncio
import hashlib
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenure.code.resolve import OUTSIDE, ModuleTable
from tenure.core.commands import JobState
from tenure.ingestion.resolving import resolve_batch
from tenure.ports.records import FileState, IndexCounts, Repository
from tenure.runtime.auth import LOCAL_CALLER
from tenure.runtime.settings import load_settings
from tenure.workspace.bench.edits import choose, ended, letters, visible_after_ms
from tenure.workspace.bench.memory_peak import MemoryPeak
from tenure.workspace.bench.report import BenchReport, Figure, this_commit, this_machine
from tenure.workspace.bench.statistics import percentile
from tenure.workspace.bench.verdicts import verdicts
from tenure.workspace.bench.working_copy import copy_tree
from tenure.workspace.facade import Tenure, open_tenure

ONE_FILE_TRIES = 7
"""Edits of one file of which the median is told, with the least and the most as interval."""
MANY_FILES = 100
DENSE_POLL_SECONDS = 1.0
_RESOLVED = "resolved"
Notice = Callable[[str], None]
"""Told what is being measured."""


@dataclass(frozen=True, slots=True)
class DensePhase:
    """How far the second phase came: `seconds` is None if it was not run to its end, `rate` None if it was not run."""

    chunks: int
    embedded: int = 0
    refused: int = 0
    seconds: float | None = None
    rate: float | None = None

    @property
    def remaining_seconds(self) -> float | None:
        """What is left at the rate that was seen."""
        return (self.chunks - self.embedded - self.refused) / self.rate if self.rate else None


async def bench_index(
    profile: str,
    flags: Mapping[str, Any],
    path: Path,
    *,
    dense: bool = True,
    dense_seconds: float | None = None,
    notice: Notice = lambda _: None,
) -> BenchReport:
    """The figures of `tenure bench index` with the settings of a profile and `flags`. Without `dense`, or after
    `dense_seconds`, the second phase is left undone: `dense_s` is None then, and `by` tells the rate and what remains.

    Raises what indexing raises for a tree that can't be indexed.
    """
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        home, tree = Path(folder) / "home", Path(folder) / (path.resolve().name or "tree")
        # A database of the environment is never written to: the bench has a home of its own, dense comes last.
        own = {"home": str(home), "database.url": "", "indexing.dense": False}
        async with open_tenure(load_settings(profile, {**flags, **own})) as tenure:
            notice("copying")
            await copy_tree(tenure.infrastructure.git, path, tree)
            with MemoryPeak() as peak:
                report = await _measure(tenure, tree, peak, dense, dense_seconds, notice)
    return report


async def _measure(
    tenure: Tenure, tree: Path, peak: MemoryPeak, dense: bool, dense_seconds: float | None, notice: Notice
) -> BenchReport:
    workspace = await tenure.directory.create(LOCAL_CALLER, "bench")
    repository = await tenure.ingestion.add_repository(workspace.id, str(tree))
    notice("structure, text and history")
    started = time.perf_counter()
    await ended(tenure, await tenure.ingestion.request_index(workspace.id, repository.id))
    searchable = time.perf_counter() - started
    counts = (await tenure.ingestion.status(workspace.id, repository.id)).counts
    states = await _states(tenure, repository)
    notice("references")
    references = await _references(tenure, repository, states)
    baseline = await asyncio.to_thread(read_and_hash_seconds, tree, [state.path for state in states])
    notice("answers")
    known = {"answers": await verdicts(tenure, repository)}
    notice("edits")
    one = [
        await visible_after_ms(tenure, repository, [file], f"onefileprobe{letters(number)}")
        for number, file in enumerate(choose(states, min(ONE_FILE_TRIES, len(states))))
    ]
    many = choose(states, MANY_FILES)
    hundred = await visible_after_ms(tenure, repository, many, "manyfilesprobe") if many else None
    notice("dense vectors")
    phase = await _dense(tenure, repository, dense_seconds) if dense else DensePhase(counts.chunks)
    if phase.seconds is not None:
        known["answers with dense vectors"] = await verdicts(tenure, repository)
    figures: dict[str, Figure] = {
        "files": counts.files,
        "lines": counts.lines,
        "nodes": counts.nodes,
        "edges": counts.edges,
        "unresolved_rate": unresolved_rate(references),
        "searchable_s": searchable,
        "dense_s": phase.seconds,
        "chunks_per_s": phase.rate,
        "peak_rss_mb": peak.megabytes,
        "one_file_ms": percentile(one, 0.5) if one else None,
        "hundred_files_ms": hundred,
    }
    return BenchReport(
        bench="index",
        n=counts.files,
        figures=figures,
        baseline={"searchable_s": baseline},
        interval={"one_file_ms": (min(one), max(one))} if one else {},
        by={**_parts(counts, references, phase), **known},
        commit=await this_commit(tenure.infrastructure.git),
        machine=this_machine(),
    )


def unresolved_rate(references: Counter[str]) -> float | None:
    """The share of references into the tree whose target is not known; those that lead outside it are left out."""
    inside = sum(number for kind, number in references.items() if kind != OUTSIDE)
    return (inside - references[_RESOLVED]) / inside if inside else None


def read_and_hash_seconds(root: Path, paths: Sequence[str]) -> float:
    """What no index can be faster than: reading every file once and hashing it."""
    started = time.perf_counter()
    for path in paths:
        hashlib.sha256((root / path).read_bytes()).digest()
    return time.perf_counter() - started


async def _states(tenure: Tenure, repository: Repository) -> list[FileState]:
    async with tenure.infrastructure.database.reading(repository.workspace_id) as work:
        return await work.files.states(repository.id)


async def _references(tenure: Tenure, repository: Repository, states: Sequence[FileState]) -> Counter[str]:
    """How many references were resolved, and how many not, by kind: resolved once more from what is stored."""
    async with tenure.infrastructure.database.reading(repository.workspace_id) as work:
        table = ModuleTable(await work.files.exports(repository.id))
        stored = await work.files.references([state.id for state in states])
    resolved = await asyncio.to_thread(resolve_batch, repository.workspace_id, stored, table)
    counts = Counter(reference.kind for file in resolved for reference in file.unresolved)
    counts[_RESOLVED] = sum(len(file.edges) for file in resolved)
    return counts


async def _dense(tenure: Tenure, repository: Repository, bound: float | None) -> DensePhase:
    """Run the second phase to its end, or for `bound` seconds."""
    database, embedder = tenure.infrastructure.database, tenure.infrastructure.embedder
    started = time.perf_counter()
    job = await tenure.ingestion.request_embed(repository.workspace_id, repository.id)
    while True:
        await asyncio.sleep(DENSE_POLL_SECONDS)
        seconds = time.perf_counter() - started
        async with database.reading(repository.workspace_id) as work:
            job = await work.jobs.get(job.id)
            counts = await work.counts(repository.id, embedder.name, embedder.dimension)
        is_over = job.state not in {JobState.QUEUED, JobState.RUNNING}
        if is_over or (bound is not None and seconds > bound):
            return DensePhase(
                chunks=counts.chunks,
                embedded=counts.chunks_embedded,
                refused=counts.chunks_failed,
                seconds=seconds if is_over else None,
                rate=counts.chunks_embedded / seconds,
            )


def _parts(counts: IndexCounts, references: Counter[str], phase: DensePhase) -> dict[str, dict[str, Figure]]:
    return {
        "status": dict(counts.files_by_status),
        "references": dict(sorted(references.items())),
        "history": {"commits": counts.commits},
        "left out": {"paths": counts.left_out},
        "dense": {
            "chunks": phase.chunks,
            "embedded": phase.embedded,
            "refused": phase.refused,
            "remaining_s": phase.remaining_seconds,
        },
    }
