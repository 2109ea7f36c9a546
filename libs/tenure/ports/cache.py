"""A cache that may lose anything at any moment."""

from typing import Protocol


class Cache(Protocol):
    """Bytes by key and workspace. Losing an entry is normal; returning another workspace's entry never happens."""

    async def get(self, workspace_id: str, key: str) -> bytes | None:
        """The value, or None when it is missing or older than its time to live."""
        ...

    async def put(self, workspace_id: str, key: str, value: bytes, ttl_seconds: float) -> None:
        """Store the value for at most `ttl_seconds`."""
        ...

    async def drop(self, workspace_id: str, key: str) -> None:
        """Forget the value; a missing key is fine."""
        ...

    async def close(self) -> None:
        """Release the cache."""
        ...
