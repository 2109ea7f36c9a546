"""Broken Python in pieces: what the parser lost behind an error is read again, from a line where a definition begins."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import tree_sitter

from tenure.core.memory import NodeType

_HEADER = re.compile(
    rb"^(?:(@)|(?:async[ \t]++)?(?:def[ \t]++[\w\x80-\xff]++[ \t]*+[(\[]|class[ \t]++[\w\x80-\xff]++[ \t]*+[(\[:]))",
    re.MULTILINE,
)
"""A line of column 0 that begins a definition; the group is that of a decorator."""

_TEXT = re.compile(
    rb"#[^\n]*+"
    rb"|(?P<closed>\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*+\"\"\"|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*+\'\'\')"
    rb"|(?P<open>\"\"\"|\'\'\')"
    rb"|\"(?:[^\"\\\n]|\\.)*+\"?|\'(?:[^\'\\\n]|\\.)*+\'?",
    re.DOTALL,
)
"""Comments and strings. Behind an error the tree's own strings begin and end anywhere."""

MAX_PIECES = 2_000
"""Pieces of one file that are read again; each costs a call of the parser, all together at most the file twice more."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition as written. Bytes index the source; rows count from 0; `start` includes decorators."""

    type: NodeType
    name: str
    form: str
    start_byte: int
    end_byte: int
    start_row: int
    end_row: int
    name_row: int
    signature: str
    doc: str


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a piece lies: bytes [start, end), rows likewise. `header` is where its first definition begins behind the
    decorators, and `header_row` the row of that; both are -1 if it has none. `is_text` if that may stand in a string.
    """

    start: int
    end: int
    start_row: int
    end_row: int
    header: int
    header_row: int
    is_text: bool

    def attempts(self) -> "tuple[Cut, ...]":
        """The cut, and the one without its decorators, which may be what is broken."""
        bare = replace(self, start=self.header, start_row=self.header_row)
        return (self,) if self.start == self.header else (self, bare)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece read on its own; offsets and rows are those of the whole source."""

    cut: Cut
    root: tree_sitter.Node
    definitions: Sequence[Definition]
    statements: Mapping[int, int]
    is_wrecked: bool


Read = Callable[[Cut], Piece | None]
"""Reads a piece, None once the time for the file is over."""


def recover(source: bytes, known: Sequence[Definition], is_wrecked: bool, read: Read) -> list[Piece]:
    """The pieces, in source order, that say more on their own than the tree of the whole does, which has errors.

    Those whose first definition is not `known` at the top, and the ones before them, in which the error is; every piece
    if the whole is wrecked. None knows less than `known` does of its stretch.
    """
    every = cuts_of(source)
    top = _top_rows(known)
    lost = [n for n, cut in enumerate(every) if cut.header_row >= 0 and (is_wrecked or cut.header_row not in top)]
    lost = lost[:MAX_PIECES]
    rows = sorted(definition.name_row for definition in known)
    taken: dict[int, Piece] = {}
    for n, cut in [(at, cut) for at in lost for cut in every[at].attempts()]:
        if n in taken:
            continue
        piece = read(cut)
        if piece is None:
            break
        if _is_headed(piece) and _knows(piece, rows):
            taken[n] = piece
    for n in [n - 1 for n in taken if n > 0 and n - 1 not in taken]:
        piece = read(every[n])
        if piece is not None and _knows(piece, rows):
            taken[n] = piece
    return [taken[n] for n in sorted(taken)]


def cuts_of(source: bytes) -> list[Cut]:
    """The source cut before each line of column 0 that begins a definition; a decorator stays with what it decorates."""
    starts: list[tuple[int, int, bool]] = [(0, -1, False)]
    is_decorator = False
    for match, is_text in _headers(source):
        start = starts.pop()[0] if is_decorator else match.start()
        starts.append((start, match.start(), is_text))
        is_decorator = match[1] is not None
    cuts = []
    row = 0
    for n, (start, header, is_text) in enumerate(starts):
        end = starts[n + 1][0] if n + 1 < len(starts) else len(source)
        end_row = row + source.count(b"\n", start, end)
        header_row = row + source.count(b"\n", start, header) if header >= 0 else -1
        is_last_row_open = end == len(source) and not source.endswith(b"\n")
        cuts.append(Cut(start, end, row, end_row + is_last_row_open, header, header_row, is_text))
        row = end_row
    return [cut for cut in cuts if cut.start < cut.end]


