"""A long question taken apart: its first line, its prose, and the code pasted into it. Pure.

What comes first in an issue says most; tracebacks and examples at its end name half the project. So terms count less
the later they stand, pasted code counts half, and the first line three times.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from tenure.code.identifiers import term_spans
from tenure.core.sparse import term_index

TITLE_WEIGHT, PROSE_WEIGHT, CODE_WEIGHT = 3.0, 1.0, 0.5
"""What one occurrence counts in the first line, in prose and in pasted code."""
HALVING_CHARS = 300.0
"""After so many characters of prose (or of code) an occurrence counts half, after twice as many a third, and so on."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<details>.*?(?:</details>|\Z)", re.DOTALL)
_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_CODE_LINE = re.compile(r"[ \t]*(?:>>>|\.\.\. |In \[|Out\[|File \"|from \w|import \w|    |\t)")


@dataclass(frozen=True, slots=True)
class Segments:
    """The parts of a question: `title` is its first line, `prose` and `code` what follows."""

    title: str
    prose: str
    code: str


def segments(text: str) -> Segments:
    """The parts of a text; template comments are dropped."""
    text = _COMMENT.sub(" ", text).strip()
    title, _, body = text.partition("\n")
    code = [match[0] for match in _FENCE.finditer(body)]
    prose: list[str] = []
    for line in _FENCE.sub(" ", body).split("\n"):
        (code if _CODE_LINE.match(line) else prose).append(line)
    return Segments(title.strip(), "\n".join(prose), "\n".join(code))


def term_mass(parts: Segments) -> Mapping[int, float]:
    """How much each term is talked about, by term index."""
    mass: dict[int, float] = defaultdict(float)
    for term, _ in term_spans(parts.title):
        mass[term_index(term)] += TITLE_WEIGHT
    for text, weight in ((parts.prose, PROSE_WEIGHT), (parts.code, CODE_WEIGHT)):
        for term, position in term_spans(text):
            mass[term_index(term)] += weight / (1.0 + position / HALVING_CHARS)
    return mass
