"""From raw hits to comparable evidence: scores per file and per node. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from tenure.core.context import FusionMethod
from tenure.core.fusion import Fused, best_first, normalise, scored
from tenure.ports.vector_store import Hit
from tenure.retrieval.naming import NameEvidence
from tenure.retrieval.question import IdfMass
from tenure.retrieval.sources import Answers, Source

BEST_CHUNKS = 3
"""A file's chunk score is the sum of so many of its best chunks: one lucky chunk is no subject."""
AUXILIARY_PENALTY = "auxiliary"
"""The part of a score that is taken off files beside the product: examples, documents, vendored code, scripts."""
MOST_LOST = 0.9
"""They keep at least the rest of their score: they answer when nothing else does."""
_AUXILIARY = re.compile(
    r"^(?:examples?|docs?|benchmarks?|asv_bench|bin|tools|build_tools|release|galleries|scripts|tutorials|ci)/"
    r"|^[^/]+\.py$"
    r"|/(?:examples?|_?externals?|extern|vendor|packages|vendored)/"
    r"|\.(?:md|rst|txt|po|json|ya?ml|toml|cfg|ini|html|css|csv|svg|xml|lock)$"
)


@dataclass(slots=True)
class FileEvidence:
    """Scores of every source by file id, and what is needed to place nodes inside their files.

    `nodes` are scores by node id of the sources that see chunks; `owner` gives each node's file; `best_chunk` is the
    chunk of a node that matched best; `episodes` are scores of commits as items of their own, in [0, 1]; `paths` the
    paths of the files that a search brought.
    """

    files: dict[Source, dict[str, float]] = field(default_factory=dict)
    nodes: dict[Source, dict[str, float]] = field(default_factory=dict)
    owner: dict[str, str] = field(default_factory=dict)
    best_chunk: dict[str, str] = field(default_factory=dict)
    cosine: dict[str, float] = field(default_factory=dict)
    episodes: dict[str, float] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)


def gather(answers: Answers, names: NameEvidence, title_mass: IdfMass) -> FileEvidence:
    """All evidence of one question, whose first line has this mass."""
    evidence = FileEvidence()
    for source in (Source.FILE, Source.FILE_TITLE, Source.PROFILE):
        evidence.files[source] = _best(answers.hits.get(source, ()))
    for source in (Source.CHUNK, Source.CHUNK_TITLE, Source.DENSE):
        hits = answers.hits.get(source, ())
        evidence.files[source] = _sum_of_best(hits)
        evidence.nodes[source] = _note_chunks(evidence, hits)
    evidence.files[Source.BEST_CHUNK_TITLE] = _best(answers.hits.get(Source.CHUNK_TITLE, ()))
    evidence.cosine = {hit.node_id: hit.score for hit in reversed(answers.hits.get(Source.DENSE, ()))}
    episodes = answers.hits.get(Source.EPISODE_TITLE, ())
    evidence.files[Source.EPISODE_TITLE] = _through_episodes(episodes, answers.touched)
    evidence.files[Source.COVERAGE_TITLE] = title_coverage(title_mass, answers.terms)
    evidence.episodes = normalise({hit.node_id: hit.score for hit in episodes})
    evidence.files[Source.PATH] = dict(names.paths)
    evidence.files[Source.DOTTED] = dict(names.dotted)
    evidence.files[Source.IDENTIFIER] = dict(names.identifiers)
    evidence.files[Source.QUALIFIED] = dict(names.qualified)
    evidence.paths = {hit.owner_id: hit.path for hits in answers.hits.values() for hit in hits if hit.path}
    return evidence


def title_coverage(title_mass: IdfMass, chunks: Iterable[tuple[str, Sequence[int]]]) -> dict[str, float]:
    """By file: the largest share of the first line's idf mass that one of its chunks, (file, terms), holds."""
    best: dict[str, float] = {}
    for owner, terms in chunks:
        best[owner] = max(best.get(owner, 0.0), title_mass.share(terms))
    return best


def rank_files(
    evidence: FileEvidence, weights: Mapping[str, float], auxiliary_weight: float, method: FusionMethod
) -> list[Fused]:
    """Files by fused score, with the parts of each source. Files beside the product lose `auxiliary_weight`."""
    known = {source.value: scores for source, scores in evidence.files.items() if weights.get(source.value, 0.0) > 0}
    return best_first(
        _without(fused, auxiliary_weight) if _is_auxiliary(evidence.paths.get(fused.key, "")) else fused
        for fused in scored(known, weights, method)
    )


@lru_cache(maxsize=1 << 15)
def _is_auxiliary(path: str) -> bool:
    return _AUXILIARY.search(path) is not None


def _without(fused: Fused, weight: float) -> Fused:
    loss = min(weight, MOST_LOST * fused.score)
    return Fused(fused.key, fused.score - loss, {**fused.parts, AUXILIARY_PENALTY: -loss})


# Hits come best first, so the first of an owner or a node is its best, and the last in reverse.


def _best(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.owner_id: max(hit.score, 0.0) for hit in reversed(hits)}


def _sum_of_best(hits: Sequence[Hit]) -> dict[str, float]:
    scores: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        scores[hit.owner_id].append(max(hit.score, 0.0))
    return {owner: sum(found[:BEST_CHUNKS]) for owner, found in scores.items()}


def _note_chunks(evidence: FileEvidence, hits: Sequence[Hit]) -> dict[str, float]:
    best: dict[str, float] = {}
    for hit in hits:
        evidence.owner[hit.node_id] = hit.owner_id
        evidence.best_chunk.setdefault(hit.node_id, hit.point_id)
        best.setdefault(hit.node_id, max(hit.score, 0.0))
    return best


def _through_episodes(hits: Iterable[Hit], touched: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, float]:
    """Commits hand their score to the files they touched, weighted by the edge (one over the root of their number)."""
    scores: dict[str, float] = defaultdict(float)
    for hit in hits:
        for file, weight in touched.get(hit.node_id, ()):
            scores[file] += hit.score * weight
    return dict(scores)
