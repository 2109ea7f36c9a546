"""Relevance: a calibrated estimate in [0, 1] of whether an item answers the query (SPEC section 4, point 5).

It looks at absolute evidence only, so it says the same whatever else was found; it admits, the fused score orders.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tenure.core.errors import InvalidInput

HIT_THRESHOLD = 0.5
"""A query is a hit when its best item's relevance is above this."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for one item, in absolute terms.

    `cosine` in [-1, 1], None when the item or the query has no dense vector; `matched_idf_share` the share of the query's
    IDF mass that the item's text holds, `title_share` the same for the query's first line; `exact_mention` 1 when the query
    names its symbol, `path_mention` when it names its path; `episode_similarity` of past work that touched it.
    NaN counts as no evidence.
    """

    cosine: float | None = None
    matched_idf_share: float = 0.0
    title_share: float = 0.0
    exact_mention: float = 0.0
    path_mention: float = 0.0
    episode_similarity: float = 0.0


FEATURES = (
    "cosine",
    "no_cosine",
    "matched_idf_share",
    "title_share",
    "exact_mention",
    "path_mention",
    "episode_similarity",
)
"""`no_cosine` is 1 where the cosine is missing, so that an item without a vector is judged by the rest."""


def _share(value: float) -> float:
    return 0.0 if math.isnan(value) else min(1.0, max(0.0, float(value)))


def features(evidence: Evidence) -> tuple[float, ...]:
    """The evidence as numbers in [0, 1], in the order of FEATURES; a negative cosine counts as 0."""
    return (
        _share(evidence.cosine or 0.0),
        1.0 if evidence.cosine is None else 0.0,
        _share(evidence.matched_idf_share),
        _share(evidence.title_share),
        _share(evidence.exact_mention),
        _share(evidence.path_mention),
        _share(evidence.episode_similarity),
    )


def logistic(logit: float) -> float:
    """1 / (1 + e^-logit) without overflow for any finite or infinite logit."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    grown = math.exp(logit)
    return grown / (1.0 + grown)


def _number(data: Mapping[str, Any], name: str) -> float:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"The relevance model's `{name}` is {value!r}; give a finite number or fit the model again.")
    return float(value)


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """A fitted logistic; `version` names it in explanations. `coefficients` are in the order of FEATURES."""

    version: str
    intercept: float
    coefficients: tuple[float, ...]

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        """A model out of `{"version": str, "intercept": number, "coefficients": {feature: number}}`.

        Raises InvalidInput for a missing or unknown feature and for what is not a finite number.
        """
        version, coefficients = data.get("version"), data.get("coefficients")
        if not isinstance(version, str) or not isinstance(coefficients, Mapping):
            raise InvalidInput("A relevance model needs `version` (text), `intercept` and `coefficients`.")
        unknown = sorted(set(coefficients) - set(FEATURES))
        if unknown:
            raise InvalidInput(
                f"The relevance model has unknown features: {', '.join(unknown)}. Known: {', '.join(FEATURES)}."
            )
        return cls(version, _number(data, "intercept"), tuple(_number(coefficients, name) for name in FEATURES))

    def to_mapping(self) -> dict[str, Any]:
        """The inverse of `from_mapping`, fit for JSON."""
        coefficients = dict(zip(FEATURES, self.coefficients, strict=True))
        return {"version": self.version, "intercept": self.intercept, "coefficients": coefficients}

    def relevance(self, evidence: Evidence) -> float:
        """The probability that the item answers the query, in [0, 1]."""
        weighed = (weight * value for weight, value in zip(self.coefficients, features(evidence), strict=True))
        return logistic(math.fsum((self.intercept, *weighed)))


DEFAULT_MODEL = RelevanceModel(
    version="hand-set-2",
    intercept=-4.2,
    coefficients=(5.0, 1.55, 3.0, 1.5, 4.0, 3.0, 1.0),
)
"""Set by hand until the fitting command replaces it: a cosine of .5 with 60 % of the query's IDF mass is just a hit."""


def is_hit(best: float) -> bool:
    """Whether a query whose best item has this relevance counts as answered."""
    return best > HIT_THRESHOLD
