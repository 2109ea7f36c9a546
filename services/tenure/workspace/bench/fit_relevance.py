"""The relevance model, fitted to questions of which it is known whether they are about a repository. Pure.

A question's verdict is that of its most relevant item, and which item that is depends on the model: so the items are
chosen by the model so far and the model fitted to them, in turn. Questions that nothing answers are misses under any
model; they are not among the data.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tenure.core.relevance import FEATURES, HIT_THRESHOLD, RelevanceModel

Array = NDArray[np.float64]
RIDGE = 2.0
"""Pull of the coefficients to those in use: what the data say little about stays as it is."""
NEWTON_STEPS = 30
ROUNDS = 8
"""Choosing and fitting in turn settles after some four."""
_SURE = 500.0
"""A logit beyond which the chance is 0 or 1 to the last digit."""
_EVIDENCE = np.array([*(name != "no_cosine" for name in FEATURES), False])
"""Which coefficients are of evidence; the intercept stands last."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer to one question: a row of evidence for each item in the order of `FEATURES`, and whether the question is
    about the repository. `part` names the questions that are counted together.
    """

    repo: str
    part: str
    evidence: Array
    is_about: bool


def coefficients_of(model: RelevanceModel) -> Array:
    """The model as one row: its coefficients, its intercept last."""
    return np.array([*model.coefficients, model.intercept])


def fit_relevance(data: Sequence[Judged], start: Array) -> Array:
    """Logistic regression, both verdicts of equal weight; the first items are those that `start` finds most relevant.

    No evidence lowers relevance: a coefficient that would be negative is 0, but for that of a missing cosine. Without data
    it is `start`.
    """
    if not data:
        return start
    labels = np.array([float(one.is_about) for one in data])
    chosen = start
    for _ in range(ROUNDS):
        inputs = np.array([_best_item(one, chosen) for one in data])
        free = np.ones(len(start), bool)
        weights = _logistic(inputs, labels, free, start)
        while (wrong := free & (weights < 0) & _EVIDENCE).any():
            free &= ~wrong
            weights = _logistic(inputs, labels, free, start)
        chosen = weights
    return chosen


def _logistic(inputs: Array, labels: Array, free: NDArray[np.bool_], start: Array) -> Array:
    """The regression by Newton's method, pulled to `start`, with 0 for what is not free."""
    balance = np.where(labels > 0, 0.5 / max(labels.mean(), 1e-9), 0.5 / max(1 - labels.mean(), 1e-9))
    rows = inputs[:, free]
    pull = np.diag([*([RIDGE] * len(FEATURES)), 0.0])[np.ix_(free, free)]
    weights = start[free]
    for _ in range(NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -_SURE, _SURE)))
        gradient = rows.T @ (balance * (chance - labels)) + pull @ (weights - start[free])
        hessian = (rows * (balance * chance * (1 - chance))[:, None]).T @ rows + pull
        weights -= np.linalg.solve(hessian + 1e-6 * np.eye(len(weights)), gradient)
    whole = np.zeros(len(free))
    whole[free] = weights
    return whole


def is_hit(one: Judged, weights: Array) -> bool:
    """The verdict of a model."""
    return bool(1 / (1 + np.exp(-_best_item(one, weights) @ weights)) > HIT_THRESHOLD)


def judged_right(data: Sequence[Judged], weights: Array) -> dict[str, tuple[int, int]]:
    """By part, how many questions got the right verdict, and of how many."""
    return _counted((one, weights) for one in data)


def relevance_left_out(data: Sequence[Judged], start: Array) -> dict[str, tuple[int, int]]:
    """The same where each repository is judged by a model fitted on the others."""
    models = {
        repo: fit_relevance([one for one in data if one.repo != repo], start) for repo in {one.repo for one in data}
    }
    return _counted((one, models[one.repo]) for one in data)


def as_mapping(weights: Array) -> Mapping[str, object]:
    """The model as `RelevanceModel.from_mapping` reads it, but for its version."""
    rounded = weights.round(3).tolist()
    return {"intercept": rounded[-1], "coefficients": dict(zip(FEATURES, rounded[:-1], strict=True))}


def _best_item(one: Judged, weights: Array) -> Array:
    rows = np.column_stack([one.evidence, np.ones(len(one.evidence))])
    best: Array = rows[int(np.argmax(rows @ weights))]
    return best


def _counted(judged: Iterable[tuple[Judged, Array]]) -> dict[str, tuple[int, int]]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one, weights in judged:
        counts[one.part][0] += is_hit(one, weights) is one.is_about
        counts[one.part][1] += 1
    return {part: (right, of) for part, (right, of) in sorted(counts.items())}
