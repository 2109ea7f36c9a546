"""Between the port's words and Qdrant Edge's: points, filters and queries, checked before Edge sees them.

Edge checks little itself and writes to its log first, so a malformed vector would stay in the folder for good.
"""

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from qdrant_edge import (
    FieldCondition,
    Filter,
    HasIdCondition,
    IdfParams,
    IsEmptyCondition,
    MatchAny,
    MatchPrefix,
    MatchValue,
    Point,
    QueryRequest,
    Record,
    SearchParams,
    SparseVector,
)
from qdrant_edge import Query as EdgeQuery

from tenure.adapters.qdrant_edge_places import Place
from tenure.core.errors import InvalidInput, StoreMismatch
from tenure.core.sparse import Sparse
from tenure.ports import vector_store as port
from tenure.ports.vector_store import Space

SPARSE_SPACES = tuple(space for space in Space if space is not Space.DENSE)
MAX_TERM_INDEX = 2**32 - 1
"""Edge keeps term indices as unsigned 32-bit numbers."""
MAX_WEIGHT = 3e38
"""Edge keeps weights as 32-bit numbers, of which this is about the largest."""
NamedVector: TypeAlias = SparseVector | list[float] | list[list[float]]
"""What Edge takes for one space."""
_WITHOUT_TESTS = "/product"
"""Ends the keywords of what is no test."""
SCOPE = "scope"
"""The field that says whose a point is and of which kind."""
HIT_FIELDS = ["node", "owner", "path"]
SCAN_FIELDS = [SCOPE, "owner", "revision"]
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_CANONICAL = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ESCAPED_SURROGATE = re.compile("\0([0-9a-f]{4})")


def canonical_id(value: str, what: str) -> str:
    """The id as canonical lower-case UUID text; `InvalidInput` if it is none."""
    if isinstance(value, str) and _CANONICAL.fullmatch(value):
        return value
    try:
        return str(uuid.UUID(value))
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidInput(f"{what} {value!r} is not a UUID; send the id as Tenure returned it") from error


def dense_values(vector: port.Dense, dimension: int, owner: str) -> list[float]:
    """The numbers of a dense vector; `StoreMismatch` if there are not `dimension` of them."""
    values = np.asarray(vector, dtype=np.float32)
    if values.shape != (dimension,):
        raise StoreMismatch(
            f"{owner} has a vector of {values.size} numbers, but this store was made for {dimension}; configure the "
            "model that filled the store, or run `tenure reembed` to fill it again"
        )
    if not np.isfinite(values).all():
        raise InvalidInput(f"{owner} has a dense vector with numbers that are not finite; embed the text again")
    numbers: list[float] = values.tolist()
    return numbers


def sparse_vector(vector: Sparse, owner: str) -> SparseVector:
    """The sparse vector as Edge takes it; `InvalidInput` if its terms or weights are malformed."""
    indices, values = vector.indices, vector.values
    if len(indices) != len(values):
        raise InvalidInput(f"{owner} has a sparse vector of {len(indices)} terms but {len(values)} weights")
    if len(indices) and not 0 <= min(indices) <= max(indices) <= MAX_TERM_INDEX:
        raise InvalidInput(f"{owner} has a sparse vector with a term outside 0..{MAX_TERM_INDEX}")
    if len(set(indices)) != len(indices):
        raise InvalidInput(f"{owner} has a sparse vector that names a term twice; add their weights up first")
    if len(values) and not (min(values) >= 0.0 and sum(values) <= MAX_WEIGHT):  # NaN fails every comparison
        raise InvalidInput(f"{owner} has a sparse vector with a weight that is negative or not finite")
    return SparseVector(list(indices), list(values))


def scope_of(workspace_id: str, space: Space, with_tests: bool = True) -> str:
    """The keyword of a search in one space: what a point with a dense vector is does not matter, so that of the dense
    space is the workspace's. One condition on one keyword is checked several times faster than two.
    """
    whole = workspace_id if space is Space.DENSE else f"{workspace_id}/{space.value}"
    return whole if with_tests else whole + _WITHOUT_TESTS


def _scopes(workspace_id: str, kind: Space, is_test: bool) -> list[str]:
    """All keywords of a point, that of its kind first."""
    return [
        scope_of(workspace_id, of, tests)
        for tests in ((True,) if is_test else (True, False))
        for of in (kind, Space.DENSE)
    ]


def space_of(scopes: Sequence[str]) -> Space:
    """The kind of a point, from its keywords."""
    return Space(scopes[0].rpartition("/")[2])


def stored_path(path: str) -> str:
    """The path as valid Unicode: what could not be decoded is escaped behind a NUL, which no path holds."""
    return _LONE_SURROGATE.sub(lambda match: f"\0{ord(match[0]):04x}", path)


def original_path(stored: str) -> str:
    """The inverse of `stored_path`."""
    return _ESCAPED_SURROGATE.sub(lambda match: chr(int(match[1], 16)), stored)


class SharedFields(NamedTuple):
    """The fields of a point but for its node: one value for hundreds of points."""

    kind: Space
    fields: port.PointFilterFields


@dataclass(frozen=True, slots=True)
class CheckedPoint:
    """A point that Edge can take, with what it has in common with all points of its kind and owner."""

    id: str
    vectors: dict[str, NamedVector]
    place: Place
    shared: SharedFields


