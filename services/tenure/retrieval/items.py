"""From ranked candidates to items: rows, relevance, factors, and the text of those that are shown."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tenure.core import decay, ranking, sparse
from tenure.core.context import ContextItem, RetrieveOptions
from tenure.core.ids import chunk_id, file_id
from tenure.core.memory import Chunk, MemoryKind, Node, NodeState, NodeType
from tenure.core.relevance import FEATURES, Evidence, RelevanceModel, features
from tenure.ports.records import FileState
from tenure.ports.repositories import UnitOfWork
from tenure.retrieval.evidence import FileEvidence
from tenure.retrieval.naming import NameEvidence
from tenure.retrieval.question import Masses, term_indices
from tenure.retrieval.ranking import Ranked
from tenure.retrieval.sources import Source

WHOLE_NODE_TOKENS = 400
"""A node up to this size is shown whole, a larger one by its best chunk."""
EVIDENCE = "evidence."
"""Begins the names of the parts that explain an item's relevance; they are no parts of its score."""
WHY_SHARE = 0.1
"""A source is named as a reason when it made at least this part of the score."""
WORDS = {
    Source.FILE.value: "file text",
    Source.FILE_TITLE.value: "file text (first line)",
    Source.CHUNK.value: "text",
    Source.CHUNK_TITLE.value: "text (first line)",
    Source.BEST_CHUNK_TITLE.value: "best passage (first line)",
    Source.COVERAGE_TITLE.value: "words of the first line together",
    Source.PROFILE.value: "history of the file",
    Source.EPISODE_TITLE.value: "past commits",
    Source.DENSE.value: "meaning",
    Source.PATH.value: "path named",
    Source.DOTTED.value: "module named",
    Source.IDENTIFIER.value: "name mentioned",
    Source.QUALIFIED.value: "qualified name mentioned",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows behind the candidates; `chunks` by node id."""

    nodes: Mapping[str, Node]
    files: Mapping[str, FileState]
    chunks: Mapping[str, Chunk]

    def chunk_shown(self, node: Node) -> Chunk | None:
        """The best chunk of a node that is too large to be shown whole, its first one where none matched."""
        return self.chunks.get(node.id) if node.token_count > WHOLE_NODE_TOKENS else None


async def load(work: UnitOfWork, node_ids: Sequence[str], evidence: FileEvidence) -> Rows:
    """These nodes, their files, and the chunks that matched best, for a large node that none matched its first one; rows
    that vanished meanwhile are simply missing.
    """
    nodes = await work.nodes.get_many(node_ids, with_content=False)
    owners = sorted({owner for node in nodes.values() if (owner := owner_of(node)) is not None})
    shown = {node.id: chunk_id(node.id, 0) for node in nodes.values() if node.token_count > WHOLE_NODE_TOKENS}
    shown |= {node: evidence.best_chunk[node] for node in nodes if node in evidence.best_chunk}
    chunks = {chunk.node_id: chunk for chunk in (await work.chunks.get_many(list(shown.values()))).values()}
    # All lines of a large file may stand in its definitions: then the first of those begins it.
    bare = [key for key in shown if key not in chunks and nodes[key].type is NodeType.FILE]
    chunks |= {file: own[0] for file, own in (await work.chunks.of_owners(bare)).items()}
    return Rows(nodes=nodes, files=await work.files.states_of(owners), chunks=chunks)


def owner_of(node: Node) -> str | None:
    """The id of the file that holds the node, None for commits and the like."""
    source = node.source
    if source.repository_id is None or source.path is None:
        return None
    return file_id(node.workspace_id, source.repository_id, source.path)


@dataclass(frozen=True, slots=True)
class Judge:
    """Says how relevant a candidate is, from absolute evidence only."""

    masses: Masses
    names: NameEvidence
    found: FileEvidence
    model: RelevanceModel

    def evidence(self, node: Node, chunk: Chunk | None) -> Evidence:
        """What speaks for the candidate."""
        if chunk is not None:
            present: Collection[int] = sparse.packed_indices(chunk.sparse)
        else:
            present = term_indices(f"{node.title} {node.content}")
        owner = owner_of(node) or ""
        matched, title = self.masses.shares(present)
        return Evidence(
            cosine=self.found.cosine.get(node.id),
            matched_idf_share=matched,
            title_share=title,
            exact_mention=self.names.exact.get(node.id, 0.0),
            path_mention=min(1.0, self.names.paths.get(owner, 0.0) + self.names.frames.get(owner, 0.0)),
            episode_similarity=self.found.episodes.get(node.id, 0.0),
        )

    def relevance(self, node: Node, chunk: Chunk | None) -> float:
        """How relevant it is, in [0, 1]."""
        return self.model.relevance(self.evidence(node, chunk))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate whose row is there, in its final place: `score` is the fused score times `factor`."""

    ranked: Ranked
    node: Node
    age_days: float
    is_stale: bool
    score: float
    factor: float


def in_order(
    ranked: Sequence[Ranked], rows: Rows, options: RetrieveOptions, stale_files: set[str], now: datetime
) -> list[Candidate]:
    """The candidates whose rows are there in their final order: fused score times bounded factors."""
    known = {one.node_id: one for one in ranked if one.node_id in rows.nodes}
    ages: dict[str, tuple[float, bool]] = {}
    ordering = []
    for one in ranked:
        key, node = one.node_id, rows.nodes.get(one.node_id)
        if node is None:
            continue
        is_stale = owner_of(node) in stale_files
        age = decay.age_days(now, node.last_used_at or node.created_at)
        is_current = node.kind is MemoryKind.SEMANTIC and not is_stale and node.state is NodeState.ACTIVE
        kept = 1.0 if is_current else decay.retention(node.kind, node.type, age, options.recency_decay)
        ages[key] = age, is_stale
        ordering.append((key, one.score, ranking.Signals(kept, node.confidence, node.weight, node.trust)))
    return [
        Candidate(known[key], rows.nodes[key], *ages[key], score, factor)
        for key, score, factor in ranking.order(ordering)
    ]


async def build(
    work: UnitOfWork,
    shown: Sequence[Candidate],
    rows: Rows,
    judge: Judge,
    count: Callable[[str], int],
    explains: bool,
) -> list[ContextItem]:
    """The items of the candidates that are shown, each with its text and that text's tokens, as `count` gives them: the
    whole node if it is small, else its best chunk.
    """
    owners = [owner_of(one.node) or "" for one in shown]
    texts = await work.files.texts(sorted({owner for owner in owners if owner}))
    lines = {owner: text.split("\n") for owner, text in texts.items()}
    return [
        _item(
            one,
            rows,
            judge,
            _text(one.node, rows.chunk_shown(one.node), texts.get(owner), lines.get(owner, ())),
            count,
            explains,
        )
        for one, owner in zip(shown, owners, strict=True)
    ]


def _item(
    candidate: Candidate, rows: Rows, judge: Judge, text: str, count: Callable[[str], int], explains: bool
) -> ContextItem:
    one, node = candidate.ranked, candidate.node
    seen = judge.evidence(node, rows.chunks.get(node.id))
    part = rows.chunk_shown(node)
    lines = part or node.source
    told = evidence_parts(seen) if explains else {}
    return ContextItem(
        id=node.id,
        type=node.type,
        kind=node.kind,
        title=node.title,
        text=text,
        token_count=count(text),
        score=candidate.score,
        relevance=judge.model.relevance(seen),
        parts={**one.parts, **told, "factor": candidate.factor},
        why=(*reasons(one.parts), *one.ways),
        trust=node.trust,
        state=node.state,
        age_days=round(candidate.age_days, 3),
        is_stale=candidate.is_stale,
        created_at=node.created_at,
        repository_id=node.source.repository_id,
        path=node.source.path,
        qualified_name=node.source.qualified_name,
        line=node.metadata.get("line", node.source.start_line),
        start_line=lines.start_line,
        end_line=lines.end_line,
        content_hash=node.source.content_hash,
        commit=node.source.commit,
    )


def _text(node: Node, chunk: Chunk | None, text: str | None, lines: Sequence[str]) -> str:
    source = node.source
    if text is not None and chunk is not None:
        return text[chunk.start_offset : chunk.end_offset]
    if text is None or source.start_line is None or source.end_line is None:
        return node.content
    return "\n".join(lines[source.start_line - 1 : source.end_line])


def evidence_parts(seen: Evidence) -> dict[str, float]:
    """The evidence behind a relevance as parts of an explained item, named `evidence.<feature>`."""
    return {f"{EVIDENCE}{name}": value for name, value in zip(FEATURES, features(seen), strict=True)}


def reasons(parts: Mapping[str, float]) -> tuple[str, ...]:
    """The sources that made a telling part of a score, in words, the strongest first."""
    total = sum(value for value in parts.values() if value > 0) or 1.0
    telling = sorted((-value, name) for name, value in parts.items() if value >= WHY_SHARE * total)
    return tuple(WORDS.get(name, name) for value, name in telling if value < 0)
