"""Where nodes stand in one order with the files that hold them.

Which file answers is decided by evidence that only whole files have (their history, their name, all their text); which
part of it by what the parts have of their own. Both meet in one sum: a bonus for the rank of the file, and the node's
own match by text and by name. The weights were chosen on the development data (docs/benchmarks.md).
"""

import math
from typing import NamedTuple

FILE_RANK_WEIGHT = 1.7
"""The best file's nodes get this, the second's half, the third's a third."""
TEXT_WEIGHT, TITLE_TEXT_WEIGHT, MEANING_WEIGHT = 3.5, 2.0, 1.0
"""The node's best chunk against the whole question, against its first line, and by meaning, each over its maximum."""
NAME_WEIGHT, TITLE_NAME_WEIGHT = 4.5, 1.5
"""The share of the question's idf mass, and of its first line's, that stands in the node's qualified name."""
BOTH_NAMED_WEIGHT = 1.0
"""The question names the node and what encloses it."""
FRAME_WEIGHT = 1.3
"""The node is a function of the stack trace, less the farther from its end."""
LENGTH_WEIGHT = 0.1
"""Per logarithm of its lines: longer functions hold more faults."""
CLASS_PENALTY = 1.3
"""A class answers only if it matches better than its methods."""
EXACT_NAME_WEIGHT = 18.0
"""The question is nothing but the name of the node: more than all the rest together can give."""


class NodeMatch(NamedTuple):
    """What a node has of its own; shares and matches lie in [0, 1]."""

    text: float = 0.0
    title_text: float = 0.0
    meaning: float = 0.0
    name_share: float = 0.0
    title_name_share: float = 0.0
    frame: float = 0.0
    lines: int = 1
    is_class: bool = False
    is_both_named: bool = False
    is_whole_question: bool = False


def node_score(file_rank: int, match: NodeMatch) -> float:
    """The node's place in the order, 0 or more; `file_rank` counts from 0."""
    score = (
        FILE_RANK_WEIGHT / (1 + file_rank)
        + TEXT_WEIGHT * match.text
        + TITLE_TEXT_WEIGHT * match.title_text
        + MEANING_WEIGHT * match.meaning
        + NAME_WEIGHT * match.name_share
        + TITLE_NAME_WEIGHT * match.title_name_share
        + BOTH_NAMED_WEIGHT * match.is_both_named
        + FRAME_WEIGHT * match.frame
        + LENGTH_WEIGHT * math.log1p(max(0, match.lines))
        + EXACT_NAME_WEIGHT * match.is_whole_question
        - CLASS_PENALTY * (match.is_class and not match.is_whole_question)
    )
    return max(0.0, score)
