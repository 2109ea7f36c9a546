"""The folder of an embedded vector store: who has it open, what it was made for, whether it is whole.

    lock         held by the process that has the store open
    stamp.json   dimension, number of points after an orderly close, process id of the last opener
    shard/       Qdrant Edge's own files

Edge maps its files into memory, and the kernel kills a process that writes to such a file on a full disk. So nothing
is written while less than `MIN_FREE_BYTES` are free.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from qdrant_edge import (
    CountRequest,
    Distance,
    EdgeConfig,
    EdgeOptimizersConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    Filter,
    KeywordIndexParams,
    Memory,
    Modifier,
    PayloadSchemaType,
    UpdateOperation,
    VectorStorageDatatype,
)

from tenure.adapters.qdrant_edge_points import SPARSE_SPACES, is_half_written
from tenure.core.errors import StoreMismatch, StoreUnavailable
from tenure.ports.vector_store import Space

MIN_FREE_BYTES = 128 * 1024 * 1024
"""A segment of the log (32 MB), a page of vectors (32 MB), one batch of points, and what others write meanwhile."""
FLAT_SEARCH_KILOBYTES = 1_000_000_000
"""Segments below this size get no graph index: building one takes minutes, and a flat search over 80,000 chunks takes
6 ms of one core.
"""
DENSE_STORAGE = VectorStorageDatatype.Turbo8
"""One byte a dimension: a quarter of the memory and a third of the time of float32; a cosine is off by at most .005."""
FORMAT = 2
"""Of the points' fields; a store of another one is not opened, because its points would not be found."""
_WAY_OUT = "run `tenure rebuild --offline`, which fills it again from SQL"
_KEYWORD_FIELDS = ("scope", "repository", "owner", "language")
_PREFIX_FIELDS = ("path",)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What the folder was made for. `points` is None while the store is open, or after its process was killed."""

    dimension: int
    points: int | None
    process_id: int | None
    format: int


class StoreFolder:
    """An open folder: nobody else can open it before `release`."""

    def __init__(self, path: Path, lock: IO[str], min_free_bytes: int) -> None:
        self.path = path
        self._lock = lock
        self._min_free_bytes = min_free_bytes

    @classmethod
    def claim(cls, path: Path, min_free_bytes: int = MIN_FREE_BYTES) -> "StoreFolder":
        """Make and lock the folder; `StoreUnavailable` if that can't be done, e.g. because it is open elsewhere."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = (path / "lock").open("a")
        except OSError as error:
            raise StoreUnavailable(
                f"the vector store {path} can't be opened: {error.strerror}; check the folder and who owns it"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise StoreUnavailable(_is_held(path)) from error
        return cls(path, lock, min_free_bytes)

    def release(self) -> None:
        """Let others open the folder."""
        self._lock.close()

    def require_space(self, extra_bytes: int = 0) -> None:
        """`StoreUnavailable` if the disk is so full that a write might not fit."""
        free = shutil.disk_usage(self.path).free
        needed = self._min_free_bytes + extra_bytes
        if free < needed:
            raise StoreUnavailable(
                f"the disk of {self.path} is full: {free >> 20} MB are free, the vector store needs {needed >> 20} MB "
                "to write safely; free some space and try again, nothing was lost"
            )

    def open_shard(self, dimension: int) -> EdgeShard:
        """The shard, made if there is none; `StoreMismatch` for another dimension, `StoreUnavailable` if damaged."""
        self.require_space()
        shard_path = self.path / "shard"
        stamp = self._read_stamp()
        if stamp is None and shard_path.exists():
            raise StoreUnavailable(_is_damaged(self.path, "stamp.json is missing"))
        if stamp is not None and stamp.format != FORMAT:
            raise StoreMismatch(
                f"the vector store {self.path} has format {stamp.format}, this version needs {FORMAT}; {_WAY_OUT}"
            )
        if stamp is not None and stamp.dimension != dimension:
            raise StoreMismatch(
                f"the vector store {self.path} holds vectors of {stamp.dimension} numbers, the configured embedder "
                f"makes {dimension}; configure the model that filled the store, or run `tenure reembed`"
            )
        if not shard_path.exists():
            if stamp is not None and stamp.points != 0:
                raise StoreUnavailable(_is_damaged(self.path, "its shard is missing"))
            self._create(dimension)
        with vendor_errors(self.path, is_opening=True):
            shard = EdgeShard.load(str(shard_path), _config(dimension))
            points = _index_fields(shard)
            if stamp is not None and stamp.points not in {None, points}:
                shard.close()
                raise StoreUnavailable(_is_damaged(self.path, f"it holds {points} of {stamp.points} points"))
            _drop_half_written(shard)
        self.write_stamp(dimension, points=None)
        return shard

    def _create(self, dimension: int) -> None:
        """A new shard appears whole or not at all, wherever the process ends."""
        growing = self.path / "shard.new"
        shutil.rmtree(growing, ignore_errors=True)
        growing.mkdir()
        with vendor_errors(self.path):
            shard = EdgeShard.create(str(growing), _config(dimension))
            _index_fields(shard)
            shard.flush()
            shard.close()
        self.write_stamp(dimension, points=0)
        growing.rename(self.path / "shard")

    def write_stamp(self, dimension: int, points: int | None) -> None:
        """Replace the stamp in one step."""
        text = json.dumps({"format": FORMAT, "dimension": dimension, "points": points, "process_id": os.getpid()})
        growing = self.path / "stamp.json.new"
        try:
            growing.write_text(text, "utf-8")
            growing.replace(self.path / "stamp.json")
        except OSError as error:
            raise StoreUnavailable(
                f"the vector store {self.path} can't be written: {error.strerror}; check the disk and try again"
            ) from error

    def _read_stamp(self) -> Stamp | None:
        return _read_stamp(self.path)

    def shard_bytes(self) -> int:
        """Size of the shard's files."""
        return sum(file.stat().st_blocks * 512 for file in (self.path / "shard").rglob("*") if file.is_file())


def erase(path: Path) -> None:
    """Remove a store, damaged or not, so that the next `open` makes an empty one; `StoreUnavailable` if it is open."""
    folder = StoreFolder.claim(path)
    try:
        (path / "stamp.json").unlink(missing_ok=True)
        for name in ("shard", "shard.new"):
            shutil.rmtree(path / name, ignore_errors=True)
    finally:
        folder.release()


@contextmanager
def vendor_errors(path: Path, is_opening: bool = False) -> Iterator[None]:
    """Turn Edge's errors into `StoreUnavailable`. Edge raises bare `Exception`, and panics outside of `Exception`."""
    try:
        yield
    except BaseException as error:
        if type(error) is not Exception and type(error).__module__ != "pyo3_runtime":
            raise
        detail = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "WouldBlock" in detail:
            raise StoreUnavailable(_is_held(path)) from error
        if is_opening or type(error) is not Exception:
            raise StoreUnavailable(_is_damaged(path, detail)) from error
        raise StoreUnavailable(
            f"the vector store {path} did not answer: {detail}; try again, or run `tenure verify`"
        ) from error


def _is_held(path: Path) -> str:
    stamp = _read_stamp(path)
    who = f" (process {stamp.process_id})" if stamp is not None and stamp.process_id else ""
    return (
        f"another Tenure process{who} has the vector store {path} open; use that server, or stop it first: its "
        f"process id is in server.json of TENURE_HOME, and `fuser {path / 'lock'}` names it too"
    )


def _is_damaged(path: Path, detail: str) -> str:
    return f"the vector store {path} is damaged ({detail}); {_WAY_OUT}"


def _read_stamp(path: Path) -> Stamp | None:
    try:
        loaded: dict[str, Any] = json.loads((path / "stamp.json").read_text("utf-8"))
        return Stamp(int(loaded["dimension"]), loaded["points"], loaded["process_id"], loaded["format"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreUnavailable(_is_damaged(path, f"stamp.json can't be read: {error}")) from error


def _config(dimension: int) -> EdgeConfig:
    return EdgeConfig(
        vectors={Space.DENSE.value: EdgeVectorParams(dimension, Distance.Cosine, datatype=DENSE_STORAGE)},
        sparse_vectors={space.value: EdgeSparseVectorParams(modifier=Modifier.Idf) for space in SPARSE_SPACES},
        payload_memory=Memory.Cached,
        optimizers=EdgeOptimizersConfig(indexing_threshold=FLAT_SEARCH_KILOBYTES),
    )


def _index_fields(shard: EdgeShard) -> int:
    """Index the fields that are not, e.g. because Edge gave up a broken segment and filled a new one from its log.
    Returns the number of points.
    """
    info = shard.info()
    for field, schema in _indexes():
        if field not in info.payload_schema:
            shard.update(UpdateOperation.create_field_index(field, schema))
    return info.points_count


def _drop_half_written(shard: EdgeShard) -> None:
    """What a kill left without its fields. Its entry of the outbox is still there and writes it again."""
    half_written = Filter(must=[is_half_written()])
    if shard.count(CountRequest(filter=half_written)):
        shard.update(UpdateOperation.delete_points_by_filter(half_written))


def _indexes() -> Iterator[tuple[str, PayloadSchemaType | KeywordIndexParams]]:
    """The fields that are filtered by; a filter on any other reads the payload of every point that the rest leaves, as
    of the few points of an owner for their revision.
    """
    for field in _KEYWORD_FIELDS:
        yield field, PayloadSchemaType.Keyword
    for field in _PREFIX_FIELDS:
        yield field, KeywordIndexParams(prefix=True)
