"""`tenure bench retrieve`: how long an answer takes over an index of a given size, the question's embedding included.

Baseline, in the same run: the sparse and dense searches of the same questions alone, their vectors made beforehand.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tenure.core import prompts
from tenure.core.context import ContextBundle, RetrieveOptions
from tenure.ports.vector_store import Query, SearchFilter, Space
from tenure.retrieval.question import sparse_query, understand
from tenure.retrieval.sources import CHUNKS, FILES
from tenure.workspace.bench.corpus import questions
from tenure.workspace.bench.corpus_store import Corpus, Notice, open_corpus
from tenure.workspace.bench.report import BenchReport, Figure, this_commit, this_machine
from tenure.workspace.bench.statistics import SEED, percentile

DEFAULT_CACHE = Path("~/.cache/tenure-bench")
QUESTIONS = 300
"""Measured questions: the 99th percentile still stands on three of them."""
WARM_UP = 60
"""Questions before the clock runs: caches of pages, statements and models are those of a server at work."""
_TOTAL = "total"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds of each call, and of the whole run."""

    each_ms: Sequence[float]
    whole_ms: float

    def figures(self) -> dict[str, Figure]:
        """The percentiles and the rate."""
        return {
            "p50_ms": percentile(self.each_ms, 0.5),
            "p95_ms": percentile(self.each_ms, 0.95),
            "p99_ms": percentile(self.each_ms, 0.99),
            "rps": len(self.each_ms) / self.whole_ms * 1e3,
        }


async def bench_retrieve(
    profile: str,
    flags: Mapping[str, Any],
    nodes: int,
    clients: int,
    cache: Path = DEFAULT_CACHE,
    asked: int = QUESTIONS,
    seed: int = SEED,
    notice: Notice = lambda _: None,
) -> BenchReport:
    """The figures of `tenure bench retrieve`, warm: `clients` ask side by side, each the next question when it has its
    answer. `by` is each stage's share of the time inside the answers; `prompt_ms_p50` makes and counts a prompt from
    a finished answer.
    """
    async with open_corpus(profile, flags, cache, nodes, seed, notice) as corpus:
        texts = questions(corpus.words, corpus.tree, asked + WARM_UP, seed)
        bundles: list[ContextBundle] = []

        async def answer(text: str) -> None:
            found = corpus.tenure.retrieval.retrieve(corpus.repository.workspace_id, text, RetrieveOptions())
            bundles.append(await found)

        notice("warming up")
        await corpus.tenure.retrieval.warm()
        await measure(answer, texts[asked:], clients)
        await corpus.tenure.retrieval.drain()
        bundles.clear()
        notice("asking")
        answers = await measure(answer, texts[:asked], clients)
        await corpus.tenure.retrieval.drain()
        notice("searching alone")
        searches = await _searches(corpus, texts[:asked])
        baseline = await measure(lambda queries: _search(corpus, queries), searches, clients)
        return BenchReport(
            bench="retrieve",
            n=asked,
            figures={
                **answers.figures(),
                "prompt_ms_p50": percentile(list(_prompt_ms(corpus, bundles)), 0.5),
                "partial": sum(1 for bundle in bundles if bundle.is_partial),
            },
            baseline=baseline.figures(),
            by=shares([bundle.timings_ms for bundle in bundles]),
            commit=await this_commit(corpus.tenure.infrastructure.git),
            machine=this_machine(),
        )


async def measure(call: Callable[[_T], Awaitable[None]], given: Sequence[_T], clients: int) -> Measured:
    """Call with each of the given things, `clients` at a time."""
    waiting = iter(given)
    each: list[float] = []

    async def client() -> None:
        for one in waiting:
            started = time.perf_counter()
            await call(one)
            each.append((time.perf_counter() - started) * 1e3)

    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return Measured(each, (time.perf_counter() - started) * 1e3)


def shares(timings: Sequence[Mapping[str, float]]) -> dict[str, dict[str, Figure]]:
    """Each stage's mean milliseconds and its share of all of them."""
    sums: Counter[str] = Counter()
    for one in timings:
        sums.update({stage: taken for stage, taken in one.items() if stage != _TOTAL})
    whole = sum(sums.values()) or 1.0
    return {stage: {"mean_ms": taken / len(timings), "share": taken / whole} for stage, taken in sums.items()}


def _prompt_ms(corpus: Corpus, bundles: Sequence[ContextBundle]) -> Iterator[float]:
    count = corpus.tenure.infrastructure.tokens.count
    for bundle in bundles:
        started = time.perf_counter()
        messages = prompts.build_prompt(prompts.PromptParts(request=bundle.query, items=bundle.items))
        sum(count(message["content"]) for message in messages)
        yield (time.perf_counter() - started) * 1e3


async def _searches(corpus: Corpus, texts: Sequence[str]) -> list[list[Query]]:
    """The searches of each question, ready to run."""
    found = []
    for text in texts:
        question = understand(text, RetrieveOptions())
        full, title = sparse_query(question.full_terms, _alike), sparse_query(question.title_terms, _alike)
        where, anywhere = SearchFilter(with_tests=question.wants_tests), SearchFilter()
        vector = await corpus.tenure.infrastructure.embedder.embed_query(question.text)
        asked = [
            *(Query(space, full, limit, where) for space, limit in ((Space.FILE, FILES), (Space.CHUNK, CHUNKS))),
            Query(Space.PROFILE, full, FILES, where),
            Query(Space.EPISODE, title, FILES, anywhere),
            Query(Space.DENSE, vector, FILES, where),
        ]
        if not question.is_one_line:
            asked += [Query(Space.FILE, title, FILES, where), Query(Space.CHUNK, title, CHUNKS, where)]
        found.append(asked)
    return found


async def _search(corpus: Corpus, queries: Sequence[Query]) -> None:
    await corpus.tenure.infrastructure.vectors.search(corpus.repository.workspace_id, queries)


def _alike(_: int) -> float:
    """Every term as rare as any other: only the number of terms matters to the time of a search."""
    return 1.0
