"""Long rows of things, so many at a time."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def pages(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in order in pages of `size`, the last one shorter if need be; none for no items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
