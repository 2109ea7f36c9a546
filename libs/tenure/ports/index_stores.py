"""Stores of the index: trees, files, nodes, edges, chunks.

General rules of all stores (isolation, missing ids, idempotency, errors) stand in `tenure.ports.repositories`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from tenure.core.memory import Chunk, Edge, EdgeType, FileRecord, Node
from tenure.ports.records import (
    FileState,
    LeftOut,
    NodePlace,
    Repository,
    Unresolved,
)


class Repositories(Protocol):
    """The indexed trees of the workspace."""

    async def add(self, repository: Repository) -> None:
        """Store a new one; `RecordConflict` if the id, or (root, tree) in this workspace, is taken."""
        ...

    async def get(self, repository_id: str) -> Repository:
        """The repository, or `RecordNotFound`."""
        ...

    async def list(self) -> list[Repository]:
        """All of the workspace, by name, then id."""
        ...

    async def find(self, root: str, tree: str | None = None) -> Repository | None:
        """The one with this resolved root (and tree, for a bare one)."""
        ...

    async def update(self, repository: Repository) -> None:
        """Replace the row; `RecordNotFound` if it is gone."""
        ...

    async def delete(self, repository_id: str) -> None:
        """Remove it with all files, nodes, edges, chunks, commits and jobs; cached embeddings stay."""
        ...


class Files(Protocol):
    """Files with their nodes and chunks, always changed together."""

    async def states(self, repository_id: str) -> list[FileState]:
        """What is known of every file, without texts, by path."""
        ...

    async def unresolved(self, repository_id: str) -> list[str]:
        """Ids of the files whose references have to be resolved, by path."""
        ...

    async def states_of(self, file_ids: Sequence[str]) -> dict[str, FileState]:
        """What is known of these files, by id."""
        ...

    async def replace(
        self, files: Sequence[FileRecord], nodes: Sequence[Node], chunks: Sequence[Chunk], contains: Sequence[Edge]
    ) -> None:
        """Make these files be exactly this: rows of theirs that are not given are removed (nodes, chunks, edges and
        unresolved references owned by the files). `created_at` of a node that stays is kept. The revision of each
        file is set to that of the record; the records' `is_resolved` is stored as given.
        """
        ...

    async def touch(self, signatures: Mapping[str, str]) -> None:
        """Set the signature of files by id: their content proved unchanged."""
        ...

    async def remove(self, file_ids: Sequence[str]) -> None:
        """Remove files with everything they own, and every edge that ends at a node of theirs."""
        ...

    async def get_many(self, file_ids: Sequence[str]) -> dict[str, FileRecord]:
        """Whole records by id."""
        ...

    async def texts(self, file_ids: Sequence[str]) -> dict[str, str]:
        """Decompressed texts by id."""
        ...

    async def exports(self, repository_id: str) -> dict[str, bytes]:
        """`exports` of every file of the repository, by path."""
        ...

    async def references(self, file_ids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """(path, `references`) by file id."""
        ...

    async def find_paths(self, basenames: Sequence[str], limit: int = 200) -> list[tuple[str, str, str, bool]]:
        """(file id, repository id, path, is test) of files whose last path part equals one of these, letter case kept."""
        ...

    async def set_left_out(self, repository_id: str, left_out: Sequence[LeftOut]) -> None:
        """Replace the list of what is not in the index."""
        ...

    async def left_out(self, repository_id: str, limit: int = 1000) -> list[LeftOut]:
        """What is not in the index, by path."""
        ...

    async def problems(self, repository_id: str, limit: int = 1000) -> list[FileState]:
        """Files whose status is not `ok`, by path."""
        ...


class Nodes(Protocol):
    """Nodes of all types. The content of a file's node is read from the file's text."""

    async def get_many(self, node_ids: Sequence[str], with_content: bool = True) -> dict[str, Node]:
        """Nodes by id. Without `with_content` no file is read: `content` is '' unless it is the node's own, as a commit's."""
        ...

    async def places(self, node_ids: Sequence[str]) -> dict[str, NodePlace]:
        """Where these nodes stand, by id."""
        ...

    async def named(self, names: Sequence[str], limit_per_name: int = 50) -> dict[str, list[NodePlace]]:
        """Definitions (class, function, module) by simple name, letter case kept, by path and line."""
        ...

    async def of_owner(self, owner_ids: Sequence[str]) -> dict[str, list[Node]]:
        """Nodes of each file in source order, without content; the file's own node first."""
        ...

    async def put(self, nodes: Sequence[Node], owner_id: str | None = None) -> None:
        """Store nodes that belong to no file (commits, ...)."""
        ...

    async def commits(self, repository_id: str) -> list[Node]:
        """Commit nodes, newest first."""
        ...

    async def remove(self, node_ids: Sequence[str]) -> None:
        """Remove nodes with the edges at both their ends."""
        ...

    def export(self, repository_id: str) -> AsyncIterator[Node]:
        """Every node of the repository by id, without content; for comparison and `verify`."""
        ...


