"""Chunks: spans of one node that the embedding model can read whole."""

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tenure.code.embedding_cost import CHUNK_COST, cost
from tenure.core.memory import Node, NodeType

HEADER_COST = 0.45 * CHUNK_COST
"""What may stand before the text of a chunk: the larger half is for the text itself."""

MIN_FILL = 0.35
"""A cut at a statement leaves at least this share of the room filled; else the cut goes between two lines."""

MAX_PIECES_PER_LINE = 32
"""Chunks of one giant line; the rest of such a line is found by the file's own terms, not by its chunks."""

_CHARS_PER_COST = 1.5
"""Characters of a giant line that cost 1 at least: blobs cost about that, so no piece is over the bound."""


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before a chunk's text: the qualified name, signature and doc of its node, each '' if it has none."""

    name: str = ""
    signature: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text: rows from 0, inclusive; offsets in characters. `is_chunk` is unset for the rest of a giant line."""

    first_row: int
    last_row: int
    start: int
    end: int
    is_chunk: bool = True


@dataclass(frozen=True, slots=True)
class Lines:
    """A text with the offset of each of its lines and, at the end, its length (one more if the last line is open)."""

    text: str
    starts: Sequence[int]

    @staticmethod
    def of(text: str) -> "Lines":
        """The lines of a text whose line ends are LF."""
        starts = [0]
        append, find = starts.append, text.find
        position = find("\n")
        while position >= 0:
            append(position + 1)
            position = find("\n", position + 1)
        if starts[-1] != len(text):
            starts.append(len(text) + 1)
        return Lines(text, starts)

    @property
    def count(self) -> int:
        """How many lines an editor shows that hold text: a line end at the end begins no further one."""
        return len(self.starts) - 1

    def row(self, row: int) -> str:
        """One line without its end."""
        return self.text[self.starts[row] : self.starts[row + 1] - 1]

    def row_at(self, offset: int) -> int:
        """The row that holds a character."""
        return min(bisect.bisect_right(self.starts, offset) - 1, max(0, self.count - 1))


def header_of(node: Node) -> Header:
    """The header of a node's chunks. A file has no name there: equal texts in two files share one embedding."""
    signature, doc = node.metadata.get("signature", ""), node.metadata.get("doc", "")
    if node.type is NodeType.FILE:
        return Header("", "", doc)
    return Header(node.source.qualified_name or node.title, signature, doc)


def embedding_text(node: Node, text: str) -> str:
    """The text that is embedded for a chunk of `node` with this text: qualified name, signature, doc, then the text.

    It depends on nothing but its arguments, so it can be made again from the stored rows. Signature and doc are left
    out where the text itself shows them.
    """
    return embedded(header_of(node), text)


def embedded(header: Header, text: str) -> str:
    """The header, bounded, and the text below it."""
    signature = "" if header.signature in text else header.signature
    doc = "" if header.doc[:_DOC_SHOWN] in text else header.doc
    above = _bounded(header.name, signature, doc)
    return f"{above}\n{text}" if above else text


_DOC_SHOWN = 24
"""A text that shows this much of the doc's beginning shows the doc; more might stand on its next line."""


