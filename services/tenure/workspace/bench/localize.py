"""`tenure bench localize`: from an issue's text to the files and functions that its fix changed.

Every instance is answered by the product itself: its tree at the base commit is indexed from the bare clone (with no
history after it), and the issue is one `retrieve`. The baseline is a file BM25 over the same files in the same run.
"""

import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from tenure.core.context import ContextBundle, IncludeTests, RetrieveOptions
from tenure.core.errors import InvalidInput
from tenure.core.memory import FileRole, NodeType
from tenure.ingestion.service import IndexStatus
from tenure.ports.records import Repository
from tenure.retrieval.tuning import Tuning
from tenure.runtime.auth import LOCAL_CALLER
from tenure.runtime.bootstrap import git_repository
from tenure.runtime.settings import load_settings
from tenure.workspace.bench.baseline import FileBm25
from tenure.workspace.bench.edits import ended
from tenure.workspace.bench.inputs import clone_of, read_rows
from tenure.workspace.bench.report import BenchReport, this_commit, this_machine
from tenure.workspace.bench.statistics import paired_interval, percentile
from tenure.workspace.bench.verdicts import symbols
from tenure.workspace.facade import Tenure, open_tenure

ITEMS = 60
"""Items asked for: enough that ten functions are among them."""
CUTS = (1, 3, 5, 10)
FUNCTION_CUT = 10
NOWHERE = 10_000
"""Rank of what was not found."""
ALL_COMMITS = 10_000_000
DEADLINE_MS = 120_000
"""No source is given up while measuring quality."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An issue with what its fix changed."""

    id: str
    repo: str
    base_commit: str
    issue: str
    gold_files: tuple[str, ...]
    gold_functions: tuple[str, ...]


@dataclass(slots=True)
class Outcome:
    """How an instance went: strict ranks (of the worst gold), the baseline's, and the time of the query."""

    instance: Instance
    rank: int
    function_rank: int | None
    baseline_rank: int
    milliseconds: float
    ablated: dict[str, int] = field(default_factory=dict)
    bundle: ContextBundle | None = None


def read_instances(file: Path) -> list[Instance]:
    """The instances of a file."""
    return [
        Instance(
            id=str(row.get("id", number)),
            repo=row["repo"],
            base_commit=row["base_commit"],
            issue=row["issue"],
            gold_files=tuple(row["gold_files"]),
            gold_functions=tuple(row.get("gold_functions") or ()),
        )
        for number, row in enumerate(read_rows(file, ("repo", "base_commit", "issue", "gold_files")), 1)
    ]


OnOutcome = Callable[[Outcome], None]
"""Told of each instance when it is done."""


async def localize(
    file: Path, repos: Path, *, dense: bool = False, ablate: bool = False, on_outcome: OnOutcome = lambda _: None
) -> BenchReport:
    """The figures of `tenure bench localize`; `by` holds each repository and, with `ablate`, each source left out."""
    instances = read_instances(file)
    tunings = dict(ablations(Tuning())) if ablate else {}
    done = []
    async for outcome in outcomes(instances, repos, dense=dense, tunings=tunings):
        done.append(replace(outcome, bundle=None))
        on_outcome(outcome)
    return await report_of(done)


async def report_of(done: Sequence[Outcome]) -> BenchReport:
    """The figures of these instances."""
    ranks, baseline = [one.rank for one in done], [one.baseline_rank for one in done]
    functions = [one.function_rank for one in done if one.function_rank is not None]
    times = [one.milliseconds for one in done]
    by = {
        repo: {"n": len(group), **figures([one.rank for one in group])}
        for repo in sorted({one.instance.repo for one in done})
        for group in ([one for one in done if one.instance.repo == repo],)
    }
    by |= {f"without {name}": figures([one.ablated[name] for one in done]) for name in done[0].ablated}
    return BenchReport(
        bench="localize",
        n=len(done),
        figures={
            **figures(ranks),
            "function_acc@10": round(accuracy(functions, FUNCTION_CUT), 1) if functions else None,
            "query_ms_p50": percentile(times, 0.5),
            "query_ms_p95": percentile(times, 0.95),
        },
        baseline=figures(baseline),
        interval={
            f"acc@{cut} - baseline": paired_interval(_within(ranks, cut), _within(baseline, cut)) for cut in CUTS
        },
        by=by,
        commit=await this_commit(git_repository()),
        machine=this_machine(),
    )