class Edges(Protocol):
    """Edges, and the references that could not be resolved, by the file or commit that owns them."""

    async def replace(
        self,
        owner_ids: Sequence[str],
        edges: Sequence[Edge],
        unresolved: Sequence[Unresolved],
        lookups: Mapping[str, Sequence[str]],
    ) -> None:
        """Make the owners' edges (all but `contains`) and unresolved references be exactly these, store the module
        names that each owner's resolution looked up, and mark the owners resolved.
        """
        ...

    async def put(self, edges: Sequence[Edge]) -> None:
        """Add edges (commits to files)."""
        ...

    async def dependents(self, repository_id: str, modules: Sequence[str]) -> list[str]:
        """Ids of the files whose resolution looked up one of these modules."""
        ...

    async def mark_unresolved(self, file_ids: Sequence[str]) -> None:
        """Say that these files' references have to be resolved again."""
        ...

    async def remove(self, edges: Sequence[Edge]) -> None:
        """Remove exactly these edges, by (owner, source, type, target); ones that are gone are passed over."""
        ...

    async def touched_by(self, commit_ids: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
        """(file id, weight) of the `touched` edges that begin at these commits, by commit; commits without any are
        left out.
        """
        ...

    async def touching(self, file_ids: Sequence[str]) -> list[Edge]:
        """`touched` edges that end at these files."""
        ...

    async def unresolved(self, names: Sequence[str], limit: int = 100) -> list[Unresolved]:
        """Unresolved references whose last name part is one of these."""
        ...

    def export(self, repository_id: str, types: Sequence[EdgeType] = ()) -> AsyncIterator[Edge]:
        """Every edge whose owner belongs to the repository, of these types or of all."""
        ...


class Chunks(Protocol):
    """Chunks, their embeddings, and the profiles of files."""

    async def get_many(self, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        """Chunks by id."""
        ...

    async def terms(self, chunk_ids: Sequence[str]) -> list[tuple[str, Sequence[int]]]:
        """(owner id, indices of its terms) of each of these chunks that is there, in no order."""
        ...

    async def of_owners(self, owner_ids: Sequence[str]) -> dict[str, list[Chunk]]:
        """Chunks of each file, in source order."""
        ...

    async def without_embedding(self, repository_id: str, model: str, dimension: int, limit: int) -> list[Chunk]:
        """Chunks that have neither an embedding nor a recorded refusal of this model: code before tests before
        documents, then by id. Equal content comes once.
        """
        ...

    async def put_embeddings(self, model: str, dimension: int, vectors: Mapping[str, bytes]) -> None:
        """Store float32 vectors by content hash; writes the due `DENSE` outbox entries of the chunks that share it."""
        ...

    async def put_refusals(self, model: str, reasons: Mapping[str, str]) -> None:
        """Record why the model refused a content hash."""
        ...

    async def document_frequencies(self) -> tuple[int, Mapping[int, int]]:
        """(number of chunks of the workspace, in how many of them each term stands, by term index)."""
        ...

    async def forget_refusals(self, repository_id: str, model: str) -> int:
        """Let refused chunks of the repository be tried again; returns how many."""
        ...

    async def refusals(self, repository_id: str, model: str, limit: int = 100) -> list[tuple[str, str]]:
        """(path, reason) of refused chunks."""
        ...

    async def embeddings(self, model: str, dimension: int, content_hashes: Sequence[str]) -> dict[str, bytes]:
        """Stored vectors by content hash."""
        ...

    async def embedded(self, repository_id: str, model: str, dimension: int) -> list[str]:
        """Ids of the repository's chunks whose content has a stored vector of this model."""
        ...

    async def embedding_stamps(self) -> list[tuple[str, int]]:
        """(model, dimension) pairs of which the workspace holds vectors."""
        ...

    async def drop_embeddings(self, model: str, dimension: int) -> None:
        """Remove the workspace's vectors of one model."""
        ...

    async def put_profiles(self, profiles: Mapping[str, bytes]) -> None:
        """Store packed profile vectors by file id, and their `PROFILE` outbox entries; b'' removes a profile."""
        ...

    async def profiles(self, file_ids: Sequence[str]) -> dict[str, bytes]:
        """Packed profile vectors by file id."""
        ...

    async def prior(self, file_ids: Sequence[str]) -> dict[str, float]:
        """Recency-weighted number of commits that touched each file."""
        ...

    async def put_priors(self, priors: Mapping[str, float]) -> None:
        """Store the recency-weighted number of commits by file id."""
        ...

    def export(self, repository_id: str) -> AsyncIterator[tuple[str, str, int]]:
        """(chunk id, owner id, owner revision) of every chunk; for `verify`."""
        ...
