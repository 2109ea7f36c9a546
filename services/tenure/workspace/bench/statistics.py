"""Figures of a benchmark run and how far chance could have made them. Seeded: equal data give equal figures."""

import math
import random
from collections.abc import Hashable, Sequence

RESAMPLES = 2_000
"""Resamples of a bootstrap: the ends of a 95 % interval then move by a few per cent of its width."""
SEED = 7878
"""Of every random choice of a benchmark, so that a run can be repeated."""
CONFIDENCE = 0.95


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; of nothing it is NaN."""
    return math.fsum(values) / len(values) if values else math.nan


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (in [0, 1]) of the values lie, interpolated between neighbours; of nothing NaN."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = min(max(share, 0.0), 1.0) * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def paired_interval(
    ours: Sequence[float],
    theirs: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean of `ours - theirs`, which are paired by place.

    `groups` names what was drawn as one (two questions of one commit): whole groups are drawn again, for what belongs
    together doesn't count twice. Raises `ValueError` for unequal or no data.
    """
    if not ours or len(ours) != len(theirs) or len(ours) != len(groups or ours):
        raise ValueError(f"paired data of equal, positive length are needed, not {len(ours)} and {len(theirs)}")
    sums: dict[Hashable, list[float]] = {}
    for place, group in enumerate(groups if groups is not None else range(len(ours))):
        entry = sums.setdefault(group, [0.0, 0])
        entry[0] += ours[place] - theirs[place]
        entry[1] += 1
    drawn = list(sums.values())
    chance = random.Random(seed)  # noqa: S311  a repeatable draw is wanted, not a secret one
    means = []
    for _ in range(resamples):
        sample = chance.choices(drawn, k=len(drawn))
        means.append(sum([entry[0] for entry in sample]) / sum([entry[1] for entry in sample]))
    tail = (1.0 - CONFIDENCE) / 2
    return percentile(means, tail), percentile(means, 1.0 - tail)
