"""From evidence to one order of nodes: files first, then what inside them answers. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tenure.core.fusion import Fused, normalise
from tenure.core.memory import NodeType
from tenure.core.placement import NodeMatch, node_score
from tenure.ports.records import NodePlace
from tenure.retrieval.evidence import FileEvidence
from tenure.retrieval.naming import AskedNames, NameEvidence, is_asked_for
from tenure.retrieval.question import Masses, Question, term_indices
from tenure.retrieval.sources import Source

FILES_PLACED = 30
"""Best files whose nodes are placed; nodes of others can't reach the answer."""
EPISODE_SHARE = 0.4
"""A commit that matches best stands at this share of the score of the best node that merely matches."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in order: `parts` say what made its file's score, `ways` how the graph led here. `is_asked_for`: the
    question is nothing but its name.
    """

    node_id: str
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    ways: tuple[str, ...] = ()
    is_asked_for: bool = False


def nodes_to_place(files: Sequence[Fused], evidence: FileEvidence, names: NameEvidence) -> list[str]:
    """The nodes that may stand in the answer: those that matched or are named in the best files, and the files."""
    best = {file.key for file in files[:FILES_PLACED]}
    matched = [node for node, owner in evidence.owner.items() if owner in best]
    return list(dict.fromkeys([*matched, *names.exact, *best]))


def rank_nodes(
    nodes: Iterable[NodePlace],
    files: Sequence[Fused],
    evidence: FileEvidence,
    names: NameEvidence,
    asked: AskedNames,
    question: Question,
    masses: Masses,
) -> list[Ranked]:
    """Nodes by score, ties by id. A file stands for itself only if nothing in it matched."""
    place = {file.key: rank for rank, file in enumerate(files[:FILES_PLACED])}
    parts = {file.key: file.parts for file in files}
    text, title = normalise(evidence.nodes[Source.CHUNK]), normalise(evidence.nodes[Source.CHUNK_TITLE])
    meaning = normalise(evidence.nodes[Source.DENSE])
    covered = set(evidence.owner.values())
    ranked = []
    for node in nodes:
        owner, qualified = node.owner_id, node.qualified_name or ""
        simple = qualified.rpartition(".")[2]
        is_whole_question = is_asked_for(question, node)
        is_covered = node.id == owner and node.id not in text and owner in covered and not is_whole_question
        if owner is None or is_covered or (owner not in place and not is_whole_question):
            continue
        named = term_indices(qualified) if node.type is not NodeType.FILE else frozenset[int]()
        named_share, title_share = masses.shares(named)
        outer = qualified.rpartition(".")[0].rpartition(".")[2]
        match = NodeMatch(
            text=text.get(node.id, 0.0),
            title_text=title.get(node.id, 0.0),
            meaning=meaning.get(node.id, 0.0),
            name_share=named_share,
            title_name_share=title_share,
            frame=names.framed_functions.get(simple, 0.0),
            lines=(node.end_line or 1) - (node.start_line or 1) + 1,
            is_class=node.type is NodeType.CLASS,
            is_both_named=bool(outer) and outer in asked.words and simple in asked.words,
            is_whole_question=is_whole_question,
        )
        score = node_score(place.get(owner, FILES_PLACED), match)
        ranked.append(Ranked(node.id, score, parts.get(owner, {}), is_asked_for=is_whole_question))
    return sorted(ranked, key=lambda one: (-one.score, one.node_id))


def with_episodes(ranked: Sequence[Ranked], evidence: FileEvidence) -> list[Ranked]:
    """The nodes with the commits that are like the question among them, below what is asked for by its name."""
    share = EPISODE_SHARE * max((one.score for one in ranked if not one.is_asked_for), default=1.0)
    episodes = [
        Ranked(commit, share * score, {Source.EPISODE_TITLE.value: share * score})
        for commit, score in evidence.episodes.items()
    ]
    return sorted([*ranked, *episodes], key=lambda one: (-one.score, one.node_id))
