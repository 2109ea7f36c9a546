"""Long rows of things are taken so many at a time."""

from hypothesis import given
from hypothesis import strategies as st

from tenure.core.pages import pages


@given(st.lists(st.integers()), st.integers(min_value=1, max_value=7))
def test_pages_hold_everything_once_in_order_and_only_the_last_is_short(items: list[int], size: int) -> None:
    cut = list(pages(items, size))

    assert [item for page in cut for item in page] == items
    assert all(len(page) == size for page in cut[:-1])
    assert all(0 < len(page) <= size for page in cut)
