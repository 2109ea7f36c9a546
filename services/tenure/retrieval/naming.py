"""What the question names, as evidence for files and nodes. Pure.

A name shared by many definitions says little about each, so its weight is divided among them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tenure.core.ids import file_id
from tenure.core.memory import Node
from tenure.retrieval.question import Question
from tenure.retrieval.sources import Named, split_name

MAX_DEFINITIONS = 20
"""A name with more definitions in the workspace (`get`, `run`) names none of them."""
FRAME_DECAY = 0.85
"""A stack frame counts this much of the frame below it: the last frame is nearest to the fault."""
MODULE_WEIGHT = 0.5
"""A dotted module names its file with half the weight of a path: it is often only where something was imported."""
MIN_NAME_CHARS = 3
"""Shorter names are words."""


@dataclass(slots=True)
class NameEvidence:
    """Scores by file id and by node id; `exact` are nodes that the question names by an unambiguous or whole name."""

    paths: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    frames: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    identifiers: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    qualified: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    nodes: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    exact: dict[str, float] = field(default_factory=dict)


def name_evidence(question: Question, named: Named, wants_tests: bool) -> NameEvidence:
    """What the names in the question say for files and nodes."""
    evidence = NameEvidence()
    files = [(found, path) for found, _, path, is_test in named.files if wants_tests or not is_test]
    _paths(question, files, evidence)
    _frames(question, files, evidence)
    _identifiers(question, named.definitions, evidence)
    return evidence


def _paths(question: Question, files: Sequence[tuple[str, str]], evidence: NameEvidence) -> None:
    for mention in question.mentions.paths:
        matches = _matching(mention.path, files)
        for found in matches:
            evidence.paths[found] += 1 / len(matches)
    for module in question.mentions.modules:
        matches = _module_files(module, files)
        for found in matches:
            evidence.paths[found] += MODULE_WEIGHT / len(matches)


def _frames(question: Question, files: Sequence[tuple[str, str]], evidence: NameEvidence) -> None:
    for distance, frame in enumerate(reversed(question.mentions.frames)):
        matches = _matching(frame.path, files)
        for found in matches:
            evidence.frames[found] = max(evidence.frames[found], FRAME_DECAY**distance / len(matches))


def _identifiers(question: Question, definitions: Mapping[str, Sequence[Node]], evidence: NameEvidence) -> None:
    mentions = question.mentions
    names = [*mentions.identifiers, *(frame.function for frame in mentions.frames if frame.function)]
    if question.is_one_line and " " not in question.text:
        names.append(question.text)
    words = {part for name in names for part in split_name(name)}
    for word in sorted(words):
        nodes = definitions.get(word, ())
        if len(word) < MIN_NAME_CHARS or not nodes:
            continue
        owners = {_owner(node) for node in nodes}
        if len(owners) > MAX_DEFINITIONS:
            continue
        for owner in owners:
            evidence.identifiers[owner] += 1 / len(owners)
        for node in nodes:
            evidence.nodes[node.id] += 1 / len(nodes)
            evidence.exact[node.id] = max(evidence.exact.get(node.id, 0.0), 1 / len(owners) ** 0.5)
    _qualified(words, names, definitions, evidence)


def _qualified(
    words: set[str], names: Iterable[str], definitions: Mapping[str, Sequence[Node]], evidence: NameEvidence
) -> None:
    """`Class.method` written so, or both names somewhere in the text."""
    dotted = {".".join(split_name(name)) for name in names}
    for nodes in definitions.values():
        for node in nodes:
            whole = node.source.qualified_name or ""
            outer = whole.rpartition(".")[0].rpartition(".")[2]
            if whole in dotted or any(name.endswith(f".{whole}") for name in dotted):
                evidence.exact[node.id] = 1.0
                evidence.qualified[_owner(node)] += 1.0
                evidence.nodes[node.id] += 1.0
            elif outer and outer in words:
                evidence.qualified[_owner(node)] += 1 / len(nodes)
                evidence.nodes[node.id] += 1 / len(nodes)


def _owner(node: Node) -> str:
    return file_id(node.workspace_id, node.source.repository_id or "", node.source.path or "")


def _matching(path: str, files: Sequence[tuple[str, str]]) -> list[str]:
    """Files that share the longest tail of path parts with `path`; one shared part counts only if it is unambiguous."""
    parts = PurePosixPath(path).parts
    best, matches = 0, list[str]()
    for found, candidate in files:
        shared = _shared_tail(parts, PurePosixPath(candidate).parts)
        if shared > best:
            best, matches = shared, [found]
        elif shared == best and best:
            matches.append(found)
    return matches if best > 1 or len(matches) == 1 else []


def _shared_tail(one: Sequence[str], other: Sequence[str]) -> int:
    shared = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        shared += 1
    return shared


def _module_files(module: str, files: Sequence[tuple[str, str]]) -> list[str]:
    """Files that are this module, or the module that holds its last name."""
    whole = module.replace(".", "/")
    tails = (f"{whole}.py", f"{whole}/__init__.py")
    return [found for found, path in files if any(f"/{path}".endswith(f"/{tail}") for tail in tails)]
