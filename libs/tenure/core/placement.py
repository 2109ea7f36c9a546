"""Where nodes stand in one order with the files that hold them.

Files are ranked by evidence that only whole files have (their history, their name, all their text); which part of a
file answers is decided by what the parts have of their own. The best node of a file takes the file's whole score, the
others less, so the order of files by their first node is the order of the files.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

WITHIN_FILE_FLOOR = 0.3
"""Share of its file's score that a node without evidence of its own would keep."""


class Placed(NamedTuple):
    """A node with its score and the file it belongs to."""

    node_id: str
    file_id: str
    score: float


def place(file_scores: Mapping[str, float], node_scores: Mapping[str, float], owner: Mapping[str, str]) -> list[Placed]:
    """Every scored node below its file, best first, ties by id. A file none of whose nodes is scored stands for itself."""
    by_file: dict[str, list[tuple[str, float]]] = {file: [] for file in file_scores}
    for node, score in node_scores.items():
        if owner.get(node) in by_file:
            by_file[owner[node]].append((node, score))
    placed: list[Placed] = []
    for file, score in file_scores.items():
        placed.extend(_within(file, score, by_file[file]))
    return sorted(placed, key=lambda one: (-one.score, one.node_id))


def _within(file: str, score: float, nodes: Sequence[tuple[str, float]]) -> list[Placed]:
    best = max((own for _, own in nodes), default=0.0)
    if best <= 0:
        return [Placed(file, file, score)]
    spread = 1.0 - WITHIN_FILE_FLOOR
    return [Placed(node, file, score * (WITHIN_FILE_FLOOR + spread * own / best)) for node, own in nodes]
