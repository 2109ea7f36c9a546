"""Fusion depends on the scores alone, and a source's scale means nothing."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.context import FusionMethod
from tenure.core.errors import InvalidInput
from tenure.core.fusion import RRF_K, Fused, FusionWeights, fuse, normalise

KEYS = st.sampled_from("abcdefgh")
SCORES = st.dictionaries(KEYS, st.floats(allow_nan=True, allow_infinity=True), max_size=8)
GOOD_SCORES = st.dictionaries(KEYS, st.integers(min_value=1, max_value=1000).map(float), max_size=8)
SOURCES = st.dictionaries(st.sampled_from(["dense", "sparse", "mentions"]), SCORES, max_size=3)
WEIGHTS = {"dense": 1.0, "sparse": 2.0, "mentions": 0.5}
METHODS = st.sampled_from(list(FusionMethod))


def test_relative_score_divides_each_source_by_its_own_maximum():
    fused = fuse({"dense": {"a": 0.8, "b": 0.4}, "sparse": {"b": 30.0, "c": 15.0}}, {"dense": 1.0, "sparse": 0.5})
    assert fused == [
        Fused("a", 1.0, {"dense": 1.0}),
        Fused("b", 1.0, {"dense": 0.5, "sparse": 0.5}),
        Fused("c", 0.25, {"sparse": 0.25}),
    ]


def test_rrf_counts_ranks_from_one():
    fused = fuse({"dense": {"a": 9.0, "b": 1.0}, "sparse": {"b": 7.0}}, {"dense": 1.0, "sparse": 2.0}, FusionMethod.RRF)
    assert [(one.key, one.score) for one in fused] == [
        ("b", pytest.approx(1 / (RRF_K + 2) + 2 / (RRF_K + 1))),
        ("a", pytest.approx(1 / (RRF_K + 1))),
    ]


def test_equal_scores_are_ordered_by_key_under_both_methods():
    for method in FusionMethod:
        assert [one.key for one in fuse({"dense": {"c": 2.0, "a": 2.0, "b": 2.0}}, WEIGHTS, method)] == ["a", "b", "c"]


@settings(max_examples=100)
@given(SOURCES, METHODS)
def test_every_candidate_appears_once_with_a_finite_score_that_its_parts_add_up_to(sources, method):
    fused = fuse(sources, WEIGHTS, method)
    assert sorted(one.key for one in fused) == sorted({key for scores in sources.values() for key in scores})
    for one in fused:
        assert math.isfinite(one.score)
        assert one.score == math.fsum(one.parts.values()) >= 0
        assert set(one.parts) == {source for source, scores in sources.items() if one.key in scores}
    assert fused == sorted(fused, key=lambda one: (-one.score, one.key))


@settings(max_examples=100)
@given(SOURCES, METHODS)
def test_the_order_of_the_arguments_changes_nothing(sources, method):
    turned = {source: dict(reversed(scores.items())) for source, scores in reversed(sources.items())}
    assert fuse(turned, WEIGHTS, method) == fuse(sources, WEIGHTS, method)


@settings(max_examples=100)
@given(st.dictionaries(st.sampled_from(["dense", "sparse"]), GOOD_SCORES), METHODS, st.sampled_from([0.5, 4.0, 1024.0]))
def test_the_scale_of_a_source_changes_nothing(sources, method, scale):
    scaled = {source: {key: score * scale for key, score in scores.items()} for source, scores in sources.items()}
    assert fuse(scaled, WEIGHTS, method) == fuse(sources, WEIGHTS, method)


@settings(max_examples=50)
@given(GOOD_SCORES, GOOD_SCORES, KEYS, METHODS)
def test_a_better_score_never_lowers_a_candidate(dense, sparse, key, method):
    def place(scores):
        return [one.key for one in fuse({"dense": scores, "sparse": sparse}, WEIGHTS, method)].index(key)

    assert place(dense | {key: dense.get(key, 0.0) + 2000.0}) <= place(dense | {key: dense.get(key, 0.0)})


@pytest.mark.parametrize("method", list(FusionMethod))
def test_what_no_source_scores_above_zero_stands_last_and_does_not_vanish(method):
    scores = {"nan": math.nan, "low": -3.0, "huge": math.inf, "none": 0.0, "good": 0.1}
    fused = fuse({"dense": scores}, {"dense": 1.0}, method)
    assert fused[0].key == "good"
    assert {one.key: one.score for one in fused[1:]} == {"huge": 0.0, "low": 0.0, "nan": 0.0, "none": 0.0}


def test_no_sources_give_no_candidates():
    assert fuse({}, {}) == []
    assert fuse({"dense": {}}, {"dense": 1.0}) == []


def test_normalise_gives_shares_of_the_greatest():
    assert normalise({"a": 4.0, "b": 1.0, "c": -1.0}) == {"a": 1.0, "b": 0.25, "c": 0.0}
    assert normalise({"a": -4.0}) == {"a": 0.0}
    assert normalise({}) == {}


@pytest.mark.parametrize("weights", [{}, {"dense": -1.0}, {"dense": math.nan}, {"dense": "1"}, {"dense": True}])
def test_a_source_without_a_proper_weight_is_refused_by_name(weights):
    with pytest.raises(InvalidInput, match="`dense`"):
        fuse({"dense": {"a": 1.0}}, weights)


def test_weights_survive_a_round_trip():
    weights = FusionWeights("fit-3", {"dense": 1.0, "sparse": 0.25})
    assert FusionWeights.from_mapping(weights.to_mapping(), ["sparse", "dense", "mentions"]) == weights


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "version"),
        ({"version": "1"}, "weights"),
        ({"version": "1", "weights": {"psychic": 1.0}}, "psychic"),
        ({"version": "1", "weights": {"dense": None}}, "dense"),
    ],
)
def test_weights_that_make_no_sense_are_refused(data, message):
    with pytest.raises(InvalidInput, match=message):
        FusionWeights.from_mapping(data, ["dense"])
