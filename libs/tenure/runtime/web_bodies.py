"""JSON bodies that mean one thing: a key stands once in its object."""

import json
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

_SHOWN_OF_A_KEY = 100
"""Characters."""


class JsonRoute(APIRoute):
    """A route that refuses a body with a key twice in one object, at any level, with 422: which of the two is meant
    nobody knows, and a proxy before us may have taken the other one.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, over a request that reads its body so."""
        handle = super().get_route_handler()

        async def read_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return read_strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        return json.loads(await self.body(), object_pairs_hook=_object)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    counted = Counter(key for key, _ in pairs)
    twice = next(key for key, count in counted.items() if count > 1)
    raise HTTPException(422, f"the body holds the key {twice[:_SHOWN_OF_A_KEY]!r} twice in one object; send it once")
