"""Ids are stable and never shared; packed vectors come back as they were."""

import uuid

from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core import ids
from tenure.core.memory import NodeType
from tenure.core.placement import NodeMatch, node_score
from tenure.core.sparse import Sparse, bm25_weights, pack, unpack
from tenure.core.vectors import pack_dense, unpack_dense

WORKSPACE = str(uuid.UUID(int=7))
FLOATS = st.floats(width=32, allow_nan=False)


def test_a_profile_and_a_chunk_of_a_file_are_points_of_their_own() -> None:
    file = ids.file_id(WORKSPACE, "r", "a.py")
    assert len({file, ids.profile_id(file), ids.chunk_id(file, 0), ids.chunk_id(file, 1)}) == 4
    assert ids.profile_id(file) == ids.profile_id(file)


def test_a_summary_is_named_by_the_set_of_its_sources() -> None:
    assert ids.summary_id(WORKSPACE, ["b", "a", "a"]) == ids.summary_id(WORKSPACE, ["a", "b"])
    assert ids.summary_id(WORKSPACE, ["a"]) != ids.summary_id(WORKSPACE, ["a", "b"])


def test_equal_names_of_another_kind_workspace_or_ordinal_are_other_nodes() -> None:
    other = str(uuid.UUID(int=8))
    made = [
        ids.node_id(WORKSPACE, NodeType.CLASS, "r", "a.py", "A"),
        ids.node_id(WORKSPACE, NodeType.FUNCTION, "r", "a.py", "A"),
        ids.node_id(WORKSPACE, NodeType.CLASS, "r", "a.py", "A", 1),
        ids.node_id(other, NodeType.CLASS, "r", "a.py", "A"),
        ids.commit_id(WORKSPACE, "r", "A"),
    ]
    assert len(set(made)) == len(made)


@settings(max_examples=50)
@given(st.dictionaries(st.integers(0, 2**32 - 1), FLOATS, max_size=20))
def test_a_sparse_vector_comes_back(weights: dict[int, float]) -> None:
    back = unpack(pack(Sparse(list(weights), list(weights.values()))))
    assert dict(zip(back.indices, back.values, strict=True)) == weights


@settings(max_examples=50)
@given(st.lists(FLOATS, max_size=20))
def test_a_dense_vector_comes_back(vector: list[float]) -> None:
    assert list(unpack_dense(pack_dense(vector))) == vector


def test_repetition_saturates_and_length_counts_against_a_term() -> None:
    once, often = bm25_weights({1: 1}, 100.0).values[0], bm25_weights({1: 50}, 100.0).values[0]
    assert once < often < 2.2
    assert bm25_weights({1: 1, 2: 500}, 100.0).values[0] < once


def test_a_named_whole_question_stands_above_any_text_match() -> None:
    named = node_score(30, NodeMatch(name_share=1.0, title_name_share=1.0, is_class=True, is_whole_question=True))
    assert named > node_score(0, NodeMatch(text=1.0, title_text=1.0, meaning=1.0))
    assert node_score(0, NodeMatch(is_class=True, lines=-5)) >= 0
