"""Rows of a small made-up repository for the tests of the SQL stores."""

import hashlib
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import zstandard

from tenure.core import ids
from tenure.core.memory import (
    Chunk,
    Edge,
    EdgeType,
    FileRecord,
    FileRole,
    MemoryKind,
    Node,
    NodeType,
    ParseStatus,
    Source,
)
from tenure.core.sparse import Sparse, pack
from tenure.ports.records import LeftOut, Repository, RepositoryKind, Unresolved, Workspace
from tenure.ports.repositories import Database

NOW = datetime(2026, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)
HOUR = timedelta(hours=1)
MODEL, DIMENSION = "tiny", 4


def new_id() -> str:
    return str(uuid.uuid4())


async def new_workspace(database: Database, name: str | None = None) -> str:
    workspace_id = new_id()
    await database.directory.add_workspace(Workspace(workspace_id, name or workspace_id, NOW))
    return workspace_id


async def new_repository(database: Database, workspace_id: str, name: str = "garden") -> Repository:
    repository = Repository(new_id(), workspace_id, name, f"/srv/{name}", RepositoryKind.FOLDER, NOW)
    async with database.writing(workspace_id) as unit:
        await unit.repositories.add(repository)
    return repository


def text_of(path: str, functions: list[str]) -> str:
    return "".join(f"def {name}():\n    return {path!r}, {name!r}\n" for name in functions) + "# the end\n"


@dataclass
class Rows:
    """A file with everything it owns: one function per name, two lines each."""

    file: FileRecord
    nodes: list[Node]
    chunks: list[Chunk]
    contains: list[Edge]
    text: str

    def node(self, name: str) -> Node:
        return next(node for node in self.nodes if node.source.qualified_name == name)


def file_rows(
    repository: Repository,
    path: str,
    functions: list[str],
    *,
    role: FileRole = FileRole.CODE,
    revision: int = 1,
    at: datetime = NOW,
    status: ParseStatus = ParseStatus.OK,
) -> Rows:
    workspace_id, text = repository.workspace_id, text_of(path, functions)
    file_id = ids.file_id(workspace_id, repository.id, path)
    file = FileRecord(
        id=file_id,
        repository_id=repository.id,
        path=path,
        language="python",
        role=role,
        content_hash=ids.content_hash(text.encode()),
        signature="seen",
        parser_version="1",
        size=len(text),
        lines=text.count("\n"),
        status=status,
        reason="" if status is ParseStatus.OK else "odd",
        text=zstandard.compress(text.encode()),
        sparse=pack(Sparse([7], [1.0])),
        exports=b"exports of " + path.encode("utf-8", "surrogateescape"),
        references=b"references of " + path.encode("utf-8", "surrogateescape"),
        revision=revision,
    )

    def node(type: NodeType, name: str, start: int, end: int) -> Node:
        return Node(
            id=ids.node_id(workspace_id, type, repository.id, path, name),
            workspace_id=workspace_id,
            kind=MemoryKind.SEMANTIC,
            type=type,
            title=name,
            content="never stored for code",
            token_count=9,
            created_at=at,
            updated_at=at,
            source=Source(repository.id, path, name, start, end, "hash"),
            metadata={"form": type.value},
        )

    nodes = [node(NodeType.FILE, path, 1, file.lines)]
    chunks, contains, offset = [], [], 0
    for number, name in enumerate(functions):
        one = node(NodeType.FUNCTION, name, 2 * number + 1, 2 * number + 2)
        body = "\n".join(text.split("\n")[2 * number : 2 * number + 2])
        nodes.append(one)
        contains.append(Edge(file_id, one.id, EdgeType.CONTAINS, file_id))
        digest = hashlib.sha256(body.encode()).hexdigest()
        chunks.append(
            Chunk(
                ids.chunk_id(one.id, 0), one.id, file_id, number, 2 * number + 1, 2 * number + 2, offset,
                offset + len(body), digest, 9, pack(Sparse([number], [0.5])),
            )
        )  # fmt: skip
        offset += len(body) + 1
    return Rows(file, nodes, chunks, contains, text)


def commit_node(repository: Repository, sha: str, at: datetime = NOW) -> Node:
    return Node(
        id=ids.commit_id(repository.workspace_id, repository.id, sha),
        workspace_id=repository.workspace_id,
        kind=MemoryKind.EPISODIC,
        type=NodeType.COMMIT,
        title=f"commit {sha}",
        content=f"what {sha} did",
        token_count=3,
        created_at=at,
        updated_at=at,
        source=Source(repository_id=repository.id, qualified_name=sha, commit=sha),
    )


async def store(database: Database, *rows: Rows) -> None:
    async with database.writing(rows[0].nodes[0].workspace_id) as unit:
        await unit.files.replace(
            [one.file for one in rows],
            [node for one in rows for node in one.nodes],
            [chunk for one in rows for chunk in one.chunks],
            [edge for one in rows for edge in one.contains],
        )


def calls(rows: Rows, source: str, target: Node, line: int = 2) -> Edge:
    return Edge(rows.node(source).id, target.id, EdgeType.CALLS, rows.file.id, line=line)


async def resolve(
    database: Database, rows: Rows, edges: list[Edge], unresolved: list[Unresolved] | None = None
) -> None:
    async with database.writing(rows.nodes[0].workspace_id) as unit:
        await unit.edges.replace([rows.file.id], edges, unresolved or [], {rows.file.id: ["garden.soil"]})


@dataclass
class Filled:
    """A workspace that has at least one row in every table."""

    workspace_id: str
    repository: Repository
    files: list[Rows]
    commit: Node


async def fill(database: Database, name: str) -> Filled:
    """Every kind of row but jobs, events and queries."""
    workspace_id = await new_workspace(database, name)
    repository = await new_repository(database, workspace_id)
    soil = file_rows(repository, "garden/soil.py", ["dig", "water"], status=ParseStatus.PARTIAL)
    test = file_rows(repository, "tests/test_soil.py", ["test_dig"], role=FileRole.TEST)
    await store(database, soil, test)
    missing = Unresolved(test.file.id, test.nodes[1].id, "call", "rake.pull", 2)
    await resolve(database, test, [calls(test, "test_dig", soil.node("dig"))], [missing])
    commit = commit_node(repository, "c0ffee")
    async with database.writing(workspace_id) as unit:
        await unit.nodes.put([commit])
        await unit.edges.put([Edge(commit.id, soil.file.id, EdgeType.TOUCHED, commit.id)])
        await unit.files.set_left_out(repository.id, [LeftOut("seed.bin", "binary")])
        await unit.chunks.put_embeddings(MODEL, DIMENSION, {soil.chunks[0].content_hash: b"v" * 16})
        await unit.chunks.put_refusals(MODEL, {soil.chunks[1].content_hash: "too odd"})
        await unit.chunks.put_profiles({soil.file.id: b"profile"})
        await unit.chunks.put_priors({soil.file.id: 2.5})
    return Filled(workspace_id, repository, [soil, test], commit)
