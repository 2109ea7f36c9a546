"""The relevance model is fitted to the items that decide each question's verdict."""

import numpy as np
import pytest

from tenure.core.relevance import DEFAULT_MODEL, FEATURES, RelevanceModel
from tenure.workspace.bench.fit_relevance import (
    Judged,
    as_mapping,
    coefficients_of,
    fit_relevance,
    is_hit,
    judged_right,
    relevance_left_out,
)

START = coefficients_of(DEFAULT_MODEL)
MATCHED, EXACT, NO_COSINE = FEATURES.index("matched_idf_share"), FEATURES.index("exact_mention"), 1


def judged(matched: list[float], *, is_about: bool, repo: str = "valves", part: str = "issues") -> Judged:
    rows = np.zeros((len(matched), len(FEATURES)))
    rows[:, MATCHED], rows[:, NO_COSINE] = matched, 1.0
    return Judged(repo, part, rows, is_about)


def some(repo: str = "valves") -> list[Judged]:
    chance = np.random.default_rng(7)
    about = [judged([0.1, chance.uniform(0.6, 0.9)], is_about=True, repo=repo) for _ in range(30)]
    foreign = [judged([0.0, chance.uniform(0.1, 0.4)], is_about=False, repo=repo, part="foreign") for _ in range(30)]
    return [*about, *foreign]


def test_a_set_that_one_feature_separates_is_judged_right() -> None:
    fitted = fit_relevance(some(), START)

    assert judged_right(some(), fitted) == {"foreign": (30, 30), "issues": (30, 30)}
    assert fitted[MATCHED] > START[MATCHED]


def test_the_most_relevant_item_decides_wherever_it_stands() -> None:
    fitted = fit_relevance(some(), START)

    assert is_hit(judged([0.9, 0.0], is_about=True), fitted)
    assert is_hit(judged([0.0, 0.9], is_about=True), fitted)
    assert not is_hit(judged([0.0, 0.1], is_about=False), fitted)


def test_no_evidence_lowers_relevance_even_where_the_data_say_so() -> None:
    upside_down = [Judged(one.repo, one.part, one.evidence, not one.is_about) for one in some()]
    fitted = fit_relevance(upside_down, START)

    assert all(weight >= 0 for name, weight in zip(FEATURES, fitted, strict=False) if name != "no_cosine")


def test_what_the_data_say_nothing_about_stays_as_it_is() -> None:
    fitted = fit_relevance(some(), START)

    assert fitted[EXACT] == pytest.approx(START[EXACT], abs=1e-3)


def test_each_repository_is_judged_by_the_others() -> None:
    strange = [judged([0.5], is_about=False, repo="strange", part="strange")] * 20
    data = [*some("valves"), *some("pipes"), *strange]

    own = judged_right(data, fit_relevance(data, START))
    left_out = relevance_left_out(data, START)

    assert left_out["strange"][1] == own["strange"][1] == 20
    assert left_out["strange"][0] <= own["strange"][0]


def test_what_is_printed_is_a_model() -> None:
    fitted = fit_relevance(some(), START)
    model = RelevanceModel.from_mapping({"version": "tried", **as_mapping(fitted)})

    assert coefficients_of(model) == pytest.approx(fitted, abs=1e-3)
