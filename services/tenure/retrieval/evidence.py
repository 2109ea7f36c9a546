"""From raw hits to comparable evidence: scores per file and per node. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tenure.core.context import FusionMethod
from tenure.core.fusion import Fused, fuse, normalise
from tenure.ports.vector_store import Hit
from tenure.retrieval.naming import NameEvidence
from tenure.retrieval.sources import Answers, Source

BEST_CHUNKS = 3
"""A file's chunk score is the sum of so many of its best chunks: one lucky chunk is no subject."""
_BY_FILE = (Source.FILE, Source.FILE_TITLE, Source.PROFILE, Source.PROFILE_TITLE)
_BY_CHUNK = (Source.CHUNK, Source.CHUNK_TITLE, Source.DENSE)
_BY_EPISODE = (Source.EPISODE, Source.EPISODE_TITLE)


@dataclass(slots=True)
class FileEvidence:
    """Scores of every source by file id, and what is needed to place nodes inside their files.

    `nodes` are scores by node id of the sources that see nodes; `owner` gives each node's file; `best_chunk` is the
    chunk of a node that matched best; `episodes` are scores of commits as items of their own.
    """

    files: dict[Source, dict[str, float]] = field(default_factory=dict)
    nodes: dict[Source, dict[str, float]] = field(default_factory=dict)
    owner: dict[str, str] = field(default_factory=dict)
    best_chunk: dict[str, str] = field(default_factory=dict)
    cosine: dict[str, float] = field(default_factory=dict)
    episodes: dict[str, float] = field(default_factory=dict)


def gather(answers: Answers, names: NameEvidence) -> FileEvidence:
    """All evidence of one question."""
    evidence = FileEvidence()
    for source in _BY_FILE:
        evidence.files[source] = _best(answers.hits.get(source, ()))
    for source in _BY_CHUNK:
        hits = answers.hits.get(source, ())
        evidence.files[source] = _sum_of_best(hits)
        evidence.nodes[source] = _note_chunks(evidence, hits)
    for hit in answers.hits.get(Source.DENSE, ()):
        evidence.cosine[hit.node_id] = max(evidence.cosine.get(hit.node_id, -1.0), hit.score)
    for source in _BY_EPISODE:
        evidence.files[source] = _through_episodes(answers.hits.get(source, ()), answers.touched)
    evidence.episodes = _episode_scores(answers)
    evidence.files[Source.PATH] = dict(names.paths)
    evidence.files[Source.FRAME] = dict(names.frames)
    evidence.files[Source.IDENTIFIER] = dict(names.identifiers)
    evidence.files[Source.QUALIFIED] = dict(names.qualified)
    evidence.nodes[Source.IDENTIFIER] = dict(names.nodes)
    return evidence


def rank_files(evidence: FileEvidence, weights: Mapping[str, float], method: FusionMethod) -> list[Fused]:
    """Files by fused score, with the parts of each source."""
    known = {source.value: scores for source, scores in evidence.files.items() if weights.get(source.value, 0.0) > 0}
    return fuse(known, weights, method)


def node_scores(evidence: FileEvidence, weights: Mapping[str, float]) -> dict[str, float]:
    """How well each node matches by itself: the sources that see nodes, each divided by its maximum, weighted."""
    total: dict[str, float] = defaultdict(float)
    for source, scores in evidence.nodes.items():
        weight = weights.get(source.value, 0.0)
        for node, share in normalise(scores).items():
            total[node] += weight * share
    return dict(total)


def _best(hits: Iterable[Hit]) -> dict[str, float]:
    best: dict[str, float] = {}
    for hit in hits:
        best[hit.owner_id] = max(best.get(hit.owner_id, 0.0), hit.score)
    return best


def _sum_of_best(hits: Iterable[Hit]) -> dict[str, float]:
    scores: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        scores[hit.owner_id].append(max(hit.score, 0.0))
    return {owner: sum(sorted(found, reverse=True)[:BEST_CHUNKS]) for owner, found in scores.items()}


def _note_chunks(evidence: FileEvidence, hits: Iterable[Hit]) -> dict[str, float]:
    best: dict[str, float] = {}
    for hit in hits:
        evidence.owner[hit.node_id] = hit.owner_id
        evidence.best_chunk.setdefault(hit.node_id, hit.point_id)
        best[hit.node_id] = max(best.get(hit.node_id, 0.0), hit.score)
    return best


def _through_episodes(hits: Iterable[Hit], touched: Mapping[str, list[tuple[str, float]]]) -> dict[str, float]:
    """Commits hand their score to the files they touched, weighted by the edge (one over the root of their number)."""
    scores: dict[str, float] = defaultdict(float)
    for hit in hits:
        for file, weight in touched.get(hit.node_id, ()):
            scores[file] += hit.score * weight
    return dict(scores)


def _episode_scores(answers: Answers) -> dict[str, float]:
    scores: dict[str, float] = defaultdict(float)
    for source in _BY_EPISODE:
        for hit in answers.hits.get(source, ()):
            scores[hit.node_id] += hit.score
    return normalise(scores)
