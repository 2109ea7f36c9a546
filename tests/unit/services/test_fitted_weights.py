"""Fitting the weights of the sources to where the gold files stand."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.context import BudgetReport, ContextBundle, RankedFile
from tenure.workspace.bench.fit_weights import CANDIDATES, Ranking, fit_weights, rank_of, rankings, weights_left_out
from tenure.workspace.bench.localize import NOWHERE, Instance, Outcome

WEIGHTS = {"file": 2.0, "dense": 0.5, "auxiliary": -0.8}


def outcome(files: Mapping[str, Mapping[str, float]] | None, gold: Sequence[str], repo: str = "ann/one") -> Outcome:
    """An answered instance; `files` are the parts of each file in their order."""
    bundle = None
    if files is not None:
        ranked = [RankedFile(path, path, sum(parts.values()), parts, ()) for path, parts in files.items()]
        bundle = ContextBundle("?", (), "hit", BudgetReport(100, 0), (), tuple(ranked))
    return Outcome(Instance("1", repo, "c0ffee", "?", tuple(gold), ()), 1, None, 1, 1.0, bundle=bundle)


def ranking(shares: Sequence[Sequence[float]], gold: Sequence[int], repo: str = "ann/one") -> Ranking:
    return Ranking(repo, np.array(shares, float), np.array(gold, float), missing=not any(gold))


def test_shares_are_what_a_source_gave_without_its_weight() -> None:
    (one,) = rankings(
        [
            outcome(
                {"a.py": {"file": 1.5, "dense": 0.5}, "b.md": {"dense": 0.25, "auxiliary": -0.4, "other": 9.0}},
                ["b.md"],
            )
        ],
        WEIGHTS,
    )
    assert one.shares.tolist() == [[0.75, 1.0, 0.0], [0.0, 0.5, 0.5]]
    assert (one.gold.tolist(), one.missing, one.repo) == ([0.0, 1.0], False, "ann/one")


def test_a_gold_file_that_was_not_ranked_is_missing() -> None:
    files = {"a.py": {"file": 1.0}, "b.py": {"file": 0.5}}
    made = rankings([outcome(files, gold) for gold in (["a.py", "b.py"], ["a.py", "gone.py"], ["gone.py"])], WEIGHTS)
    assert [one.missing for one in made] == [False, True, True]
    assert [one.gold.tolist() for one in made] == [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]


def test_files_behind_the_candidates_are_missing() -> None:
    files = {f"{number}.py": {"file": 1.0} for number in range(CANDIDATES + 5)}
    last, behind = rankings([outcome(files, [f"{place}.py"]) for place in (CANDIDATES - 1, CANDIDATES)], WEIGHTS)
    assert (len(last.gold), last.missing) == (CANDIDATES, False)
    assert (len(behind.gold), behind.missing) == (CANDIDATES, True)


@pytest.mark.parametrize("files", [None, {}])
def test_an_instance_without_files_is_missing_and_changes_no_weight(
    files: Mapping[str, Mapping[str, float]] | None,
) -> None:
    start = np.array(list(WEIGHTS.values()))
    found = rankings([outcome({"a.py": {"file": 1.0}, "b.py": {"dense": 0.5}}, ["b.py"])], WEIGHTS)
    empty = rankings([outcome(files, ["a.py"])], WEIGHTS)
    assert rank_of(empty[0], start) == NOWHERE
    assert fit_weights([*found, *empty], start).tolist() == fit_weights(found, start).tolist()
    assert fit_weights(empty, start).tolist() == start.tolist()


GOOD_SECOND = [ranking([[1.0, 0.0], [0.0, 1.0], [0.5, 0.0]], [0, 1, 0])] * 10
"""The second source puts the gold file first, the first source others."""


def test_a_source_that_puts_gold_files_first_gains_weight_and_one_that_does_not_loses() -> None:
    start = np.array([1.0, 1.0])
    fitted = fit_weights(GOOD_SECOND, start)
    assert fitted[1] > 1.0 > fitted[0]
    assert [rank_of(GOOD_SECOND[0], weights) for weights in (np.array([1.0, 0.9]), fitted)] == [2, 1]


def test_a_weight_never_changes_its_sign() -> None:
    start = np.array([0.1, 1.0, -0.1])
    shares = [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.5, 0.0, 0.0]]
    fitted = fit_weights([ranking(shares, [0, 1, 0])] * 200, start)
    assert (fitted[0], fitted[2]) == (0.0, 0.0), "the data ask for a negative and a positive one"
    assert fitted[1] > 1.0


def test_a_source_without_weight_gets_none() -> None:
    # Its parts of a score are not known, for it made none.
    weights = {**WEIGHTS, "dense": 0.0}
    data = rankings([outcome({"a.py": {"file": 1.0}, "b.py": {"file": 0.5, "dense": 0.0}}, ["b.py"])], weights)
    assert data[0].shares.tolist() == [[0.5, 0.0, 0.0], [0.25, 0.0, 0.0]]
    assert fit_weights(data, np.array(list(weights.values())))[1] == 0.0


def test_weights_are_pulled_to_the_start_the_more_the_fewer_data_there_are() -> None:
    start = np.array([1.0, 1.0])
    few, many = fit_weights(GOOD_SECOND[:1], start), fit_weights(GOOD_SECOND, start)
    assert 0 < np.abs(few - start).max() < np.abs(many - start).max()
    assert np.abs(few - start).max() < 0.2
    assert start.tolist() == [1.0, 1.0], "the start is left alone"


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=2, max_size=5),
    st.lists(st.floats(0.1, 3), min_size=3, max_size=3),
    st.data(),
)
def test_fitted_weights_make_gold_files_no_less_likely(
    shares: list[list[float]], start: list[float], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(shares) - 1))
    one = ranking(shares, [number == place for number in range(len(shares))])

    def chance(weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        scores = np.exp(one.shares @ weights)
        return float(scores[place] / scores.sum())

    fitted = fit_weights([one] * 5, np.array(start))
    assert (fitted >= 0).all()
    assert chance(fitted) >= chance(np.array(start)) - 1e-6


def test_the_rank_is_that_of_the_worst_gold_file() -> None:
    shares = [[0.1], [0.9], [0.5], [0.7]]
    assert [rank_of(ranking(shares, gold), np.array([1.0])) for gold in ([0, 1, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0])] == [
        1,
        3,
        4,
    ]


def test_files_of_equal_score_stay_in_their_order() -> None:
    shares = [[0.5], [0.5], [0.5]]
    assert [rank_of(ranking(shares, gold), np.array([1.0])) for gold in ([1, 0, 0], [0, 1, 0], [0, 0, 1])] == [1, 2, 3]


def test_a_rank_with_a_missing_gold_file_is_nowhere() -> None:
    one = Ranking("ann/one", np.array([[1.0], [0.5]]), np.array([1.0, 0.0]), missing=True)
    assert rank_of(one, np.array([1.0])) == NOWHERE


def test_each_repository_is_ranked_by_weights_of_the_others() -> None:
    # Two sources, of which each repository has another good one: weights of the other rank its gold file last.
    first = [ranking([[1.0, 0.0], [0.0, 1.0]], [1, 0], "ann/one")] * 20
    second = [ranking([[1.0, 0.0], [0.0, 1.0]], [0, 1], "bob/two")] * 20
    start = np.array([1.0, 1.0])
    assert weights_left_out([*first, *second], start) == {
        "acc@1": 0.0, "acc@3": 100.0, "acc@5": 100.0, "acc@10": 100.0, "mrr": 0.5,
    }  # fmt: skip
    agreeing = [ranking([[1.0, 0.0], [0.0, 1.0]], [0, 1], repo) for repo in ("ann/one", "bob/two") * 5]
    assert weights_left_out(agreeing, start)["acc@1"] == 100.0