@lru_cache(maxsize=64)
def _bounded(name: str, signature: str, doc: str) -> str:
    """The lines that are not empty, the last ones shortened until they cost no more than `HEADER_COST`."""
    lines = [line for line in (name, signature, doc) if line]
    while lines and sum(map(len, lines)) > HEADER_COST and cost("\n".join(lines)) > HEADER_COST:
        shortened = lines.pop()
        if len(shortened) > 1:
            lines.append(shortened[: len(shortened) // 2])
    return "\n".join(lines)


Ranks = Mapping[int, int]
"""{row: rank} of the rows at which a cut does least harm: between these the lowest rank is the best."""


_SURELY_TOO_LONG = 20 * CHUNK_COST
"""Characters above which a text is cut without asking what it costs."""


def spans(lines: Lines, first_row: int, last_row: int, header: Header, factor: float, ranks: Ranks) -> list[Span]:
    """The rows cut into spans that fit the model under the header; blank lines at the edges of a span are left out.

    `factor` makes text of a kind that the estimate does not know cost more.
    """
    first_row, last_row = _trimmed(lines, first_row, last_row)
    if first_row > last_row:
        return []
    text = lines.text[lines.starts[first_row] : lines.starts[last_row + 1] - 1]
    if len(text) < _SURELY_TOO_LONG and factor * cost(embedded(header, text)) <= CHUNK_COST:
        return [_span(lines, first_row, last_row)]
    head = min(HEADER_COST, cost(f"{header.name}\n{header.signature}\n{header.doc}"))
    room = CHUNK_COST / factor - head
    return _cut(lines, first_row, last_row, room, ranks)


def _span(lines: Lines, first_row: int, last_row: int) -> Span:
    return Span(first_row, last_row, lines.starts[first_row], lines.starts[last_row + 1] - 1)


def _trimmed(lines: Lines, first_row: int, last_row: int) -> tuple[int, int]:
    while first_row <= last_row and not lines.row(first_row).strip():
        first_row += 1
    while last_row >= first_row and not lines.row(last_row).strip():
        last_row -= 1
    return first_row, last_row


def _cut(lines: Lines, first_row: int, last_row: int, room: float, ranks: Ranks) -> list[Span]:
    found: list[Span] = []
    costs = [cost(lines.row(row)) for row in range(first_row, last_row + 1)]
    begin, total, row = first_row, 0.0, first_row
    while row <= last_row:
        own = costs[row - first_row]
        if total + own <= room:
            total += own
            row += 1
            continue
        if row == begin:
            found += _pieces(lines, row, room)
            begin = row = row + 1
            total = 0.0
            continue
        begin, cut = _best_cut(costs, first_row, begin, row, room, ranks), begin
        _add(found, lines, cut, begin - 1)
        total = sum(costs[begin - first_row : row - first_row])
    _add(found, lines, begin, last_row)
    return found


def _best_cut(costs: Sequence[float], first_row: int, begin: int, end: int, room: float, ranks: Ranks) -> int:
    """The row in (begin, end] at which the next span begins: of the best rank, and of these the last."""
    filled, best, best_rank = 0.0, end, None
    for row in range(begin, end + 1):
        if row > begin and filled >= MIN_FILL * room:
            rank = ranks.get(row)
            if rank is not None and (best_rank is None or rank <= best_rank):
                best, best_rank = row, rank
        if row < end:
            filled += costs[row - first_row]
    return best


def _add(found: list[Span], lines: Lines, first_row: int, last_row: int) -> None:
    first_row, last_row = _trimmed(lines, first_row, last_row)
    if first_row <= last_row:
        found.append(_span(lines, first_row, last_row))


def _pieces(lines: Lines, row: int, room: float) -> list[Span]:
    """A line that is too long for one chunk, cut at columns: at a gap near the bound, else anywhere."""
    found: list[Span] = []
    position, end = lines.starts[row], lines.starts[row + 1] - 1
    while position < end and len(found) < MAX_PIECES_PER_LINE:
        stop = _piece_end(lines.text, position, end, room)
        if lines.text[position:stop].strip():
            found.append(Span(row, row, position, stop))
        position = stop
    if lines.text[position:end].strip():
        found.append(Span(row, row, position, end, is_chunk=False))
    return found


def _piece_end(text: str, position: int, end: int, room: float) -> int:
    size = max(1, int(room * _CHARS_PER_COST * 2))
    stop = min(end, position + size)
    while stop - position > 1 and cost(text[position:stop]) > room:
        stop = position + (stop - position) * 3 // 4
    if stop < end:
        gap = max(text.rfind(mark, position, stop) for mark in (" ", ",", ";", ">", "}"))
        if gap - position > (stop - position) // 2:
            return gap + 1
    return stop
