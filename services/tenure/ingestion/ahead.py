"""Work on a row of items where the next is made while the last one is used."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


async def one_ahead(
    items: Iterable[Item], make: Callable[[Item], Coroutine[Any, Any, Made]]
) -> AsyncGenerator[Made, None]:
    """What `make` gives for each item, in order; the next is under way while the consumer has one, never two at once.

    Raises what `make` raises, when it is that item's turn. Close it (`aclosing`), so that what is under way ends with it.
    """
    ahead: asyncio.Task[Made] | None = None
    try:
        for item in items:
            if ahead is None:
                ahead = asyncio.create_task(make(item))
                continue
            done, ahead = await ahead, asyncio.create_task(make(item))
            yield done
        if ahead is not None:
            yield await ahead
    finally:
        if ahead is not None:
            ahead.cancel()
            await asyncio.gather(ahead, return_exceptions=True)
