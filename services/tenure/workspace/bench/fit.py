"""`tenure bench fit`: the weights of the sources and the relevance model, from development data.

Prints what is pasted into `retrieval/tuning.py` and `core/relevance.py`, with the figures of leaving each repository
out in turn: a weight that only fits the repositories it was fitted on is no weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tenure.core.relevance import FEATURES, HIT_THRESHOLD
from tenure.retrieval.evidence import AUXILIARY_PENALTY
from tenure.retrieval.items import EVIDENCE
from tenure.retrieval.tuning import Tuning
from tenure.workspace.bench.foreign import foreign_questions
from tenure.workspace.bench.inputs import clone_of
from tenure.workspace.bench.localize import NOWHERE, OnOutcome, Outcome, figures, indexer, read_instances

Array = NDArray[np.float64]
CANDIDATES = 80
"""Best files that the softmax is taken over."""
PULL = 3.0
"""How strongly weights are pulled to where they start: with a hundred issues, much."""
STEPS, STEP = 400, 0.02
RIDGE = 0.5
"""Pull of the relevance coefficients to nothing."""
NEWTON_STEPS = 30
OWN_SYMBOLS, FOREIGN_QUESTIONS = 20, 30
"""Questions with a known verdict that each repository is asked, beside the issues."""


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
        "hits": float(np.mean(about)) if about else 1.0,
        "misses": float(np.mean(foreign)) if foreign else 1.0,
    }


async def collect(file: Path, repos: Path, on_outcome: OnOutcome) -> tuple[list[Outcome], list[Judged]]:
    """Every instance answered, and at the last base commit of each repository questions with a known verdict: its own
    issues' first lines and its symbols' names are about it, other repositories' issues and everyday sentences are not.
    """
    instances = read_instances(file)
    done: list[Outcome] = []
    judged: list[Judged] = []
    for repo in sorted({one.repo for one in instances}):
        own = [one for one in instances if one.repo == repo]
        others = [one for one in instances if one.repo != repo]
        async with indexer(Path(clone_of(repos, repo)), dense=False) as indexed:
            for instance in await indexed.in_time(own):
                outcome = await indexed.answer(instance, {}, None)
                on_outcome(outcome)
                done.append(outcome)
            about = [*(one.issue for one in own), *(_title(one.issue) for one in own)]
            about += await indexed.symbols(OWN_SYMBOLS)
            foreign = [
                *(_title(one.issue) for one in others[::3]),
                *foreign_questions(FOREIGN_QUESTIONS, seed=len(own)),
            ]
            for question, is_about in [*((q, True) for q in about), *((q, False) for q in foreign)]:
                evidence = await indexed.best_evidence(question)
                if evidence is not None:
                    judged.append(Judged(repo, evidence_of(evidence, EVIDENCE), is_about))
    return done, judged


async def fit(file: Path, repos: Path, on_outcome: OnOutcome = lambda _: None) -> dict[str, object]:
    """What to paste, and the figures of leaving each repository out."""
    tuning = Tuning()
    done, judged = await collect(file, repos, on_outcome)
    in_use = {**tuning.weights, AUXILIARY_PENALTY: -tuning.auxiliary_weight}
    names, start = list(in_use), np.array(list(in_use.values()))
    data = rankings(done, names, in_use)
    weights = fit_weights(data, start)
    intercept, coefficients = fit_relevance(judged)
    repos_seen = sorted({one.repo for one in judged})
    held_out = []
    for repo in repos_seen:
        model = fit_relevance([one for one in judged if one.repo != repo])
        held_out.append(judged_right([one for one in judged if one.repo == repo], *model))
    return {
        "n": len(done),
        "weights": dict(zip(names, weights.round(2).tolist(), strict=True)),
        "in_use": figures([rank_of(one, start) for one in data]),
        "left_out": left_out(data, start),
        "relevance": {
            "intercept": round(intercept, 3),
            "coefficients": dict(zip(FEATURES, coefficients.round(3).tolist(), strict=True)),
        },
        "judged": len(judged),
        "judged_left_out": {
            key: round(sum(one[key] for one in held_out) / len(held_out), 3) for key in ("hits", "misses")
        },
    }


def _title(issue: str) -> str:
    return issue.strip().partition("\n")[0]
