"""A clock that stands until a test moves it."""

from datetime import UTC, datetime, timedelta


class MovedClock:
    """Implements the clock port."""

    def __init__(self, at: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def move(self, **span: float) -> None:
        """Go on by a time span, e.g. `hours=1`."""
        self.at += timedelta(**span)
