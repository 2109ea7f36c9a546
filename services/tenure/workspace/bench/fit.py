"""`tenure bench fit`: the weights of the sources and the relevance model, from development data.

Prints what is pasted into `retrieval/tuning.py` and `core/relevance.py`, with the figures of leaving each repository
out in turn: a weight that only fits the repositories it was fitted on is no weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tenure.core.relevance import FEATURES, HIT_THRESHOLD
from tenure.retrieval.evidence import AUXILIARY_PENALTY
from tenure.workspace.bench.localize import NOWHERE, Outcome, figures

Array = NDArray[np.float64]
CANDIDATES = 80
"""Best files that the softmax is taken over."""
PULL = 3.0
"""How strongly weights are pulled to where they start: with a hundred issues, much."""
STEPS, STEP = 400, 0.02
RIDGE = 0.5
"""Pull of the relevance coefficients to nothing."""
NEWTON_STEPS = 30


@dataclass(frozen=True, slots=True)
class Ranking:
    """One instance as numbers: a row of shares per candidate file, and which of them are gold."""

    repo: str
    shares: Array
    gold: Array
    missing: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """The best item of one query: its evidence, and whether the query is about the repository."""

    repo: str
    evidence: Array
    is_about: bool


def rankings(done: Sequence[Outcome], names: Sequence[str], weights: Mapping[str, float]) -> list[Ranking]:
    """The instances as numbers; a share is what a source gave, divided by its weight."""
    result = []
    for outcome in done:
        files = outcome.bundle.files[:CANDIDATES] if outcome.bundle is not None else ()
        shares = np.array([[file.parts.get(name, 0.0) / weights[name] for name in names] for file in files])
        gold = np.array([float(file.path in outcome.instance.gold_files) for file in files])
        found = int(gold.sum()) if len(files) else 0
        result.append(Ranking(outcome.instance.repo, shares, gold, found < len(outcome.instance.gold_files)))
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
        weights -= STEP * gradient / max(len(usable), 1) * 10
        weights = np.where(signs * weights < 0, 0.0, weights)
    return weights


def left_out(data: Sequence[Ranking], start: Array) -> dict[str, float]:
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


def signed(weights: Mapping[str, float], auxiliary: float) -> tuple[list[str], Array]:
    """Names and start values of what is fitted, the penalty among them."""
    names = [*weights, AUXILIARY_PENALTY]
    return names, np.array([*weights.values(), auxiliary])


def evidence_of(parts: Mapping[str, float], prefix: str) -> Array:
    """An explained item's evidence, in the order of `FEATURES`."""
    return np.array([parts.get(f"{prefix}{name}", 0.0) for name in FEATURES])


def fit_relevance(data: Sequence[Judged]) -> tuple[float, Array]:
    """Logistic regression by Newton's method: (intercept, coefficients in the order of `FEATURES`)."""
    inputs = np.array([np.append(one.evidence, 1.0) for one in data])
    labels = np.array([float(one.is_about) for one in data])
    balance = np.where(labels > 0, 0.5 / max(labels.mean(), 1e-9), 0.5 / max(1 - labels.mean(), 1e-9))
    pull = np.diag([*([RIDGE] * len(FEATURES)), 0.0])
    weights = np.zeros(inputs.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (balance * (chance - labels)) + pull @ weights
        hessian = (inputs * (balance * chance * (1 - chance))[:, None]).T @ inputs + pull
        weights -= np.linalg.solve(hessian + 1e-6 * np.eye(len(weights)), gradient)
    return float(weights[-1]), weights[:-1]


def judged_right(data: Sequence[Judged], intercept: float, coefficients: Array) -> dict[str, float]:
    """The share of questions about the repository that are hits, and of foreign ones that are misses."""
    chances = [1 / (1 + np.exp(-(one.evidence @ coefficients + intercept))) for one in data]
    about = [chance > HIT_THRESHOLD for chance, one in zip(chances, data, strict=True) if one.is_about]
    foreign = [chance <= HIT_THRESHOLD for chance, one in zip(chances, data, strict=True) if not one.is_about]
    return {
        "hits": sum(about) / max(len(about), 1),
        "misses": sum(foreign) / max(len(foreign), 1),
    }
