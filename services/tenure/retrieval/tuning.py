"""What is fitted on development data: the weights of the sources and the relevance model.

`tenure bench fit` prints new values; they are pasted here with their version, so that every change is reviewed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tenure.core.relevance import DEFAULT_MODEL, RelevanceModel
from tenure.retrieval.sources import Source

WEIGHTS: Mapping[str, float] = {
    Source.FILE.value: 1.3,
    Source.FILE_TITLE.value: 1.4,
    Source.CHUNK.value: 1.3,
    Source.CHUNK_TITLE.value: 1.3,
    Source.BEST_CHUNK_TITLE.value: 1.6,
    Source.COVERAGE_TITLE.value: 0.6,
    Source.PROFILE.value: 1.3,
    Source.EPISODE_TITLE.value: 1.1,
    Source.DENSE.value: 0.7,
    Source.PATH.value: 1.5,
    Source.DOTTED.value: 1.5,
    Source.IDENTIFIER.value: 0.8,
    Source.QUALIFIED.value: 0.8,
}
"""A source without a weight does not count."""
AUXILIARY_WEIGHT = 0.9
"""What files beside the product lose."""
WEIGHTS_VERSION = "localize-1"


@dataclass(frozen=True, slots=True)
class Tuning:
    """The weights of the sources and the relevance model that answers are made with."""

    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    auxiliary_weight: float = AUXILIARY_WEIGHT
    relevance: RelevanceModel = DEFAULT_MODEL
    version: str = WEIGHTS_VERSION
