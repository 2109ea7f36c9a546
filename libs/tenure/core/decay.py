"""How memories age: retention is computed from age when it is read, never written back (SPEC section 4, point 7)."""

import math
from datetime import UTC, datetime

from tenure.core.context import RecencyDecay
from tenure.core.errors import InvalidInput
from tenure.core.memory import MemoryKind, NodeType

FLOOR = 0.05
"""What remains of the oldest memory: age orders, it never removes."""
DAILY_RATE = {
    MemoryKind.PROCEDURAL: 0.001,
    MemoryKind.SEMANTIC: 0.005,
    MemoryKind.EPISODIC: 0.01,
    MemoryKind.WORKING: 0.10,
}
"""Share lost per day."""
DECISION_RATE = 0.002
"""Decisions are episodic by kind, but stay true for longer than other episodes."""
_DAY_SECONDS = 86_400.0


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None and moment.utcoffset() is not None else moment.replace(tzinfo=UTC)


def age_days(now: datetime, created_at: datetime, *confirmed_at: datetime | None) -> float:
    """Days since the newest of creation, confirmed uses and validations; 0 for what is dated in the future.

    Offsets don't matter; a time without one is read as UTC.
    """
    newest = max(_aware(moment) for moment in (created_at, *confirmed_at) if moment is not None)
    return max(0.0, (_aware(now) - newest).total_seconds() / _DAY_SECONDS)


def daily_rate(kind: MemoryKind, type: NodeType) -> float:
    """The share that a memory of this kind and type loses per day."""
    return DECISION_RATE if type is NodeType.DECISION else DAILY_RATE[kind]


def retention(
    kind: MemoryKind,
    type: NodeType,
    age_days: float,
    method: RecencyDecay = RecencyDecay.EXPONENTIAL,
    *,
    is_current: bool = False,
) -> float:
    """What is left of a memory at this age: in [FLOOR, 1], 1 at age 0, never rising with age.

    `is_current` says that the hash of a semantic node's source is the present one: code ages by change, not by
    calendar. A negative age counts as 0. Raises InvalidInput when the age is not a number.
    """
    if math.isnan(age_days):
        raise InvalidInput("The age of a memory is not a number; pass the days since its last confirmed use.")
    if method is RecencyDecay.NONE or (is_current and kind is MemoryKind.SEMANTIC):
        return 1.0
    rate, age = daily_rate(kind, type), max(0.0, age_days)
    kept = 1.0 - rate * age if method is RecencyDecay.LINEAR else (1.0 - rate) ** age
    return max(FLOOR, kept)


def unit_interval(value: float | None, name: str) -> float:
    """`value` clamped to [0, 1]; raises InvalidInput when it is missing or not a number, so that neither is ever stored.

    `name` is the field's name for the message.
    """
    if value is None or math.isnan(value):
        raise InvalidInput(f"`{name}` is {value}, not a number; send a value from 0 to 1.")
    return min(1.0, max(0.0, value))
