"""Several ranked sources become one order: the same on every machine, whatever the stores do (SPEC section 4, point 4)."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from tenure.core.context import FusionMethod
from tenure.core.errors import InvalidInput

RRF_K = 60
"""Reciprocal rank fusion: how flat the first ranks are."""


class Fused(NamedTuple):
    """A candidate with its fused score and what each source that named it contributed; `score` is the sum of `parts`."""

    key: str
    score: float
    parts: Mapping[str, float]


_KEY, _SCORE = attrgetter("key"), attrgetter("score")


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """What each source counts; `version` names the set in logs and explanations. Weights are finite and not negative."""

    version: str
    weights: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any], known: Collection[str]) -> "FusionWeights":
        """Weights out of `{"version": str, "weights": {source: number}}`; `known` are the sources there are.

        Raises InvalidInput that names the entry that is missing, unknown or not a weight.
        """
        version, weights = data.get("version"), data.get("weights")
        if not isinstance(version, str) or not isinstance(weights, Mapping):
            raise InvalidInput("Fusion weights need `version` (text) and `weights` (source to number).")
        unknown = sorted(set(weights) - set(known))
        if unknown:
            raise InvalidInput(
                f"Fusion weights name unknown sources: {', '.join(unknown)}. Known: {', '.join(sorted(known))}."
            )
        return cls(version, {source: _weight(source, weights) for source in sorted(weights)})

    def to_mapping(self) -> dict[str, Any]:
        """The inverse of `from_mapping`, fit for JSON."""
        return {"version": self.version, "weights": dict(self.weights)}


def _weight(source: str, weights: Mapping[str, Any]) -> float:
    weight = weights.get(source)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight) or weight < 0:
        raise InvalidInput(f"The fusion weight of source `{source}` is {weight!r}; give a finite number of at least 0.")
    return float(weight)


def normalise(scores: Mapping[str, float]) -> dict[str, float]:
    """Each score divided by the greatest, in [0, 1]; all 0 when no score is above 0. NaN, infinite and negative scores are 0."""
    top = max(filter(math.isfinite, scores.values()), default=0.0)
    if top <= 0:
        return dict.fromkeys(scores, 0.0)
    # NaN is not above 0, and infinity above the top.
    return {key: score / top if 0 < score <= top else 0.0 for key, score in scores.items()}


def _reciprocal_ranks(scores: Mapping[str, float]) -> dict[str, float]:
    """1 / (RRF_K + rank), rank from 1; what has no score above 0 has no rank."""
    shares = normalise(scores)
    ranked = sorted((key for key, share in shares.items() if share > 0), key=lambda key: (-shares[key], key))
    return dict.fromkeys(shares, 0.0) | {key: 1.0 / (RRF_K + rank) for rank, key in enumerate(ranked, 1)}


def fuse(
    sources: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float],
    method: FusionMethod = FusionMethod.RELATIVE_SCORE,
) -> list[Fused]:
    """All candidates of all sources, best first, ties by key; the order of the arguments' entries changes nothing.

    `sources` maps a source to its candidates' scores, higher is better, in any scale of its own. A candidate whose only
    scores are 0, negative or not finite stands last with 0: it does not vanish. Raises InvalidInput for a source without a weight.
    """
    return best_first(scored(sources, weights, method))


def scored(
    sources: Mapping[str, Mapping[str, float]], weights: Mapping[str, float], method: FusionMethod
) -> Iterator[Fused]:
    """The same in no order, for scores that are still to be changed."""
    spread = normalise if method is FusionMethod.RELATIVE_SCORE else _reciprocal_ranks
    parts: dict[str, dict[str, float]] = {}
    for source in sorted(sources):
        weight = _weight(source, weights)
        for key, share in spread(sources[source]).items():
            own = parts.get(key)
            if own is None:
                parts[key] = {source: weight * share}
            else:
                own[source] = weight * share
    return (Fused(key, math.fsum(own.values()), own) for key, own in parts.items())


def best_first(candidates: Iterable[Fused]) -> list[Fused]:
    """By falling score, ties by key. Two sorts without a function of our own are faster than one with it."""
    ordered = sorted(candidates, key=_KEY)
    ordered.sort(key=_SCORE, reverse=True)
    return ordered
