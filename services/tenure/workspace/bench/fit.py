"""`tenure bench fit`: the weights of the sources and the relevance model, from development data.

Prints what is pasted into `retrieval/tuning.py` and `core/relevance.py`, with the figures of leaving each repository
out in turn: a weight that only fits the repositories it was fitted on is no weight.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from tenure.core.relevance import FEATURES
from tenure.retrieval.evidence import AUXILIARY_PENALTY
from tenure.retrieval.items import EVIDENCE
from tenure.retrieval.tuning import Tuning
from tenure.workspace.bench.fit_relevance import (
    Judged,
    as_mapping,
    coefficients_of,
    fit_relevance,
    judged_right,
    relevance_left_out,
)
from tenure.workspace.bench.fit_weights import fit_weights, rank_of, rankings, weights_left_out
from tenure.workspace.bench.foreign import foreign_questions
from tenure.workspace.bench.inputs import clone_of
from tenure.workspace.bench.localize import Indexed, Instance, OnOutcome, Outcome, figures, indexer, read_instances

OWN_SYMBOLS, FOREIGN_QUESTIONS = 20, 30
"""Questions with a known verdict that each repository is asked, beside the issues."""
DENSE_CHUNKS = 8_000
"""Repositories of at most so many chunks are judged once more with dense vectors: some minutes of embedding each."""


async def fit(
    file: Path, repos: Path, on_outcome: OnOutcome = lambda _: None, dense_chunks: int = DENSE_CHUNKS
) -> dict[str, object]:
    """What to paste, and the figures of leaving each repository out."""
    return fitted(*await collect(file, repos, on_outcome, dense_chunks))


def fitted(done: Sequence[Outcome], judged: Sequence[Judged]) -> dict[str, object]:
    """What to paste, from the answers to every instance and to the questions with a known verdict."""
    tuning = Tuning()
    in_use = {**tuning.weights, AUXILIARY_PENALTY: -tuning.auxiliary_weight}
    start, model = np.array(list(in_use.values())), coefficients_of(tuning.relevance)
    data = rankings(done, in_use)
    relevance = fit_relevance(judged, model)
    return {
        "n": len(done),
        "weights": dict(zip(in_use, fit_weights(data, start).round(2).tolist(), strict=True)),
        "in_use": figures([rank_of(one, start) for one in data]),
        "left_out": weights_left_out(data, start),
        "relevance": as_mapping(relevance),
        "judged_in_use": judged_right(judged, model),
        "judged_fitted": judged_right(judged, relevance),
        "judged_left_out": relevance_left_out(judged, model),
    }


async def collect(
    file: Path,
    repos: Path,
    on_outcome: OnOutcome,
    dense_chunks: int,
    tunings: Mapping[str, Tuning] = MappingProxyType({}),
) -> tuple[list[Outcome], list[Judged]]:
    """Every instance answered, and at the last base commit of each repository questions with a known verdict. `tunings` as
    in `localize.outcomes`.
    """
    instances = read_instances(file)
    done: list[Outcome] = []
    judged: list[Judged] = []
    for repo in sorted({one.repo for one in instances}):
        async with indexer(Path(clone_of(repos, repo)), dense=False) as indexed:
            for instance in await indexed.in_time([one for one in instances if one.repo == repo]):
                outcome = await indexed.answer(instance, tunings, None)
                on_outcome(outcome)
                done.append(outcome)
            judged += [one async for one in _judged(indexed, repo, instances, "")]
            if await indexed.chunks() <= dense_chunks:
                await indexed.embed()
                judged += [one async for one in _judged(indexed, repo, instances, ", dense")]
    return done, judged


async def _judged(indexed: Indexed, repo: str, instances: Sequence[Instance], phase: str) -> AsyncIterator[Judged]:
    """A repository's own issues, their first lines and its symbols' names are about it, other repositories' issues
    and everyday sentences are not.
    """
    own = [one for one in instances if one.repo == repo]
    others = [one for one in instances if one.repo != repo]
    about = {
        "issues": [one.issue for one in own],
        "first lines": [_title(one.issue) for one in own],
        "names": await indexed.symbols(OWN_SYMBOLS),
    }
    foreign = {
        "first lines of others": [_title(one.issue) for one in others[::3]],
        "foreign": foreign_questions(FOREIGN_QUESTIONS, seed=len(own)),
    }
    for kinds, is_about in ((about, True), (foreign, False)):
        for kind, questions in kinds.items():
            for question in questions:
                found = await indexed.evidence(question)
                if found:
                    rows = [[parts.get(f"{EVIDENCE}{name}", 0.0) for name in FEATURES] for parts in found]
                    yield Judged(repo, f"{kind}{phase}", np.array(rows), is_about)


def _title(issue: str) -> str:
    return issue.strip().partition("\n")[0]
