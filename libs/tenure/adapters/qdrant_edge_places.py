"""Where the points of an embedded vector store stand, kept in memory: searches then read no payloads, a third of their time."""

import threading
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple, TypeAlias
from uuid import UUID

PointId: TypeAlias = int | UUID | str
"""As the store gives it."""

MOST_PLACES = 250_000
"""Points that are remembered: some 60 MB."""
_FORGOTTEN_SHARE = 8
"""One part in so many, the oldest, goes when there are more."""


class Place(NamedTuple):
    """What a hit tells of its point beside the score."""

    node_id: str
    owner_id: str
    path: str


class Places:
    """Places by point id, as the store holds them; what is not remembered has to be read there.

    Safe for one writer beside many readers: what a reader found never replaces what was written since.
    """

    def __init__(self, most: int = MOST_PLACES) -> None:
        self._most = most
        self._known: dict[str, Place] = {}
        self._lock = threading.Lock()

    def has_room_for(self, number: int) -> bool:
        """Whether so many more can be remembered without forgetting any."""
        return len(self._known) + number <= self._most

    def among(self, point_ids: Iterable[str]) -> dict[str, Place]:
        """Those of the points that are remembered."""
        return {point_id: place for point_id in point_ids if (place := self._known.get(point_id)) is not None}

    def forget(self, point_ids: Iterable[str]) -> None:
        """Remember nothing of points that are about to be written."""
        with self._lock:
            for point_id in point_ids:
                self._known.pop(point_id, None)

    def note_written(self, places: Mapping[str, Place]) -> None:
        """Remember what was written."""
        with self._lock:
            self._known.update(places)
            self._shrink()

    def note_read(self, places: Mapping[str, Place]) -> None:
        """Remember what a reader found, unless it was written meanwhile."""
        with self._lock:
            for point_id, place in places.items():
                self._known.setdefault(point_id, place)
            self._shrink()

    def _shrink(self) -> None:
        if len(self._known) > self._most:
            surplus = len(self._known) - self._most + self._most // _FORGOTTEN_SHARE
            for point_id in list(islice(self._known, surplus)):
                del self._known[point_id]
