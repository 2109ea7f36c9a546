"""Fitting the relevance model to questions with a known verdict."""

import random

import numpy as np
import pytest

from tenure.core.relevance import DEFAULT_MODEL, FEATURES, HIT_THRESHOLD, Evidence, RelevanceModel, logistic
from tenure.workspace.bench.fit_relevance import (
    Array,
    Judged,
    as_mapping,
    coefficients_of,
    fit_relevance,
    is_hit,
    judged_right,
    relevance_left_out,
)

START = coefficients_of(DEFAULT_MODEL)
MATCHED, TITLE, EPISODES = "matched_idf_share", "title_share", "episode_similarity"


def row(**values: float) -> list[float]:
    """The evidence of one item without a dense vector."""
    return [{"no_cosine": 1.0, **values}.get(name, 0.0) for name in FEATURES]


def judged(*rows: list[float], is_about: bool, repo: str = "ann/one", part: str = "issues") -> Judged:
    return Judged(repo, part, np.array(rows), is_about)


def model(intercept: float = 0.0, **coefficients: float) -> Array:
    return np.array([*(coefficients.get(name, 0.0) for name in FEATURES), intercept])


def coefficient(weights: Array, name: str) -> float:
    return float(weights[FEATURES.index(name)])


def chosen_item(one: Judged, weights: Array) -> int:
    return int(np.argmax(one.evidence @ weights[:-1]))