async def outcomes(
    instances: Sequence[Instance],
    repos: Path,
    *,
    dense: bool = False,
    tunings: Mapping[str, Tuning] | None = None,
    tuning: Tuning | None = None,
) -> AsyncIterator[Outcome]:
    """Every instance answered, repository by repository in the order of time. `tunings` are answered beside the
    service's own and give `ablated` ranks.
    """
    ordered = sorted(instances, key=lambda one: one.repo)
    for repo, group in groupby(ordered, key=lambda one: one.repo):
        async with indexer(Path(clone_of(repos, repo)), dense) as indexed:
            for instance in await indexed.in_time(list(group)):
                yield await indexed.answer(instance, tunings or {}, tuning)


def _within(ranks: Sequence[int], cut: int) -> list[float]:
    return [100.0 * (rank <= cut) for rank in ranks]


class Indexed:
    """One repository in a home of its own, moved from base commit to base commit."""

    def __init__(self, tenure: Tenure, workspace_id: str, clone: Path, dense: bool) -> None:
        self._tenure = tenure
        self._workspace_id = workspace_id
        self._clone = clone
        self._dense = dense
        self._repository: Repository | None = None
        self._baseline = FileBm25()

    async def in_time(self, instances: Sequence[Instance]) -> list[Instance]:
        """The instances by how much history their base commits have, so that each index is near the one before.

        Not by date: a commit may have been written years before it was taken in.
        """
        git, clone = self._tenure.infrastructure.git, str(self._clone)
        lengths = {
            commit: len(await git.newest_commits(clone, commit, ALL_COMMITS))
            for commit in dict.fromkeys(instance.base_commit for instance in instances)
        }
        return sorted(instances, key=lambda one: (lengths[one.base_commit], one.id))

    async def answer(self, instance: Instance, tunings: Mapping[str, Tuning], tuning: Tuning | None) -> Outcome:
        """Index the base commit and ask for the issue."""
        await self._index(instance.base_commit)
        options = RetrieveOptions(limit=ITEMS, languages=("python",), include_tests=IncludeTests.NO, graph_depth=0)
        started = time.perf_counter()
        bundle = await self._ask(instance.issue, options, tuning)
        elapsed = (time.perf_counter() - started) * 1e3
        ablated = {}
        for name, other in tunings.items():
            ablated[name] = file_rank(await self._ask(instance.issue, options, other), instance.gold_files)
        ranked = self._baseline.rank(instance.issue)
        await self._tenure.retrieval.drain()
        return Outcome(
            instance=instance,
            rank=file_rank(bundle, instance.gold_files),
            function_rank=function_rank(bundle, instance.gold_functions) if instance.gold_functions else None,
            baseline_rank=strict_rank(ranked, instance.gold_files),
            milliseconds=elapsed,
            ablated=ablated,
            bundle=bundle,
        )

    async def symbols(self, count: int) -> list[str]:
        """Names of definitions, see `verdicts.symbols`."""
        return await symbols(self._tenure.infrastructure.database, (await self._status()).repository, count)

    async def evidence(self, question: str) -> list[Mapping[str, float]]:
        """The parts of every item of the answer that a user would get."""
        bundle = await self._ask(question, RetrieveOptions(explain=True), None)
        return [item.parts for item in bundle.items]

    async def chunks(self) -> int:
        """How many chunks the tree has."""
        return (await self._status()).counts.chunks

    async def embed(self) -> None:
        """Give every chunk its dense vector."""
        repository = (await self._status()).repository
        await ended(self._tenure, await self._tenure.ingestion.request_embed(self._workspace_id, repository.id), None)

    async def _ask(self, issue: str, options: RetrieveOptions, tuning: Tuning | None) -> ContextBundle:
        return await self._tenure.retrieval.retrieve(self._workspace_id, issue, options, whole=False, tuning=tuning)

    async def _index(self, commit: str) -> None:
        ingestion, database = self._tenure.ingestion, self._tenure.infrastructure.database
        if self._repository is None:
            self._repository = await ingestion.add_repository(self._workspace_id, str(self._clone), tree=commit)
        async with database.writing(self._workspace_id) as work:
            current = await work.repositories.get(self._repository.id)
            await work.repositories.update(replace(current, tree=commit))
        await ended(self._tenure, await ingestion.request_index(self._workspace_id, self._repository.id))
        if self._dense:
            await self.embed()
        status = await self._status()
        if status.repository.commit != commit:
            raise InvalidInput(f"{commit} was not indexed: {status.repository.detail or status.state}")
        await self._update_baseline(status.repository)

    async def _status(self) -> IndexStatus:
        if self._repository is None:
            raise InvalidInput("no commit is indexed yet; answer an instance first")
        return await self._tenure.ingestion.status(self._workspace_id, self._repository.id)

    async def _update_baseline(self, repository: Repository) -> None:
        async with self._tenure.infrastructure.database.reading(self._workspace_id) as work:
            states = await work.files.states(repository.id)
            wanted = {s.path: s for s in states if s.role is not FileRole.TEST and s.language == "python"}
            missing = self._baseline.keep({path: state.content_hash for path, state in wanted.items()})
            texts = await work.files.texts([wanted[path].id for path in missing])
        for path in missing:
            self._baseline.add(path, wanted[path].content_hash, texts[wanted[path].id])


