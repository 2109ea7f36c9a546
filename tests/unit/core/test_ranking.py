"""Signals nudge the order within bounds; they never overturn a clear match."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.errors import InvalidInput
from tenure.core.memory import Trust
from tenure.core.ranking import MAX_FACTOR, MIN_FACTOR, TRUST_FACTOR, Signals, bounded_factor, factor, order

ANY_SIGNAL = st.floats(allow_nan=False)
SIGNALS = st.builds(Signals, ANY_SIGNAL, ANY_SIGNAL, ANY_SIGNAL, st.sampled_from(list(Trust)))
NEUTRAL = Signals(0.5, 0.5, 0.5, Trust.OBSERVED)


def test_a_neutral_memory_keeps_its_score():
    assert factor(NEUTRAL) == 1.0


@pytest.mark.parametrize(("signal", "expected"), [(0.0, 0.9), (0.5, 1.0), (1.0, 1.1), (-5.0, 0.9), (9.0, 1.1)])
def test_one_signal_moves_a_score_by_a_tenth_at_most(signal, expected):
    assert bounded_factor(signal) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("trust", "expected"), [("curated", 1.05), ("observed", 1.0), ("derived", 0.97), ("untrusted", 0.9)]
)
def test_trust_has_its_factor(trust, expected):
    assert factor(Signals(0.5, 0.5, 0.5, Trust(trust))) == pytest.approx(expected)
    assert set(TRUST_FACTOR) == set(Trust)


@settings(max_examples=100)
@given(SIGNALS)
def test_the_product_stays_within_its_bounds(signals):
    assert MIN_FACTOR <= factor(signals) <= MAX_FACTOR


def test_the_bounds_are_reached():
    assert factor(Signals(1.0, 1.0, 1.0, Trust.CURATED)) == MAX_FACTOR
    assert factor(Signals(0.0, 0.0, 0.0, Trust.UNTRUSTED)) == MIN_FACTOR


def test_a_signal_that_is_no_number_is_refused_by_name():
    with pytest.raises(InvalidInput, match="`confidence`"):
        factor(Signals(0.5, math.nan, 0.5, Trust.OBSERVED))


def test_an_old_exact_match_stays_before_fresh_fillers():
    old = ("exact", 1.0, Signals(0.05, 0.5, 0.5, Trust.OBSERVED))
    fillers = [(f"filler {n}", 0.2, Signals(1.0, 1.0, 1.0, Trust.CURATED)) for n in range(10)]
    assert order([*fillers, old])[0].key == "exact"


def test_of_two_equal_matches_the_younger_comes_first():
    aged = [
        ("old", 0.9, Signals(0.13, 1.0, 0.5, Trust.OBSERVED)),
        ("young", 0.9, Signals(0.99, 1.0, 0.5, Trust.OBSERVED)),
    ]
    assert [one.key for one in order(aged)] == ["young", "old"]


def test_ties_are_ordered_by_key_and_scores_carry_the_factor():
    ordered = order([("b", 2.0, NEUTRAL), ("a", 2.0, NEUTRAL), ("c", 2.0, Signals(1.0, 0.5, 0.5, Trust.OBSERVED))])
    assert [one.key for one in ordered] == ["c", "a", "b"]
    assert ordered[0].score == pytest.approx(2.0 * ordered[0].factor)
    assert order([]) == []
