"""Column types that hold the same value in SQLite and Postgres: ids, times, texts and documents."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Integer, LargeBinary, Text, Uuid
from sqlalchemy.types import TypeDecorator, TypeEngine

from tenure.core.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_NUL, _NUL_PICTURE = "\0", "\u2400"
_ESCAPES = range(0xDC80, 0xDD00)
"""The lone surrogates that stand for undecodable bytes 80 to FF (PEP 383)."""
_PRIVATE = 0x10FF80 - 0xDC80
"""Distance from a lone surrogate to the private-use character that stands for it in the database."""
_TO_STORE = {code: code + _PRIVATE for code in _ESCAPES} | {0: _NUL_PICTURE}
_FROM_STORE = {code + _PRIVATE: code for code in _ESCAPES}

DOCUMENT = JSON()
"""A JSON object. Text, not binary JSON: escapes of any character are kept as they are written."""

NUMBER = BigInteger().with_variant(Integer(), "sqlite")
"""A 64-bit number that the database may count up by itself."""


class Bytes(LargeBinary):
    """Bytes; SQLite's driver gets them as they are, not wrapped in a memory view for each value."""

    def bind_processor(self, dialect: Dialect) -> Any:
        """None where the driver takes bytes."""
        return None if dialect.name == "sqlite" else super().bind_processor(dialect)  # type: ignore[no-untyped-call] # SQLAlchemy leaves it untyped


class Identifier(TypeDecorator[str]):
    """A canonical lower-case UUID string: native in Postgres, its 16 bytes in SQLite.

    Half the text's size in every index is worth more than the conversion costs. `InvalidInput` for anything else.
    """

    impl = Uuid(as_uuid=False)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Bytes in SQLite."""
        return Bytes(ID_BYTES) if dialect.name == "sqlite" else Uuid(as_uuid=False)

    def bind_processor(self, dialect: Dialect) -> Any:
        """The bare function: bulk writes call it a million times."""
        return optional_id_bytes if dialect.name == "sqlite" else super().bind_processor(dialect)

    def result_processor(self, dialect: Dialect, coltype: Any) -> Any:
        """The inverse."""
        return optional_id_text if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


ID = Identifier()
ID_BYTES = 16
_TEXT_LENGTH = 36


@lru_cache(maxsize=1 << 16)
def id_bytes(value: str) -> bytes:
    """The 16 bytes of a canonical UUID string; `InvalidInput` for another. The ids of a batch recur in its rows."""
    try:
        data = bytes.fromhex(value.replace("-", ""))
    except ValueError:
        data = b""
    if len(data) != ID_BYTES or len(value) != _TEXT_LENGTH:
        raise InvalidInput(f"{value!r} is not an id; ids are UUIDs, 36 characters with hyphens")
    return data


@lru_cache(maxsize=1 << 16)
def id_text(data: bytes) -> str:
    """The canonical string of 16 bytes; what questions find recurs as well."""
    text = data.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def optional_id_bytes(value: str | None) -> bytes | None:
    """None for None."""
    return None if value is None else id_bytes(value)


def optional_id_text(data: bytes | None) -> str | None:
    """None for None."""
    return None if data is None else id_text(data)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time with microseconds; SQLite keeps microseconds since 1970, so that order is number order."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """A number in SQLite, a time with zone elsewhere."""
        return BigInteger() if dialect.name == "sqlite" else DateTime(timezone=True)

    def bind_processor(self, dialect: Dialect) -> Any:
        """The bare function: bulk writes call it often."""
        return to_microseconds if dialect.name == "sqlite" else super().bind_processor(dialect)

    def result_processor(self, dialect: Dialect, coltype: Any) -> Any:  # noqa: ARG002 - the base's signature
        """Always UTC."""
        return from_microseconds if dialect.name == "sqlite" else in_utc


def to_microseconds(value: datetime | None) -> int | None:
    """Microseconds since 1970; a naive time is refused: nobody can say when it was."""
    if value is None:
        return None
    if value.tzinfo is None:
        raise InvalidInput(f"{value!r} has no time zone; pass an aware time")
    return (value - _EPOCH) // _MICROSECOND


def from_microseconds(value: int | None) -> datetime | None:
    """The inverse of `to_microseconds`."""
    return None if value is None else _EPOCH + timedelta(microseconds=value)


def in_utc(value: datetime | None) -> datetime | None:
    """The same moment, told in UTC."""
    return None if value is None else value.astimezone(UTC)


class SafeText(TypeDecorator[str]):
    """Text that every database takes. Undecodable bytes of file names come back as they went in; NUL, which Postgres
    refuses, becomes its picture.
    """

    impl = Text
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Any:  # noqa: ARG002 - the base's signature
        """The bare function: bulk writes call it a million times."""
        return to_store

    def result_processor(self, dialect: Dialect, coltype: Any) -> Any:  # noqa: ARG002 - the base's signature
        """The inverse, but for NUL."""
        return from_store


def to_store(value: str | None) -> str | None:
    """Plain ASCII passes through."""
    if value is None or (value.isascii() and _NUL not in value):
        return value
    return value.translate(_TO_STORE).encode("utf-8", "replace").decode("utf-8")


def from_store(value: str | None) -> str | None:
    """The inverse of `to_store`, but for NUL."""
    return value if value is None or value.isascii() else value.translate(_FROM_STORE)
