"""The weights of the sources are fitted to where the gold files stand, near the weights in use."""

import numpy as np
import pytest

from tenure.workspace.bench.fit_weights import Ranking, fit_weights, rank_of, weights_left_out
from tenure.workspace.bench.localize import NOWHERE

START = np.array([1.0, 1.0, -0.5])


def ranking(repo: str = "valves", *, missing: bool = False, seed: int = 0) -> Ranking:
    """Ten files: the first source finds the gold one, the second finds another, the third says nothing."""
    shares = np.random.default_rng(seed).uniform(0.0, 0.3, (10, 3))
    shares[3, 0], shares[5, 1], shares[:, 2] = 0.9, 1.0, 0.0
    gold = np.zeros(10)
    gold[3] = 1.0
    return Ranking(repo, shares, gold, missing)


def test_the_source_that_finds_gold_gains_and_the_other_loses() -> None:
    fitted = fit_weights([ranking(seed=seed) for seed in range(20)], START)

    assert fitted[0] > START[0]
    assert fitted[1] < START[1]
    assert fitted[2] == pytest.approx(START[2])
    assert rank_of(ranking(), fitted) == 1


def test_no_weight_changes_its_sign() -> None:
    data = [Ranking("valves", -ranking(seed=seed).shares, ranking().gold, missing=False) for seed in range(20)]

    assert fit_weights(data, np.array([0.01, 0.01, -0.01]))[0] >= 0.0


def test_instances_whose_gold_is_not_among_the_candidates_change_nothing() -> None:
    lost = Ranking("valves", ranking().shares, np.zeros(10), missing=True)

    assert fit_weights([lost], START) == pytest.approx(START)
    assert rank_of(lost, START) == NOWHERE


def test_the_rank_is_that_of_the_worst_gold_file() -> None:
    one = ranking()
    gold = one.gold.copy()
    gold[5] = 1.0

    assert rank_of(Ranking("valves", one.shares, gold, missing=False), np.array([1.0, 0.0, 0.0])) > 1


def test_each_repository_is_ranked_by_weights_of_the_others() -> None:
    data = [ranking(repo, seed=seed) for repo in ("valves", "pipes") for seed in range(5)]

    assert weights_left_out(data, START)["acc@1"] == 100.0
