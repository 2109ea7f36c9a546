"""Chunks: spans of one node that the embedding model can read whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from tenure.code.embedding_cost import CHUNK_COST, cost, is_within, row_costs
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
    """A text with the offset of each of its lines and, at the end, its length (one more if the last line is open).

    `costs` says what each line costs the embedding model, 0 for a blank one.
    """

    text: str
    starts: Sequence[int]
    costs: Sequence[float]

    @staticmethod
    def of(text: str) -> "Lines":
        """The lines of a text whose line ends are LF."""
        sizes = [len(row) + 1 for row in text.split("\n")]
        return Lines(text, [0, *accumulate(sizes[: line_count(text)])], row_costs(text))

    @property
    def count(self) -> int:
        """`line_count` of the text."""
        return len(self.starts) - 1


def line_count(text: str) -> int:
    """How many lines an editor shows that hold text: a line end at the end begins no further one."""
    return text.count("\n") + (text[-1:] not in ("", "\n"))


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
    above = _above(header, text)
    return f"{above}\n{text}" if above else text


def _above(header: Header, text: str) -> str:
    """What stands above the text: the header, bounded, without what the text shows."""
    signature = "" if header.signature in text else header.signature
    doc = "" if header.doc[:_DOC_SHOWN] in text else header.doc
    return _bounded(header.name, signature, doc)


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


def spans(lines: Lines, first_row: int, last_row: int, header: Header, factor: float, ranks: Ranks) -> list[Span]:
    """The rows cut into spans that fit the model under the header; blank lines at the edges of a span are left out.

    `factor` makes text of a kind that the estimate does not know cost more.
    """
    first_row, last_row = _trimmed(lines, first_row, last_row)
    if first_row > last_row:
        return []
    whole = _span(lines, first_row, last_row)
    left = CHUNK_COST / factor - sum(lines.costs[first_row : last_row + 1])
    if left >= 0 and is_within(_above(header, lines.text[whole.start : whole.end]), left):
        return [whole]
    head = min(HEADER_COST, cost(f"{header.name}\n{header.signature}\n{header.doc}"))
    room = CHUNK_COST / factor - head
    return _cut(lines, first_row, last_row, room, ranks)


def _span(lines: Lines, first_row: int, last_row: int) -> Span:
    return Span(first_row, last_row, lines.starts[first_row], lines.starts[last_row + 1] - 1)


def _trimmed(lines: Lines, first_row: int, last_row: int) -> tuple[int, int]:
    while first_row <= last_row and not lines.costs[first_row]:
        first_row += 1
    while last_row >= first_row and not lines.costs[last_row]:
        last_row -= 1
    return first_row, last_row


def _cut(lines: Lines, first_row: int, last_row: int, room: float, ranks: Ranks) -> list[Span]:
    found: list[Span] = []
    costs = lines.costs[first_row : last_row + 1]
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
