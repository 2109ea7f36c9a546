"""Files and their chunks as rows and back."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import Row

from tenure.adapters.sql.schema import chunks, files
from tenure.core.memory import Chunk, FileRecord, FileRole, ParseStatus
from tenure.ports.records import FileState

FILE_COLUMNS = tuple(column.name for column in files.columns if column.name != "workspace_id")
BODY_COLUMNS = ("file_id", "exports", "references", "sparse", "text")
CHUNK_COLUMNS = tuple(column.name for column in chunks.columns if column.name != "workspace_id")
STATE_FIELDS = tuple(files.c[field.name] for field in fields(FileState))
"""The columns that make a `FileState`, in the order of its fields."""
CHUNK_FIELDS = tuple(chunks.c[field.name] for field in fields(Chunk))
"""The columns that make a `Chunk`, in the order of its fields."""
CHUNK_COMPARED = tuple(name for name in CHUNK_COLUMNS if name != "stamp")

_PRIORITIES = {FileRole.CODE: 0, FileRole.TEST: 1}
_LAST_PRIORITY = 2


def basename(path: str) -> str:
    """The last part of a path."""
    return path.rsplit("/", 1)[-1]


def file_values(file: FileRecord) -> tuple[Any, ...]:
    """The row in the order of `FILE_COLUMNS`."""
    return (
        file.id,
        file.repository_id,
        file.path,
        basename(file.path),
        file.language,
        file.role.value,
        file.content_hash,
        file.signature,
        file.parser_version,
        file.size,
        file.lines,
        file.status.value,
        file.reason,
        file.is_resolved,
        file.revision,
    )


def body_values(file: FileRecord) -> tuple[Any, ...]:
    """The row in the order of `BODY_COLUMNS`."""
    return (file.id, file.exports, file.references, file.sparse, file.text)


def chunk_values(chunk: Chunk, file: FileRecord, stamps: Mapping[str, int]) -> tuple[Any, ...]:
    """The row in the order of `CHUNK_COLUMNS`; `stamps` tells of which contents there is a vector."""
    return (
        chunk.id,
        chunk.node_id,
        chunk.owner_id,
        file.repository_id,
        chunk.number,
        chunk.start_line,
        chunk.end_line,
        chunk.start_offset,
        chunk.end_offset,
        chunk.content_hash,
        chunk.token_count,
        _PRIORITIES.get(file.role, _LAST_PRIORITY),
        stamps.get(chunk.content_hash, 0),
        chunk.sparse,
    )


def file_of(row: Row[Any]) -> FileRecord:
    """The record of a row of `files` joined with `file_bodies`."""
    return FileRecord(
        id=row.id,
        repository_id=row.repository_id,
        path=row.path,
        language=row.language,
        role=FileRole(row.role),
        content_hash=row.content_hash,
        signature=row.signature,
        parser_version=row.parser_version,
        size=row.size,
        lines=row.lines,
        status=ParseStatus(row.status),
        reason=row.reason,
        text=row.text,
        sparse=row.sparse,
        exports=row.exports,
        references=row.references,
        is_resolved=row.is_resolved,
        revision=row.revision,
    )


def state_of(row: Row[Any]) -> FileState:
    """What a row of `STATE_FIELDS` tells about the file."""
    values: list[Any] = [*row]
    values[-2:] = FileRole(row.role), ParseStatus(row.status)
    return FileState(*values)


def chunk_of(row: Row[Any]) -> Chunk:
    """The record of a row that begins with `CHUNK_FIELDS`."""
    return Chunk(*row[: len(CHUNK_FIELDS)])
