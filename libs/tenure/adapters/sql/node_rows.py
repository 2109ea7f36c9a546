"""Nodes as rows and back."""

from typing import Any

from sqlalchemy import Row

from tenure.adapters.sql.schema import nodes
from tenure.core.memory import MemoryKind, Node, NodeState, NodeType, Source, Trust, Visibility
from tenure.ports.records import NodePlace

DEFINITIONS = (NodeType.CLASS, NodeType.FUNCTION, NodeType.MODULE)
"""Types that are found by their name."""

COLUMNS = tuple(column.name for column in nodes.columns if column.name != "workspace_id")
"""The order of `node_values`."""

KEPT = ("created_at",)
"""What a node that is stored again keeps."""

HEADER = [column for column in nodes.columns if column.name != "content"]
"""All but the content, which may be large."""

READ = tuple(column for column in nodes.columns if column.name not in {"sequence", "name"})
"""What `node_of` reads, and where the content is."""

PLACE = tuple(nodes.c[name] for name in ("id", "owner_id", "type", "qualified_name", "start_line", "end_line", "path"))
"""What `place_of` reads."""

_TYPES = {one.value: one for one in NodeType}
"""To look a type up takes a third of calling the enumeration, which answers do some hundred times."""

COMPARED = tuple(name for name in COLUMNS if name not in {"created_at", "updated_at"})
"""A node whose other columns are equal has not changed: its row is left alone."""


def simple_name(node: Node) -> str | None:
    """The name by which a definition is looked up; None for other nodes."""
    if node.type not in DEFINITIONS or not node.source.qualified_name:
        return None
    return node.source.qualified_name.rsplit(".", 1)[-1]


def node_values(node: Node, owner_id: str | None, sequence: int, *, has_content: bool) -> tuple[Any, ...]:
    """The row in the order of `COLUMNS`; without content when that is read from the owner's text."""
    source = node.source
    return (
        node.id,
        owner_id,
        sequence,
        source.repository_id,
        node.kind._value_,
        node.type._value_,
        node.title,
        simple_name(node),
        node.content if has_content else None,
        node.token_count,
        source.path,
        source.qualified_name,
        source.start_line,
        source.end_line,
        source.content_hash,
        source.commit,
        node.metadata if type(node.metadata) is dict else dict(node.metadata),
        node.trust._value_,
        node.confidence,
        node.weight,
        node.last_used_at,
        node.use_count,
        node.state._value_,
        node.visibility._value_,
        node.created_at,
        node.updated_at,
    )


def node_of(row: Row[Any], content: str = "") -> Node:
    """The record of a row of `nodes`."""
    return Node(
        id=row.id,
        workspace_id=row.workspace_id,
        kind=MemoryKind(row.kind),
        type=_TYPES[row.type],
        title=row.title,
        content=content,
        token_count=row.token_count,
        created_at=row.created_at,
        updated_at=row.updated_at,
        source=Source(
            repository_id=row.repository_id,
            path=row.path,
            qualified_name=row.qualified_name,
            start_line=row.start_line,
            end_line=row.end_line,
            content_hash=row.content_hash,
            commit=row.commit,
        ),
        metadata=row.metadata,
        trust=Trust(row.trust),
        confidence=row.confidence,
        weight=row.weight,
        last_used_at=row.last_used_at,
        use_count=row.use_count,
        state=NodeState(row.state),
        visibility=Visibility(row.visibility),
    )


def place_of(row: Row[Any]) -> NodePlace:
    """Where the node of a row that begins with the columns `PLACE` stands."""
    node_id, owner_id, type_, qualified_name, start_line, end_line, path = row[: len(PLACE)]
    return NodePlace(node_id, owner_id, _TYPES[type_], qualified_name, start_line, end_line, path)


def lines_of(text: str, start_line: int | None, end_line: int | None) -> str:
    """Lines `start_line` to `end_line` (1-based, inclusive) of a text with LF line ends; the whole text without them."""
    if start_line is None or end_line is None:
        return text
    begin = 0
    for _ in range(start_line - 1):
        begin = text.find("\n", begin) + 1
        if begin == 0:
            return ""
    end = begin
    for _ in range(end_line - start_line + 1):
        end = text.find("\n", end) + 1
        if end == 0:
            return text[begin:]
    return text[begin : end - 1]
