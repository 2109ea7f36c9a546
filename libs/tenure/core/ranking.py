"""The order of the answer: the fused score, nudged within bounds by age, confidence, weight and trust (SPEC section 4, point 6).

Bounded, because decay that is multiplied into a rank score buries exact matches.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tenure.core.decay import unit_interval
from tenure.core.memory import Trust

FACTOR_SPAN = 0.2
"""Width of one signal's influence: its factor lies in [.9, 1.1]."""
NEUTRAL = 0.5
"""The signal's value at which its factor is 1."""
MIN_FACTOR, MAX_FACTOR = 0.75, 1.25
"""Bounds of the product of all factors."""
TRUST_FACTOR = {Trust.CURATED: 1.05, Trust.OBSERVED: 1.0, Trust.DERIVED: 0.97, Trust.UNTRUSTED: 0.9}


@dataclass(frozen=True, slots=True)
class Signals:
    """What a memory brings besides its match; the numbers lie in [0, 1]."""

    retention: float
    confidence: float
    weight: float
    trust: Trust


class Ordered(NamedTuple):
    """A candidate in its final place; `score` is the fused score times `factor`."""

    key: str
    score: float
    factor: float


def bounded_factor(signal: float, name: str = "signal") -> float:
    """1 at the neutral value, at most a tenth off at the ends. Values outside [0, 1] are clamped; NaN raises InvalidInput."""
    return 1.0 + FACTOR_SPAN * (unit_interval(signal, name) - NEUTRAL)


def factor(signals: Signals) -> float:
    """The product of all bounded factors, in [MIN_FACTOR, MAX_FACTOR]."""
    product = (
        bounded_factor(signals.retention, "retention")
        * bounded_factor(signals.confidence, "confidence")
        * bounded_factor(signals.weight, "weight")
        * TRUST_FACTOR[signals.trust]
    )
    return min(MAX_FACTOR, max(MIN_FACTOR, product))


def order(candidates: Iterable[tuple[str, float, Signals]]) -> list[Ordered]:
    """Candidates (key, fused score, signals) by fused score times factor, best first, ties by key."""
    ordered = [Ordered(key, score * nudge, nudge) for key, score, signals in candidates for nudge in (factor(signals),)]
    return sorted(ordered, key=lambda one: (-one.score, one.key))
