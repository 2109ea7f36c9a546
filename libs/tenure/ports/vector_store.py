"""The store of dense and sparse vectors: a projection that can be rebuilt from SQL."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from tenure.core.sparse import Sparse

Dense = Sequence[float]


class Space(StrEnum):
    """The named vector spaces. All but `DENSE` are sparse, with the inverse document frequency applied by the store."""

    DENSE = "dense"
    CHUNK = "chunk"
    FILE = "file"
    PROFILE = "profile"
    EPISODE = "episode"


class PointFilterFields(NamedTuple):
    """What a point can be filtered by, one value for all points of an owner; folders are told from the beginning of `path`."""

    repository_id: str
    owner_id: str
    revision: int
    path: str = ""
    is_test: bool = False
    language: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of one workspace, which stands for a node. `vectors` maps a space to its vector; a point may lack spaces.

    A point's kind is the sparse space it carries: chunk, file, profile or episode.
    """

    id: str
    vectors: Mapping[Space, "Sparse | Dense"]
    fields: PointFilterFields
    node_id: str


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Conditions that all hold. An empty tuple means "no condition"; the workspace is never optional.

    `paths`: exactly one of these. `directories`: below any of these. `languages`: in any of these. `with_tests=False` leaves test files out.
    """

    repository_ids: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    with_tests: bool = True


@dataclass(frozen=True, slots=True)
class Query:
    """One search: the `limit` points of highest score in `space`."""

    space: Space
    vector: "Sparse | Dense"
    limit: int
    filter: SearchFilter = field(default_factory=SearchFilter)


class Hit(NamedTuple):
    """A point found. `score` is higher-is-better: cosine in [-1, 1] for dense, a sum of weights >= 0 for sparse."""

    point_id: str
    node_id: str
    owner_id: str
    score: float
    path: str = ""


class VectorStore(Protocol):
    """Points of many workspaces in one collection; every call names its workspace and sees nothing else.

    Writes are idempotent: the same call twice leaves the same points. Ids that do not exist are passed over
    in deletes and in `set_dense`. A vector of the wrong dimension raises `StoreMismatch` and stores nothing;
    a store that does not answer raises `StoreUnavailable`; never an empty result instead.
    An empty id list or an empty owner list deletes nothing.
    """

    @property
    def dimension(self) -> int:
        """The dimension of the dense space."""
        ...

    async def upsert(self, workspace_id: str, points: Sequence[Point]) -> None:
        """Store the points whole: vectors and fields that were there under the same id are replaced."""
        ...

    async def set_dense(self, workspace_id: str, vectors: Mapping[str, Dense]) -> None:
        """Give existing points of this workspace their dense vector, leaving the rest of each point as it is."""
        ...

    async def delete(self, workspace_id: str, point_ids: Sequence[str]) -> None:
        """Remove these points of this workspace."""
        ...

    async def delete_owned(
        self, workspace_id: str, owner_ids: Sequence[str], before_revision: int, spaces: Sequence[Space]
    ) -> None:
        """Remove the points of these owners (files or commits), of these kinds, whose revision is lower than given."""
        ...

    async def delete_repository(self, workspace_id: str, repository_id: str) -> None:
        """Remove all points of one repository of this workspace."""
        ...

    async def delete_workspace(self, workspace_id: str) -> None:
        """Remove all points of this workspace and of no other."""
        ...

    async def search(self, workspace_id: str, queries: Sequence[Query]) -> list[list[Hit]]:
        """The hits of each query, best first, ties by point id.

        The inverse document frequency of a sparse query is taken over this workspace's points of that space
        alone, so another workspace's points never change a score.
        """
        ...

    async def has_dense(self, workspace_id: str, point_ids: Sequence[str]) -> set[str]:
        """Those of the ids that exist in this workspace and have a dense vector."""
        ...

    def scan(self, workspace_id: str, repository_id: str | None = None) -> AsyncIterator[tuple[str, Space, str, int]]:
        """Every point of the workspace (or of one repository) as (id, kind, owner id, revision), in no order."""
        ...

    async def count(self, workspace_id: str, space: Space | None = None) -> int:
        """How many points the workspace has, of one kind or in all."""
        ...

    async def check(self) -> str:
        """One line that says what answers; raises `StoreUnavailable` if nothing does."""
        ...

    async def close(self) -> None:
        """Flush and release the store."""
        ...
