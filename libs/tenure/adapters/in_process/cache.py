"""A cache in the memory of this process."""

import time
from collections import OrderedDict
from collections.abc import Callable

MAX_BYTES = 64 * 1024 * 1024
"""What keys and values may take together; the least recently used entries go first."""
ENTRY_OVERHEAD_BYTES = 200
"""What Python keeps beside the bytes of one entry, about."""


class InProcessCache:
    """Values by workspace and key, bounded in bytes and in time. `clock` gives seconds that never run backwards."""

    def __init__(self, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[tuple[str, str], tuple[bytes, float]] = OrderedDict()
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """What the entries take now, at most `max_bytes`."""
        return self._bytes

    async def get(self, workspace_id: str, key: str) -> bytes | None:
        """The value, or None when it is missing or its time is over."""
        name = (workspace_id, key)
        entry = self._entries.get(name)
        if entry is None:
            return None
        value, expires_at = entry
        if self._clock() >= expires_at:
            self._remove(name)
            return None
        self._entries.move_to_end(name)
        return value

    async def put(self, workspace_id: str, key: str, value: bytes, ttl_seconds: float) -> None:
        """Store the value; one that is larger than the whole cache, or has no time to live, is not kept."""
        name = (workspace_id, key)
        self._remove(name)
        size = _size(name, value)
        if ttl_seconds <= 0 or size > self._max_bytes:
            return
        while self._bytes + size > self._max_bytes:
            self._remove(next(iter(self._entries)))
        self._entries[name] = (value, self._clock() + ttl_seconds)
        self._bytes += size

    async def drop(self, workspace_id: str, key: str) -> None:
        """Forget the value."""
        self._remove((workspace_id, key))

    async def close(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._bytes = 0

    def _remove(self, name: tuple[str, str]) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            self._bytes -= _size(name, entry[0])


def _size(name: tuple[str, str], value: bytes) -> int:
    return len(value) + sum(len(part.encode("utf-8", "replace")) for part in name) + ENTRY_OVERHEAD_BYTES