def checked_point(point_id: str, point: port.Point, dimension: int) -> CheckedPoint:
    """The point under its canonical id, or `InvalidInput`, `StoreMismatch`."""
    kinds = [space for space in point.vectors if space is not Space.DENSE]
    if len(kinds) != 1:
        raise InvalidInput(f"point {point_id} has {len(kinds)} sparse vectors; its kind is the one that it carries")
    vectors: dict[str, NamedVector] = {}
    for space, vector in point.vectors.items():
        _check_space(space, vector, f"point {point_id}")
        vectors[space.value] = _named_vector(vector, dimension, f"point {point_id}")
    place = Place(point.node_id, point.fields.owner_id, point.fields.path)
    return CheckedPoint(point_id, vectors, place, SharedFields(kinds[0], point.fields))


def edge_point(point: CheckedPoint, shared: Mapping[str, Any]) -> Point:
    """The point as Edge takes it. Without `shared` no search finds it."""
    return Point(point.id, point.vectors, {"node": point.place.node_id, **shared})


def shared_payload(workspace_id: str, shared: SharedFields) -> dict[str, Any]:
    """What is stored of these fields. Folders are found by the path's beginning, so they are not stored."""
    kind, fields = shared
    return {
        SCOPE: _scopes(workspace_id, kind, fields.is_test),
        "repository": fields.repository_id,
        "owner": fields.owner_id,
        "revision": fields.revision,
        "path": stored_path(fields.path),
        "language": fields.language,
    }


def _named_vector(vector: Sparse | port.Dense, dimension: int, owner: str) -> SparseVector | list[float]:
    return sparse_vector(vector, owner) if isinstance(vector, Sparse) else dense_values(vector, dimension, owner)


def _check_space(space: Space, vector: Sparse | port.Dense, owner: str) -> None:
    if isinstance(vector, Sparse) is (space is Space.DENSE):
        raise InvalidInput(f"{owner} has a vector of another kind for the space {space.value!r}")


def equals(field: str, value: str | int) -> FieldCondition:
    """Exactly this value."""
    return FieldCondition(key=field, match=MatchValue(value))


def one_of(field: str, values: Iterable[str]) -> FieldCondition:
    """One of these values."""
    return FieldCondition(key=field, match=MatchAny(list(values)))


def in_workspace(workspace_id: str) -> FieldCondition:
    """Any kind, this workspace."""
    return equals(SCOPE, workspace_id)


def is_half_written() -> IsEmptyCondition:
    """Points that got their vectors and, because of a kill or a full disk, not yet what they share."""
    return IsEmptyCondition(SCOPE)


def written(*conditions: HasIdCondition) -> Filter:
    """Of these points those that are not half-written."""
    return Filter(must=list(conditions), must_not=[is_half_written()])


def with_ids(point_ids: Iterable[str]) -> HasIdCondition:
    """One of these points."""
    return HasIdCondition(set(point_ids))


def edge_query(workspace_id: str, query: port.Query, dimension: int, limit: int) -> QueryRequest:
    """The query as Edge takes it, with its scope in the filter and in the corpus of its document frequencies."""
    params = None
    scope = equals(SCOPE, scope_of(workspace_id, query.space, query.filter.with_tests))
    if isinstance(query.vector, Sparse):
        vector: SparseVector | list[float] = sparse_vector(query.vector, "the query")
        params = SearchParams(idf=IdfParams(Filter(must=[equals(SCOPE, scope_of(workspace_id, query.space))])))
    else:
        vector = dense_values(query.vector, dimension, "the query")
    return QueryRequest(
        query=EdgeQuery.Nearest(vector, using=query.space.value),
        limit=limit,
        filter=Filter(must=[scope, *_conditions(query.filter)]),
        params=params,
        with_payload=False,
    )


def check_query(query: port.Query) -> None:
    """`InvalidInput` if the vector does not belong to the space, or the limit is no number of hits."""
    _check_space(query.space, query.vector, "the query")
    if query.limit < 1:
        raise InvalidInput(f"a query asks for {query.limit} hits; ask for at least 1")


def _conditions(wanted: port.SearchFilter) -> list[FieldCondition | Filter]:
    keywords: list[tuple[str, Sequence[str]]] = [
        ("repository", wanted.repository_ids),
        ("language", wanted.languages),
        ("path", [stored_path(path) for path in wanted.paths]),
    ]
    found: list[FieldCondition | Filter] = [one_of(field, values) for field, values in keywords if values]
    if wanted.directories and "" not in wanted.directories:  # everything is below the root
        found.append(Filter(should=[_below(directory) for directory in wanted.directories]))
    return found


def _below(directory: str) -> FieldCondition:
    return FieldCondition(key="path", match=MatchPrefix(f"{stored_path(directory).rstrip('/')}/"))


def places_of(records: Iterable[Record]) -> dict[str, Place]:
    """Where the points stand whose payload was read, by their ids."""
    return {str(record.id): _place(record.payload or {}) for record in records}


def _place(payload: Mapping[str, Any]) -> Place:
    return Place(payload["node"], payload["owner"], original_path(payload["path"]))


def hit_of(point_id: str, score: float, place: Place, space: Space) -> port.Hit:
    """The hit. Dense scores are cut to [-1, 1], which rounding may leave by a hair."""
    score = max(-1.0, min(1.0, score)) if space is Space.DENSE else score
    return port.Hit(point_id, place.node_id, place.owner_id, score, place.path)
