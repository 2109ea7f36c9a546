"""The weights of the sources, fitted to where the gold files stand. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tenure.workspace.bench.localize import NOWHERE, Outcome, figures

Array = NDArray[np.float64]
CANDIDATES = 80
"""Best files that the softmax is taken over."""
PULL = 3.0
"""How strongly weights are pulled to where they start: with a hundred issues, much."""
STEPS, STEP = 400, 0.2


@dataclass(frozen=True, slots=True)
class Ranking:
    """One instance as numbers: a row of shares per candidate file, and which of them are gold."""

    repo: str
    shares: Array
    gold: Array
    missing: bool


def rankings(done: Sequence[Outcome], weights: Mapping[str, float]) -> list[Ranking]:
    """The instances as numbers, sources in the order of `weights`; a share is what a source gave, divided by its weight.

    A source of weight 0 gave nothing, so its shares are 0.
    """
    result = []
    for outcome in done:
        files = outcome.bundle.files[:CANDIDATES] if outcome.bundle is not None else ()
        rows = [
            [file.parts.get(name, 0.0) / weight if weight else 0.0 for name, weight in weights.items()]
            for file in files
        ]
        gold = np.array([float(file.path in outcome.instance.gold_files) for file in files])
        missing = gold.sum() < len(outcome.instance.gold_files)
        result.append(Ranking(outcome.instance.repo, np.array(rows), gold, bool(missing)))
    return result


def fit_weights(data: Sequence[Ranking], start: Array) -> Array:
    """Softmax regression, pulled to `start`, signs kept."""
    signs = np.sign(start)
    weights = start.copy()
    usable = [one for one in data if one.gold.sum() > 0]
    for _ in range(STEPS):
        gradient = 2 * PULL * (weights - start)
        for one in usable:
            scores = one.shares @ weights
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            gradient += one.shares.T @ (chance - one.gold / one.gold.sum())
        weights -= STEP * gradient / max(len(usable), 1)
        weights = np.where(signs * weights < 0, 0.0, weights)
    return weights


def weights_left_out(data: Sequence[Ranking], start: Array) -> dict[str, float]:
    """acc@k and MRR where each repository is ranked by weights fitted on the others."""
    ranks = []
    for repo in sorted({one.repo for one in data}):
        weights = fit_weights([one for one in data if one.repo != repo], start)
        ranks += [rank_of(one, weights) for one in data if one.repo == repo]
    return figures(ranks)


def rank_of(one: Ranking, weights: Array) -> int:
    """The strict rank of an instance under these weights."""
    if one.missing:
        return NOWHERE
    order = np.argsort(-(one.shares @ weights), kind="stable")
    return int(np.flatnonzero(one.gold[order])[-1]) + 1