def easy(count: int = 40, repo: str = "ann/one") -> list[Judged]:
    """Questions about the repository match most of what was asked, others little; each has further, weaker items."""
    chance = random.Random(count)
    return [
        judged(
            row(matched_idf_share=chance.uniform(0, 0.2)),
            row(matched_idf_share=chance.uniform(*((0.7, 1.0) if is_about else (0.2, 0.4)))),
            is_about=is_about,
            repo=repo,
            part="issues" if is_about else "foreign",
        )
        for is_about in (True, False)
        for _ in range(count // 2)
    ]


def test_questions_that_differ_by_their_evidence_are_told_apart() -> None:
    data = easy()
    weights = fit_relevance(data, START)
    assert judged_right(data, weights) == {"foreign": (20, 20), "issues": (20, 20)}
    assert coefficient(weights, MATCHED) > 0


def test_both_verdicts_count_the_same_however_many_questions_have_them() -> None:
    share = {True: [0.7] * 6 + [0.3] * 4, False: [0.7] * 30 + [0.3] * 60}
    data = [judged(row(matched_idf_share=one), is_about=is_about) for is_about in share for one in share[is_about]]
    # Of those with 0.7, fewer are about the repository than not, yet more than half of one kind and a third of the other.
    assert judged_right(data, fit_relevance(data, START)) == {"issues": (6 + 60, 100)}


def test_the_item_that_decides_is_the_most_relevant_one() -> None:
    by_title = judged(row(matched_idf_share=0.9), row(title_share=0.9), is_about=True)
    assert is_hit(by_title, model(intercept=-1.0, title_share=2.0))
    assert is_hit(by_title, model(intercept=-1.0, matched_idf_share=2.0))
    assert not is_hit(by_title, model(intercept=-1.0, matched_idf_share=1.0, title_share=1.0)), "items are not added up"


def test_the_first_items_to_fit_are_those_that_the_start_chooses() -> None:
    # Every question has an item that matches by text and one by title; titles alone tell which are about it.
    data = [
        judged(row(matched_idf_share=0.5), row(title_share=0.9 if is_about else 0.1), is_about=is_about)
        for is_about in (True, False) * 10
    ]
    from_titles = fit_relevance(data, model(title_share=1.0))
    assert coefficient(from_titles, TITLE) > 0
    assert judged_right(data, from_titles) == {"issues": (20, 20)}
    from_text = fit_relevance(data, model(matched_idf_share=1.0))
    assert coefficient(from_text, TITLE) == pytest.approx(0.0, abs=1e-6), "all texts are alike: nothing to learn"


def test_the_items_to_fit_are_chosen_anew_by_the_fitted_model() -> None:
    data = [
        judged(row(matched_idf_share=0.8 if is_about else 0.3), row(title_share=0.35), is_about=is_about)
        for is_about in (True, False) * 10
    ]
    start = model(matched_idf_share=1.0, title_share=1.0)
    fitted = fit_relevance(data, start)
    assert [chosen_item(one, start) for one in data[:2]] == [0, 1]
    assert [chosen_item(one, fitted) for one in data[:2]] == [0, 0]
    assert judged_right(data, fitted) == {"issues": (20, 20)}


def test_evidence_never_lowers_relevance() -> None:
    data = [
        judged(
            row(matched_idf_share=0.8 if is_about else 0.3, episode_similarity=0.1 if is_about else 0.9),
            is_about=is_about,
        )
        for is_about in (True, False) * 10
    ]
    weights = fit_relevance(data, model(matched_idf_share=1.0))
    assert coefficient(weights, EPISODES) == 0.0
    assert (np.delete(weights[:-1], FEATURES.index("no_cosine")) >= 0).all()
    assert judged_right(data, weights) == {"issues": (20, 20)}


def test_a_missing_cosine_may_speak_against_an_item() -> None:
    data = [
        judged(row(cosine=0.5 * is_about, no_cosine=float(not is_about), matched_idf_share=0.5), is_about=is_about)
        for is_about in (True, False) * 10
    ]
    assert coefficient(fit_relevance(data, model(cosine=1.0)), "no_cosine") < 0


def test_what_the_data_say_nothing_about_stays_as_it_is() -> None:
    weights = fit_relevance(easy(), START)
    for name in ("cosine", "exact_mention", "path_mention"):
        assert coefficient(weights, name) == pytest.approx(coefficient(START, name), abs=1e-3)


def test_right_verdicts_are_counted_by_part() -> None:
    weights = model(intercept=-1.0, matched_idf_share=2.0)
    found, missed = row(matched_idf_share=0.9), row(matched_idf_share=0.1)
    data = [
        judged(missed, found, is_about=True, part="issues"),
        judged(missed, is_about=True, part="issues"),
        judged(missed, is_about=False, part="foreign"),
        judged(missed, found, is_about=False, part="foreign"),
        judged(missed, is_about=False, repo="bob/two", part="foreign"),
        judged(found, is_about=True, part="names"),
    ]
    assert judged_right(data, weights) == {"foreign": (2, 3), "issues": (1, 2), "names": (1, 1)}


def test_a_verdict_at_the_threshold_is_a_miss() -> None:
    assert HIT_THRESHOLD == 0.5
    assert not is_hit(judged(row(), is_about=True), model())
    assert is_hit(judged(row(), is_about=True), model(intercept=1e-6))


def test_each_repository_is_judged_by_a_model_of_the_others() -> None:
    # What is about the second repository matches by title alone, which nothing in the first one teaches.
    odd = [
        judged(row(title_share=0.9 * is_about), is_about=is_about, repo="bob/two", part="odd")
        for is_about in (True, False) * 4
    ]
    data = [*easy(), *odd]
    assert judged_right(data, fit_relevance(data, START))["odd"] == (8, 8)
    left_out = relevance_left_out(data, START)
    assert left_out["odd"] == (4, 8), "all of them are misses"
    assert {part: of for part, (_, of) in left_out.items()} == {"foreign": 20, "issues": 20, "odd": 8}
    both = [*easy(), *easy(20, "bob/two")]
    assert relevance_left_out(both, START) == {"foreign": (30, 30), "issues": (30, 30)}


def test_without_other_repositories_the_model_stays_as_it_is() -> None:
    assert fit_relevance([], START).tolist() == START.tolist()
    assert relevance_left_out(easy(), START) == judged_right(easy(), START)


def test_a_fitted_model_can_be_pasted() -> None:
    weights = fit_relevance(easy(), START)
    read = RelevanceModel.from_mapping({**as_mapping(weights), "version": "fitted-1"})
    assert read.version == "fitted-1"
    assert coefficients_of(read) == pytest.approx(weights, abs=5e-4)
    seen = Evidence(matched_idf_share=0.8)
    expected = logistic(float(np.append(row(matched_idf_share=0.8), 1.0) @ weights))
    assert read.relevance(seen) == pytest.approx(expected, abs=1e-2)


def test_the_model_in_use_survives_both_ways() -> None:
    assert RelevanceModel.from_mapping({**as_mapping(START), "version": DEFAULT_MODEL.version}) == DEFAULT_MODEL
