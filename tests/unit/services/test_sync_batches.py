"""A sync takes its files in batches that are bounded by number and by bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.code.model import Candidate
from tenure.ingestion.plan import BATCH_BYTES, BATCH_FILES, batches


def files(sizes: list[int]) -> list[Candidate]:
    return [Candidate(f"{number}.py", "s", size) for number, size in enumerate(sizes)]


@settings(max_examples=60)
@given(
    st.lists(st.integers(min_value=0, max_value=BATCH_BYTES // 3), max_size=60), st.integers(min_value=1, max_value=9)
)
def test_nothing_is_lost_and_no_bound_is_exceeded(sizes: list[int], first: int) -> None:
    cut = list(batches(files(sizes), first))

    assert [file for batch in cut for file in batch] == files(sizes)
    assert all(0 < len(batch) <= first * 2**place for place, batch in enumerate(cut))
    assert all(sum(file.size for file in batch) <= BATCH_BYTES for batch in cut)


@pytest.mark.parametrize(
    ("first", "lengths"), [(BATCH_FILES, [500, 500, 200]), (100, [100, 200, 400, 500]), (300, [300, 500, 400])]
)
def test_batches_double_up_to_the_bound(first: int, lengths: list[int]) -> None:
    assert [len(batch) for batch in batches(files([1] * 1200), first)] == lengths


def test_a_file_larger_than_a_batch_is_one_by_itself() -> None:
    assert [len(batch) for batch in batches(files([1, BATCH_BYTES * 2, 1]))] == [1, 1, 1]
