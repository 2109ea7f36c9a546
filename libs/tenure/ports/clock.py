"""Time as an argument."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time; tests move it."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...
