"""Relevance grows with evidence, needs nothing but evidence, and decides between hit and miss."""

import dataclasses
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.errors import InvalidInput
from tenure.core.relevance import (
    DEFAULT_MODEL,
    FEATURES,
    HIT_THRESHOLD,
    Evidence,
    RelevanceModel,
    features,
    is_hit,
    logistic,
)

SHARE = st.floats(min_value=0, max_value=1)
ANY = st.floats(allow_nan=True, allow_infinity=True)
EVIDENCE = st.builds(Evidence, st.none() | ANY, ANY, ANY, ANY, ANY, ANY)


@settings(max_examples=100)
@given(EVIDENCE)
def test_relevance_is_a_probability_whatever_the_evidence(evidence):
    assert 0.0 <= DEFAULT_MODEL.relevance(evidence) <= 1.0
    assert len(features(evidence)) == len(FEATURES)


@settings(max_examples=100)
@given(
    st.builds(Evidence, SHARE, SHARE, SHARE, SHARE, SHARE, SHARE),
    st.sampled_from([f.name for f in dataclasses.fields(Evidence)]),
)
def test_more_evidence_never_lowers_relevance(evidence, name):
    more = dataclasses.replace(evidence, **{name: 1.0})
    assert DEFAULT_MODEL.relevance(more) >= DEFAULT_MODEL.relevance(evidence)


def test_no_evidence_is_a_miss_and_an_exact_name_is_a_hit_with_and_without_vectors():
    assert not is_hit(DEFAULT_MODEL.relevance(Evidence()))
    assert not is_hit(DEFAULT_MODEL.relevance(Evidence(cosine=0.15, matched_idf_share=0.2)))
    for cosine in (None, 0.3):
        named = Evidence(cosine=cosine, matched_idf_share=1.0, title_share=1.0, exact_mention=1.0)
        assert is_hit(DEFAULT_MODEL.relevance(named))


def test_the_threshold_itself_is_a_miss():
    assert not is_hit(HIT_THRESHOLD)
    assert is_hit(math.nextafter(HIT_THRESHOLD, 1))


def test_a_missing_vector_is_told_from_a_cosine_of_zero():
    assert features(Evidence(cosine=None))[:2] == (0.0, 1.0)
    assert features(Evidence(cosine=0.0))[:2] == (0.0, 0.0)
    assert features(Evidence(cosine=-0.4))[:2] == (0.0, 0.0)


def test_evidence_that_is_no_number_counts_as_none():
    assert features(Evidence(cosine=math.nan, matched_idf_share=math.nan)) == features(Evidence(cosine=0.0))


@settings(max_examples=100)
@given(st.floats(allow_nan=False))
def test_the_logistic_never_overflows_and_is_symmetric(logit):
    assert logistic(logit) + logistic(-logit) == pytest.approx(1.0)


def test_a_model_survives_json():
    assert RelevanceModel.from_mapping(json.loads(json.dumps(DEFAULT_MODEL.to_mapping()))) == DEFAULT_MODEL


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "version"),
        ({"coefficients": None}, "coefficients"),
        ({"intercept": math.nan}, "intercept"),
        ({"intercept": True}, "intercept"),
        ({"coefficients": {}}, "cosine"),
        ({"coefficients": {"mood": 1.0}}, "mood"),
    ],
)
def test_a_model_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(InvalidInput, match=message):
        RelevanceModel.from_mapping(DEFAULT_MODEL.to_mapping() | change)
