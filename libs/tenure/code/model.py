"""What the code layer makes of a file, before and after references are resolved."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from tenure.core.memory import Chunk, Edge, FileRecord, Node, NodeType
from tenure.ports.records import LeftOut, Unresolved


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that discovery admits. `real_path` is where to read it on disk, '' when `object_id` names a blob.

    `signature` tells whether it changed since: size, mtime, ctime and inode of the file, or the blob id.
    """

    path: str
    signature: str
    size: int
    real_path: str = ""
    object_id: str = ""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The candidates of one tree by path, and what was left out with its reason."""

    candidates: list[Candidate]
    left_out: list[LeftOut]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition in a file. `qualified_name` is dotted inside the file (`Api.register`, `outer.inner`); `form` is the
    language's own word (`method`, `property`, `class`, `async function`, `type alias`). `parent` indexes the enclosing
    symbol in the file's list, -1 at top level. The span includes decorators; bytes index the UTF-8 source.
    """

    node_id: str
    type: NodeType
    form: str
    name: str
    qualified_name: str
    ordinal: int
    parent: int
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    signature: str
    doc: str


@dataclass(frozen=True, slots=True)
class PrepareRequest:
    """A file to prepare; picklable. `raw` is None when the worker has to read `candidate.real_path` itself.

    `at` is the time that the rows bear.
    """

    workspace_id: str
    repository_id: str
    candidate: Candidate
    revision: int
    raw: bytes | None = None
    at: datetime = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """A file as rows. `file` is None when the file is left out after all (binary, minified, key file): see `left_out`."""

    path: str
    file: FileRecord | None
    nodes: list[Node] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    contains: list[Edge] = field(default_factory=list)
    left_out: LeftOut | None = None


@dataclass(frozen=True, slots=True)
class ResolvedFile:
    """A file's references as edges. `lookups` are the module names that were asked for on the way, found or not:
    a change of any of them can change this result, and nothing else can.
    """

    file_id: str
    edges: list[Edge]
    unresolved: list[Unresolved]
    lookups: list[str]
