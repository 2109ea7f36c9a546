"""A file's rows: its nodes, their chunks and the `contains` edges, from its parts."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tenure.code.chunk import Header, Lines, Ranks, Span, embedded, spans
from tenure.code.identifiers import term_counts
from tenure.code.model import PrepareRequest
from tenure.core.ids import chunk_id
from tenure.core.memory import Chunk, Edge, EdgeType, MemoryKind, Node, NodeType, Source
from tenure.core.sparse import CHUNK_AVERAGE_LENGTH, bm25_weights, pack


@dataclass(frozen=True, slots=True)
class Part:
    """A node to be: the file itself, a symbol or a section. Rows count from 0; `parent` indexes the enclosing part."""

    id: str
    type: NodeType
    title: str
    qualified_name: str
    first_row: int
    last_row: int
    header: Header
    parent: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rows:
    """The nodes of a file in source order, the file's own first, with their chunks and edges."""

    nodes: list[Node]
    chunks: list[Chunk]
    contains: list[Edge]


def rows_of(
    request: PrepareRequest,
    lines: Lines,
    parts: Sequence[Part],
    content_hash: str,
    factor: float,
    ranks: Ranks,
) -> Rows:
    """The rows of a file whose first part is the file itself and whose parents stand before their children.

    A line belongs to the innermost part around it. `factor` and `ranks` are those of
    `tenure.code.chunk.spans`. Tokens are an estimate; a node's are those of all stretches in its span.
    """
    chunks: list[Chunk] = []
    tokens = [0] * len(parts)
    numbers = [0] * len(parts)
    owner_id, path_terms = parts[0].id, term_counts(request.candidate.path)
    for index, first_row, last_row in _segments(parts, lines.count):
        part = parts[index]
        for span in spans(lines, first_row, last_row, part.header, factor, ranks):
            own = estimated_tokens(lines, span)
            tokens[index] += own
            if span.is_chunk:
                chunks.append(
                    _chunk(part, owner_id, numbers[index], span, lines.text[span.start : span.end], own, path_terms)
                )
                numbers[index] += 1
    for index in range(len(parts) - 1, 0, -1):
        tokens[parts[index].parent] += tokens[index]
    return Rows(
        nodes=[_node(request, part, content_hash, tokens[index]) for index, part in enumerate(parts)],
        chunks=chunks,
        contains=[
            Edge(parts[part.parent].id, part.id, EdgeType.CONTAINS, owner_id, line=part.first_row + 1)
            for part in parts[1:]
        ],
    )


_TOKENS_PER_COST, _TOKENS_PER_LINE = 0.63, 0.91
"""A language model reads less of a line than the embedding model does, and its end and indentation besides; least squares
over 5,000 stretches of Python and prose: half of them are within 9 %, nine of ten between -22 and +21 % of the count.
"""


def estimated_tokens(lines: Lines, span: Span) -> int:
    """About how many tokens of a language model the span has: enough to choose what is shown whole. What is shown is
    counted exactly, for counting here would be an eighth of the time of indexing.
    """
    rows = slice(span.first_row, span.last_row + 1)
    length = lines.starts[rows.stop] - lines.starts[rows.start]
    whole = _TOKENS_PER_COST * sum(lines.costs[rows]) + _TOKENS_PER_LINE * (rows.stop - rows.start)
    return max(1, round(whole * (span.end - span.start + 1) / length))


def _segments(parts: Sequence[Part], count: int) -> Iterator[tuple[int, int, int]]:
    """(part, first row, last row) of each stretch of lines that belongs to one part."""
    owners = [0] * count
    for index, part in enumerate(parts[1:], 1):
        last_row = min(part.last_row, count - 1)
        owners[part.first_row : last_row + 1] = [index] * (last_row + 1 - part.first_row)
    first_row = 0
    for index, rows in groupby(owners):
        end = first_row + len(list(rows))
        yield index, first_row, end - 1
        first_row = end


def _chunk(
    part: Part, owner_id: str, number: int, span: Span, text: str, tokens: int, path_terms: Mapping[int, int]
) -> Chunk:
    whole = embedded(part.header, text)
    counts = term_counts(whole, path_terms)
    return Chunk(
        id=chunk_id(part.id, number),
        node_id=part.id,
        owner_id=owner_id,
        number=number,
        start_line=span.first_row + 1,
        end_line=span.last_row + 1,
        start_offset=span.start,
        end_offset=span.end,
        content_hash=hashlib.sha256(whole.encode()).hexdigest(),
        token_count=tokens,
        sparse=pack(bm25_weights(counts, CHUNK_AVERAGE_LENGTH)),
    )


def _node(request: PrepareRequest, part: Part, content_hash: str, tokens: int) -> Node:
    return Node(
        id=part.id,
        workspace_id=request.workspace_id,
        kind=MemoryKind.SEMANTIC,
        type=part.type,
        title=part.title,
        content="",
        token_count=tokens,
        created_at=request.at,
        updated_at=request.at,
        source=Source(
            repository_id=request.repository_id,
            path=request.candidate.path,
            qualified_name=part.qualified_name,
            start_line=part.first_row + 1,
            end_line=part.last_row + 1,
            content_hash=content_hash,
        ),
        metadata=part.metadata,
    )
