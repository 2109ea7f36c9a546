"""`ahead`: the next item is made while the last one is used."""

import asyncio
from contextlib import aclosing

import pytest

from tenure.ingestion.ahead import ahead


class Maker:
    """Notes what begins and ends; an item is made when its gate opens."""

    def __init__(self, *, fails_at: int = -1) -> None:
        self.log: list[str] = []
        self._fails_at = fails_at

    async def make(self, item: int) -> int:
        """Ten times the item."""
        self.log.append(f"begin {item}")
        try:
            await asyncio.sleep(0)
            if item == self._fails_at:
                raise ValueError(str(item))
        except asyncio.CancelledError:
            self.log.append(f"cancelled {item}")
            raise
        self.log.append(f"end {item}")
        return item * 10


@pytest.mark.parametrize("count", [0, 1, 2, 5])
async def test_everything_comes_in_order(count: int) -> None:
    assert [made async for made in ahead(range(count), Maker().make)] == [item * 10 for item in range(count)]


async def test_the_next_begins_while_one_is_used_and_never_a_third() -> None:
    maker = Maker()
    async for made in ahead(range(4), maker.make):
        await asyncio.sleep(0)
        maker.log.append(f"used {made}")
    assert maker.log[:5] == ["begin 0", "end 0", "begin 1", "used 0", "end 1"]
    assert maker.log.index("used 10") < maker.log.index("begin 3")


async def test_an_error_comes_when_it_is_its_turn() -> None:
    made = ahead(range(4), Maker(fails_at=2).make)
    assert [await anext(made), await anext(made)] == [0, 10]
    with pytest.raises(ValueError, match="2"):
        await anext(made)


async def test_closing_ends_what_is_under_way() -> None:
    maker = Maker()
    async with aclosing(ahead(range(4), maker.make)) as made:
        await anext(made)
        await asyncio.sleep(0)
    assert maker.log[-1] == "cancelled 1"