@asynccontextmanager
async def indexer(clone: Path, dense: bool) -> AsyncIterator[Indexed]:
    """A bare clone in a temporary home."""
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as home:
        flags = {
            "home": home,
            "indexing.dense": False,
            "retrieval.source_deadline_ms": DEADLINE_MS,
        }
        async with open_tenure(load_settings("test", flags)) as tenure:
            workspace = await tenure.directory.create(LOCAL_CALLER, "bench")
            yield Indexed(tenure, workspace.id, clone, dense)


def file_rank(bundle: ContextBundle, gold: Sequence[str]) -> int:
    """The rank of the worst gold file, from 1."""
    return strict_rank([file.path for file in bundle.files], gold)


def function_rank(bundle: ContextBundle, gold: Sequence[str]) -> int:
    """The rank of the worst gold function among the definitions of the items."""
    named = [
        f"{item.path}:{item.qualified_name}"
        for item in bundle.items
        if item.type in {NodeType.FUNCTION, NodeType.CLASS}
    ]
    return strict_rank(named, gold)


def strict_rank(ranked: Iterable[str], gold: Iterable[str]) -> int:
    """The rank of the last gold key, from 1; `NOWHERE` if one is missing."""
    places: dict[str, int] = {}
    for place, key in enumerate(ranked, 1):
        places.setdefault(key, place)
    return max((places.get(key, NOWHERE) for key in gold), default=NOWHERE)


def accuracy(ranks: Sequence[int], cut: int) -> float:
    """The share of ranks within the cut, in percent."""
    return 100.0 * sum(rank <= cut for rank in ranks) / len(ranks) if ranks else 0.0


def mean_reciprocal(ranks: Sequence[int]) -> float:
    """The mean of one over the rank, 0 for what was not found."""
    return sum(1 / rank for rank in ranks if rank < NOWHERE) / len(ranks) if ranks else 0.0


def figures(ranks: Sequence[int]) -> dict[str, float]:
    """acc@k and MRR of strict ranks."""
    values: dict[str, float] = {f"acc@{cut}": round(accuracy(ranks, cut), 1) for cut in CUTS}
    values["mrr"] = round(mean_reciprocal(ranks), 3)
    return values


def ablations(tuning: Tuning) -> Iterator[tuple[str, Tuning]]:
    """The tuning without each source in turn."""
    for source in tuning.weights:
        yield source, replace(tuning, weights={**tuning.weights, source: 0.0})
    yield "auxiliary", replace(tuning, auxiliary_weight=0.0)
