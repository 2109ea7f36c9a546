"""`tenure bench impact`: given one file of a commit, are the others among the first ten?

State strictly before the commit; the same pure functions answer as in the product. Baseline, in the same run: the
number of common commits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenure.core.impact import Ties, rank
from tenure.ports.source_tree import GitRepository
from tenure.workspace.bench.inputs import clone_of, read_rows
from tenure.workspace.bench.past_trees import PastTrees
from tenure.workspace.bench.report import BenchReport, Figure, this_commit, this_machine
from tenure.workspace.bench.statistics import mean, paired_interval

SHOWN = 10
"""Length of the list in which the others are looked for: the 10 of `r@10`."""
Progress = Callable[[int, int], None]
"""Told (questions answered, questions in all)."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One question with its two answers' figures."""

    repository: str
    commit: str
    recall: float
    reciprocal_rank: float
    baseline_recall: float
    baseline_reciprocal_rank: float


async def bench_impact(git: GitRepository, file: Path, repositories: Path, progress: Progress) -> BenchReport:
    """The report over all rows of `file` (`repo sha seed gold`), with bare clones in `repositories`.

    Raises `InvalidInput` for a file, a clone or a commit that is not as it should be.
    """
    rows = read_rows(file, ("repo", "sha", "seed", "gold"))
    answered: list[Answered] = []
    for repository in dict.fromkeys(row["repo"] for row in rows):
        by_commit: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            if row["repo"] == repository:
                by_commit.setdefault(row["sha"], []).append(row)
        trees = PastTrees(git, clone_of(repositories, repository))
        async for commit, ties in trees.before(list(by_commit)):
            answered += [answer(ties, repository, commit, row["seed"], row["gold"]) for row in by_commit[commit]]
            progress(len(answered), len(rows))
    return report(answered, await this_commit(git))


def answer(ties: Ties, repository: str, commit: str, seed: str, gold: Sequence[str]) -> Answered:
    """Ask the product's function and the baseline the same question."""
    ours = [one.path for one in rank(ties, [seed])]
    times = ties.history.times_together([seed])
    theirs = sorted((path for path in ties.names.paths() if path != seed), key=lambda path: (-times[path], path))
    return Answered(repository, commit, *figures_of(ours, gold), *figures_of(theirs, gold))


def figures_of(ranked: Sequence[str], gold: Sequence[str]) -> tuple[float, float]:
    """(share of `gold` among the first `SHOWN`, 1 over the place of its first member, 0 if there is none)."""
    wanted = set(gold)
    found = sum(1 for path in ranked[:SHOWN] if path in wanted)
    first = next((place for place, path in enumerate(ranked, 1) if path in wanted), None)
    return found / len(wanted), 0.0 if first is None else 1.0 / first


def report(answered: Sequence[Answered], commit: str) -> BenchReport:
    """The figures over all questions and by repository; the interval takes questions of one commit as one."""
    interval = paired_interval(
        [one.recall for one in answered],
        [one.baseline_recall for one in answered],
        [(one.repository, one.commit) for one in answered],
    )
    by = {
        repository: _figures([one for one in answered if one.repository == repository])
        for repository in dict.fromkeys(one.repository for one in answered)
    }
    return BenchReport(
        bench="impact",
        n=len(answered),
        figures={"r@10": mean([one.recall for one in answered]), "mrr": mean([o.reciprocal_rank for o in answered])},
        baseline={
            "r@10": mean([one.baseline_recall for one in answered]),
            "mrr": mean([one.baseline_reciprocal_rank for one in answered]),
        },
        interval={"r@10 - baseline": interval},
        by=by,
        commit=commit,
        machine=this_machine(),
    )


def _figures(answered: Sequence[Answered]) -> dict[str, Figure]:
    return {
        "n": len(answered),
        "r@10": mean([one.recall for one in answered]),
        "mrr": mean([one.reciprocal_rank for one in answered]),
        "baseline r@10": mean([one.baseline_recall for one in answered]),
    }