def _headers(source: bytes) -> Iterator[tuple[re.Match[bytes], bool]]:
    """The lines that begin a definition, and whether they stand in triple quotes. These are code only where a quote of the
    file is never closed, so that the ones behind it may be the wrong way round, and those of the piece pair up.
    """
    texts, is_open = _texts(source)
    matches = list(_HEADER.finditer(source))
    for n, match in enumerate(matches, 1):
        end = matches[n].start() if n < len(matches) else len(source)
        is_text = _is_within(texts, match.start())
        if not is_text or (is_open and not _texts(source[match.start() : end])[1]):
            yield match, is_text


def stitched(source: bytes, known: Sequence[Definition], pieces: Sequence[Piece]) -> list[Definition]:
    """The definitions of the whole and of the pieces in source order; none of the whole reaches into a piece."""
    starts, ends = [piece.cut.start for piece in pieces], [piece.cut.end for piece in pieces]
    result = [definition for piece in pieces for definition in piece.definitions]
    for definition in known:
        n = bisect_right(starts, definition.start_byte)
        if n and definition.start_byte < ends[n - 1]:
            continue
        is_cut = n < len(starts) and definition.end_byte > starts[n]
        result.append(_clipped(source, definition, starts[n]) if is_cut else definition)
    result.sort(key=lambda one: (one.start_byte, -one.end_byte))
    return result


def outside(positions: Sequence[int], pieces: Sequence[Piece]) -> Iterator[tuple[int, int, Piece | None]]:
    """(first, end) of the sorted positions before each piece, with the piece, and of those behind all, with None."""
    first = 0
    for piece in pieces:
        yield first, bisect_left(positions, piece.cut.start), piece
        first = bisect_left(positions, piece.cut.end)
    yield first, len(positions), None


def is_covered(pieces: Sequence[Piece], length: int) -> bool:
    """Whether the pieces are the whole source."""
    return sum(piece.cut.end - piece.cut.start for piece in pieces) == length


def _clipped(source: bytes, definition: Definition, limit: int) -> Definition:
    while source[limit - 1 : limit].isspace():
        limit -= 1
    end_row = definition.start_row + source.count(b"\n", definition.start_byte, limit)
    return replace(definition, end_byte=limit, end_row=end_row)


def _top_rows(definitions: Sequence[Definition]) -> set[int]:
    """The rows of the names of definitions that stand in no other one."""
    rows: set[int] = set()
    end = 0
    for definition in definitions:
        if definition.start_byte >= end:
            rows.add(definition.name_row)
            end = definition.end_byte
    return rows


def _is_headed(piece: Piece) -> bool:
    """Whether the piece begins with the definition for which it was cut, a sound one if it may be text."""
    first = piece.definitions[0] if piece.definitions else None
    if first is None or first.start_byte != piece.cut.start or first.name_row != piece.cut.header_row:
        return False
    return not piece.cut.is_text or not piece.root.children[0].has_error


def _knows(piece: Piece, rows: Sequence[int]) -> bool:
    """Whether the piece has every definition, by the row of its name, that the whole has there."""
    found = {definition.name_row for definition in piece.definitions}
    first, end = bisect_left(rows, piece.cut.start_row), bisect_left(rows, piece.cut.end_row)
    return found.issuperset(rows[first:end])


def _texts(source: bytes) -> tuple[list[tuple[int, int]], bool]:
    """The (start, end) of strings in triple quotes, and whether one is never closed: then any may be code instead."""
    spans, is_open = [], False
    for match in _TEXT.finditer(source):
        if match.lastgroup == "closed":
            spans.append(match.span())
        is_open |= match.lastgroup == "open"
    return spans, is_open


def _is_within(texts: Sequence[tuple[int, int]], offset: int) -> bool:
    n = bisect_left(texts, (offset, offset))
    return n > 0 and offset < texts[n - 1][1]
