"""Work on a row of items where the next ones are made while one is used."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


async def ahead(
    items: Iterable[Item], make: Callable[[Item], Coroutine[Any, Any, Made]], most: int = 1
) -> AsyncGenerator[Made, None]:
    """What `make` gives for each item, in order; up to `most` further ones are under way while the consumer has one.

    Raises what `make` raises, when it is that item's turn. Close it (`aclosing`), so that what is under way ends with it.
    """
    under_way: deque[asyncio.Task[Made]] = deque()
    try:
        for item in items:
            if len(under_way) < most:
                under_way.append(asyncio.create_task(make(item)))
                continue
            done = await under_way.popleft()
            under_way.append(asyncio.create_task(make(item)))
            yield done
        while under_way:
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
