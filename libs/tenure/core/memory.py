"""The memory model: nodes, edges and chunks, with their closed sets (SPEC section 2)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from operator import attrgetter
from typing import Any


class MemoryKind(StrEnum):
    """How a memory ages."""

    WORKING = "working"
    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"


class NodeType(StrEnum):
    """What a memory is."""

    FILE = "file"
    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    DOCUMENT = "document"
    DECISION = "decision"
    ERROR = "error"
    PREFERENCE = "preference"
    PATTERN = "pattern"
    EPISODE = "episode"
    COMMIT = "commit"
    SUMMARY = "summary"


class EdgeType(StrEnum):
    """How two memories are related; the edge reads source, type, target."""

    IMPORTS = "imports"
    CALLS = "calls"
    EXTENDS = "extends"
    IMPLEMENTS = "implements"
    CONTAINS = "contains"
    DECIDED_IN = "decided_in"
    CAUSED_BY = "caused_by"
    RESOLVED_BY = "resolved_by"
    LEARNED_FROM = "learned_from"
    COMPOSED_OF = "composed_of"
    TOUCHED = "touched"
    SUPERSEDES = "supersedes"
    DEPENDS_ON = "depends_on"
    REFERENCES = "references"


class Trust(StrEnum):
    """Where a memory's text comes from, best first; it never rises by itself."""

    CURATED = "curated"
    OBSERVED = "observed"
    DERIVED = "derived"
    UNTRUSTED = "untrusted"


class NodeState(StrEnum):
    """Whether a memory takes part in retrieval."""

    ACTIVE = "active"
    STALE = "stale"
    ARCHIVED = "archived"
    QUARANTINED = "quarantined"


class Visibility(StrEnum):
    """Who sees a memory: its member alone, or the workspace."""

    PRIVATE = "private"
    WORKSPACE = "workspace"


class FileRole(StrEnum):
    """What a file is for, as far as its path and language tell."""

    CODE = "code"
    TEST = "test"
    DOCUMENT = "document"
    CONFIG = "config"


class ParseStatus(StrEnum):
    """What became of a file: `partial` and `failed` come with a reason, `skipped` files are not in the index."""

    OK = "ok"
    PARTIAL = "partial"
    FAILED = "failed"
    SKIPPED = "skipped"


class Record:
    """Is pickled as the arguments of its constructor, in half the time that a frozen dataclass takes by itself.

    Parsing processes send some 100,000 records for a large repository, and the event loop's process unpacks them.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        cls: Any = type(self)
        return cls, _arguments_of(cls)(self)


@cache
def _arguments_of(cls: Any) -> Callable[[Record], tuple[Any, ...]]:
    return attrgetter(*(field.name for field in fields(cls)))


@dataclass(frozen=True, slots=True)
class Source(Record):
    """Where a node's text stands. Lines are 1-based and inclusive, as an editor counts them."""

    repository_id: str | None = None
    path: str | None = None
    qualified_name: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    content_hash: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class Node(Record):
    """A memory that retrieval can return. `confidence` and `weight` lie in [0, 1]. `token_count` of code is an estimate:
    what is shown is counted when it is shown.
    """

    id: str
    workspace_id: str
    kind: MemoryKind
    type: NodeType
    title: str
    content: str
    token_count: int
    created_at: datetime
    updated_at: datetime
    source: Source = field(default_factory=Source)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    trust: Trust = Trust.OBSERVED
    confidence: float = 1.0
    weight: float = 0.5
    last_used_at: datetime | None = None
    use_count: int = 0
    state: NodeState = NodeState.ACTIVE
    visibility: Visibility = Visibility.WORKSPACE


@dataclass(frozen=True, slots=True)
class Edge(Record):
    """A directed relation. `owner_id` is the file (or commit) whose re-index replaces the edge."""

    source_id: str
    target_id: str
    type: EdgeType
    owner_id: str
    weight: float = 1.0
    confidence: float = 1.0
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk(Record):
    """A span of one node that is searched as a unit.

    Lines are 1-based and inclusive; offsets count characters of the owner's stored text (for a commit: of its content).
    `content_hash` is of the text that is embedded, headers included. `sparse` is a packed sparse vector
    (`tenure.core.sparse`).
    """

    id: str
    node_id: str
    owner_id: str
    number: int
    start_line: int
    end_line: int
    start_offset: int
    end_offset: int
    content_hash: str
    token_count: int
    sparse: bytes


@dataclass(frozen=True, slots=True)
class FileRecord(Record):
    """A file of the index. `text` is the masked, decoded text with LF line ends, zstd-compressed UTF-8.

    `signature` is what the file system said when the file was read (or the blob id in a bare repository);
    `exports` and `references` are what `tenure.code.resolve` needs, opaque to every store.
    """

    id: str
    repository_id: str
    path: str
    language: str
    role: FileRole
    content_hash: str
    signature: str
    parser_version: str
    size: int
    lines: int
    status: ParseStatus
    reason: str
    text: bytes
    sparse: bytes
    exports: bytes
    references: bytes
    is_resolved: bool = False
    revision: int = 0
