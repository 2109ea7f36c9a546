"""Evidence from history: who changed with whom."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.cochange import (
    RECENT_HALF_AGE,
    TOGETHER_HALF_AGE,
    WALK_RESTART,
    WALK_STEPS,
    ChangeHistory,
    PastChange,
)

NAMES = st.sampled_from([f"f{number}" for number in range(8)])
CHANGES = st.lists(
    st.builds(
        PastChange,
        files=st.lists(NAMES, max_size=5, unique=True),
        size=st.integers(min_value=0, max_value=9),
    ),
    max_size=30,
)


def of(*commits: str, size: int = 0) -> ChangeHistory:
    return ChangeHistory([PastChange(commit.split(), size) for commit in commits])


def test_a_common_change_counts_less_the_more_files_it_has() -> None:
    history = of("a b", "a c d")
    together = history.together(["a"])
    assert together["b"] == pytest.approx(1.0)
    assert together["c"] == together["d"] == pytest.approx(1 / (1 + 1 / TOGETHER_HALF_AGE) / 2)


def test_files_that_are_gone_still_thin_a_commit() -> None:
    assert of("a b", size=5).together(["a"])["b"] == pytest.approx(0.25)


def test_a_size_below_the_files_that_are_there_is_not_believed() -> None:
    assert of("a b c", size=1).together(["a"])["b"] == pytest.approx(0.5)


def test_a_commit_at_the_half_age_counts_half() -> None:
    commits = ["a b", *[""] * (TOGETHER_HALF_AGE - 1), "a c"]
    together = of(*commits).together(["a"])
    assert together["c"] == pytest.approx(together["b"] / 2)


def test_recent_changes_count_by_their_age_alone() -> None:
    recent = of("a", *[""] * (RECENT_HALF_AGE - 1), "b", "a b").recent()
    assert recent["a"] == pytest.approx(1 + 1 / (1 + (RECENT_HALF_AGE + 1) / RECENT_HALF_AGE))
    assert recent["b"] == pytest.approx(0.5 + 1 / (1 + (RECENT_HALF_AGE + 1) / RECENT_HALF_AGE))


def test_the_walk_reaches_what_changed_with_what_changed_with_the_seed() -> None:
    history = of("a b", "b c", "d e")
    walk = history.walk(["a"])
    assert walk["b"] > walk["c"] > 0
    assert "d" not in walk
    assert "c" not in history.together(["a"])


def test_a_file_without_history_has_no_evidence() -> None:
    history = of("a b", "c")
    assert history.together(["x"]) == {}
    assert history.walk(["x"]) == {}
    assert history.walk(["c"]) == {}
    assert history.last_together(["a"], "x") is None
    assert "x" not in history
    assert "a" in history


def test_the_last_common_change_is_told_by_its_place_in_the_history() -> None:
    history = of("a", "", "a b", "a b")
    assert history.last_together(["a"], "b") == 2
    assert history.last_together(["b"], "c") is None
    assert of("a", "b").last_together(["a"], "b") is None
    assert history.times_together(["a"]) == {"b": 2}


def test_common_changes_with_several_seeds_count_once_per_commit() -> None:
    assert of("a b c", "a c").times_together(["a", "b"]) == {"c": 2}


def test_an_empty_history_answers_nothing() -> None:
    history = ChangeHistory([])
    assert (history.together(["a"]), history.walk(["a"]), history.recent()) == ({}, {}, {})


@settings(max_examples=100)
@given(CHANGES, st.lists(NAMES, min_size=1, max_size=3))
def test_seeds_are_never_evidence_for_themselves(changes: list[PastChange], seeds: list[str]) -> None:
    history = ChangeHistory(changes)
    for scores in (history.together(seeds), history.walk(seeds), history.times_together(seeds)):
        assert not set(seeds) & set(scores)
        assert all(score > 0 for score in scores.values())


@settings(max_examples=100)
@given(CHANGES, NAMES)
def test_the_walk_is_that_over_the_matrix_of_all_pairs(changes: list[PastChange], seed: str) -> None:
    history = ChangeHistory(changes)
    names = sorted({name for change in changes for name in change.files})
    pairs = {name: history.together([name]) for name in names}
    mass = {name: float(name == seed) for name in names}
    start = dict(mass)
    for _ in range(WALK_STEPS):
        handed = dict.fromkeys(names, 0.0)
        for name in names:
            total = sum(pairs[name].values())
            for other, weight in pairs[name].items():
                handed[other] += mass[name] * weight / total
        mass = {name: WALK_RESTART * start[name] + (1 - WALK_RESTART) * handed[name] for name in names}
    expected = {name: share for name, share in mass.items() if share > 1e-12 and name != seed}
    assert {k: v for k, v in history.walk([seed]).items() if v > 1e-12} == pytest.approx(expected)


@settings(max_examples=100)
@given(CHANGES, NAMES)
def test_the_walk_hands_out_at_most_what_it_started_with(changes: list[PastChange], seed: str) -> None:
    assert sum(ChangeHistory(changes).walk([seed]).values()) <= 1 + 1e-9


@settings(max_examples=100)
@given(CHANGES, NAMES, NAMES)
def test_changing_together_is_symmetric(changes: list[PastChange], one: str, other: str) -> None:
    history = ChangeHistory(changes)
    assert history.together([one]).get(other, 0) == pytest.approx(history.together([other]).get(one, 0))
