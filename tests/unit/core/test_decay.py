"""Memories age by what they are, within bounds, and never by how often anyone looked."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.context import RecencyDecay
from tenure.core.decay import DAILY_RATE, FLOOR, age_days, daily_rate, retention, unit_interval
from tenure.core.errors import InvalidInput
from tenure.core.memory import MemoryKind, NodeType

KINDS = st.sampled_from(list(MemoryKind))
TYPES = st.sampled_from(list(NodeType))
METHODS = st.sampled_from(list(RecencyDecay))
AGES = st.floats(min_value=0, max_value=1e6)
NOON = datetime(2024, 5, 4, 12, tzinfo=UTC)


@settings(max_examples=100)
@given(KINDS, TYPES, METHODS)
def test_a_new_memory_is_kept_whole(kind, type, method):
    assert retention(kind, type, 0.0, method) == 1.0


@settings(max_examples=100)
@given(KINDS, TYPES, METHODS, AGES, AGES)
def test_retention_never_rises_with_age_and_stays_between_floor_and_one(kind, type, method, a, b):
    younger, older = sorted((a, b))
    assert FLOOR <= retention(kind, type, older, method) <= retention(kind, type, younger, method) <= 1.0


@settings(max_examples=100)
@given(KINDS, TYPES, METHODS, st.floats(max_value=0, allow_infinity=True))
def test_a_memory_dated_in_the_future_is_kept_whole(kind, type, method, age):
    assert retention(kind, type, age, method) == 1.0


@settings(max_examples=100)
@given(st.floats(min_value=0.01, max_value=5_000))
def test_slow_kinds_keep_more_at_every_age(age):
    working = retention(MemoryKind.WORKING, NodeType.EPISODE, age)
    episodic = retention(MemoryKind.EPISODIC, NodeType.COMMIT, age)
    semantic = retention(MemoryKind.SEMANTIC, NodeType.FUNCTION, age)
    decision = retention(MemoryKind.EPISODIC, NodeType.DECISION, age)
    procedural = retention(MemoryKind.PROCEDURAL, NodeType.PATTERN, age)
    assert working <= episodic <= semantic <= decision <= procedural


@pytest.mark.parametrize(
    ("kind", "type", "rate"),
    [
        (MemoryKind.PROCEDURAL, NodeType.PREFERENCE, 0.001),
        (MemoryKind.EPISODIC, NodeType.DECISION, 0.002),
        (MemoryKind.SEMANTIC, NodeType.CLASS, 0.005),
        (MemoryKind.EPISODIC, NodeType.EPISODE, 0.01),
        (MemoryKind.WORKING, NodeType.EPISODE, 0.10),
    ],
)
def test_a_day_costs_the_rate_of_the_kind(kind, type, rate):
    assert daily_rate(kind, type) == rate
    assert retention(kind, type, 1.0) == pytest.approx(1 - rate)
    assert retention(kind, type, 10.0) == pytest.approx((1 - rate) ** 10)
    assert retention(kind, type, 4.0, RecencyDecay.LINEAR) == pytest.approx(1 - 4 * rate)


def test_every_kind_has_a_rate():
    assert set(DAILY_RATE) == set(MemoryKind)


def test_the_floor_holds_for_any_age():
    assert retention(MemoryKind.WORKING, NodeType.EPISODE, math.inf) == FLOOR
    assert retention(MemoryKind.WORKING, NodeType.EPISODE, 400.0, RecencyDecay.LINEAR) == FLOOR


def test_code_whose_hash_is_current_does_not_age_but_nothing_else_is_spared():
    assert retention(MemoryKind.SEMANTIC, NodeType.FUNCTION, 3_000.0, is_current=True) == 1.0
    assert retention(MemoryKind.SEMANTIC, NodeType.FUNCTION, 3_000.0) == FLOOR
    assert retention(MemoryKind.EPISODIC, NodeType.COMMIT, 30.0, is_current=True) < 1.0


def test_none_means_no_ageing():
    assert retention(MemoryKind.WORKING, NodeType.EPISODE, 500.0, RecencyDecay.NONE) == 1.0


def test_an_age_that_is_no_number_is_refused():
    with pytest.raises(InvalidInput, match="not a number"):
        retention(MemoryKind.SEMANTIC, NodeType.FILE, math.nan)


def test_computing_it_again_and_again_changes_nothing():
    read = [
        retention(MemoryKind.EPISODIC, NodeType.ERROR, age_days(NOON, NOON - timedelta(days=90))) for _ in range(30)
    ]
    assert set(read) == {0.99**90}


def test_naive_utc_and_offset_times_give_the_same_age():
    plus_two = timezone(timedelta(hours=2))
    naive, naive_noon = datetime.fromisoformat("2024-05-01T12:00:00"), datetime.fromisoformat("2024-05-04T12:00:00")
    ages = {
        age_days(NOON, naive),
        age_days(NOON, datetime(2024, 5, 1, 12, tzinfo=UTC)),
        age_days(NOON, datetime(2024, 5, 1, 14, tzinfo=plus_two)),
        age_days(naive_noon, datetime(2024, 5, 1, 14, tzinfo=plus_two)),
    }
    assert ages == {3.0}


def test_age_counts_from_the_last_confirmed_use_and_else_from_creation():
    created = NOON - timedelta(days=100)
    assert age_days(NOON, created) == age_days(NOON, created, None, None) == 100.0
    assert age_days(NOON, created, NOON - timedelta(days=7), None, NOON - timedelta(days=30)) == 7.0


def test_a_clock_that_jumped_back_gives_age_zero():
    assert age_days(NOON, NOON + timedelta(days=2)) == 0.0


@pytest.mark.parametrize("value", [None, math.nan])
def test_a_missing_number_is_refused_by_name(value):
    with pytest.raises(InvalidInput, match="`confidence`"):
        unit_interval(value, "confidence")


@pytest.mark.parametrize(("value", "kept"), [(-0.2, 0.0), (0.4, 0.4), (7.0, 1.0), (math.inf, 1.0), (-math.inf, 0.0)])
def test_a_number_out_of_range_is_clamped(value, kept):
    assert unit_interval(value, "confidence") == kept
