"""`batches`: a sync's files in order, in batches that begin small and are bounded by number and bytes."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.code.model import Candidate
from tenure.ingestion.plan import BATCH_BYTES, BATCH_FILES, FIRST_BATCH_FILES, batches


def candidates(*sizes: int) -> list[Candidate]:
    return [Candidate(f"file_{number}.py", "seen", size) for number, size in enumerate(sizes)]


def lengths(count: int, first: int = FIRST_BATCH_FILES, size: int = 1) -> list[int]:
    return [len(batch) for batch in batches(candidates(*[size] * count), first)]


def test_the_first_batch_is_small_and_each_further_one_twice_as_large_up_to_the_most() -> None:
    assert lengths(2_000) == [50, 100, 200, 400, BATCH_FILES, BATCH_FILES, 250]


def test_all_batches_are_large_unless_a_small_first_one_is_asked_for() -> None:
    assert [len(batch) for batch in batches(candidates(*[1] * 1_200))] == [BATCH_FILES, BATCH_FILES, 200]


@pytest.mark.parametrize(
    ("count", "expected"), [(0, []), (1, [1]), (49, [49]), (50, [50]), (51, [50, 1]), (150, [50, 100])]
)
def test_the_last_batch_has_what_is_left(count: int, expected: list[int]) -> None:
    assert lengths(count) == expected


def test_a_batch_ends_before_the_file_that_makes_it_too_large() -> None:
    half = BATCH_BYTES // 2
    assert [[c.size for c in batch] for batch in batches(candidates(half, half, 1, half, half))] == [
        [half, half],
        [1, half],
        [half],
    ]


def test_a_file_that_is_too_large_by_itself_is_a_batch_of_its_own() -> None:
    made = batches(candidates(1, BATCH_BYTES + 1, 1, 1))
    assert [[c.size for c in batch] for batch in made] == [[1], [BATCH_BYTES + 1], [1, 1]]


def test_a_batch_that_bytes_ended_counts_as_one_that_the_next_doubles() -> None:
    made = batches(candidates(BATCH_BYTES, *[1] * 10), first=2)
    assert [len(batch) for batch in made] == [1, 4, 6]


SIZES = st.one_of(st.integers(0, 100), st.integers(0, 2 * BATCH_BYTES))


@settings(max_examples=80)
@given(st.lists(SIZES, max_size=60), st.integers(1, 20))
def test_nothing_is_lost_the_order_is_kept_and_the_bounds_hold(sizes: list[int], first: int) -> None:
    given_ = candidates(*sizes)
    made = list(batches(iter(given_), first))
    assert [candidate for batch in made for candidate in batch] == given_
    for number, batch in enumerate(made):
        assert 1 <= len(batch) <= min(BATCH_FILES, first * 2**number)
        assert len(batch) == 1 or sum(candidate.size for candidate in batch) <= BATCH_BYTES
    for number, (batch, following) in enumerate(pairwise(made)):
        is_full = len(batch) == min(BATCH_FILES, first * 2**number)
        assert is_full or sum(candidate.size for candidate in batch) + following[0].size > BATCH_BYTES
