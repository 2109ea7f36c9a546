"""What is fitted on development data: the weights of the sources and the relevance model.

`tenure bench fit` prints new values; they are pasted here with its version line, so that every change is reviewed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tenure.core.relevance import DEFAULT_MODEL, RelevanceModel
from tenure.retrieval.sources import Source

WEIGHTS: Mapping[str, float] = {
    Source.FILE_TITLE.value: 2.8,
    Source.CHUNK_TITLE.value: 2.5,
    Source.CHUNK.value: 1.9,
    Source.PATH.value: 1.7,
    Source.FILE.value: 1.7,
    Source.PROFILE.value: 1.2,
    Source.PRIOR.value: 0.9,
    Source.IDENTIFIER.value: 0.6,
    Source.QUALIFIED.value: 0.6,
    Source.FRAME.value: 1.0,
    Source.PROFILE_TITLE.value: 0.6,
    Source.EPISODE.value: 0.3,
    Source.EPISODE_TITLE.value: 0.3,
}
"""Sources without a weight are not asked for in the sum."""
WEIGHTS_VERSION = "findings-1"


@dataclass(frozen=True, slots=True)
class Tuning:
    """The weights of the sources and the relevance model that answers are made with."""

    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    relevance: RelevanceModel = DEFAULT_MODEL
    version: str = WEIGHTS_VERSION
