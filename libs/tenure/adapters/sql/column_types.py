"""Column types that hold the same value in SQLite and Postgres: ids, times, texts and documents."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Integer, String, Text, Uuid
from sqlalchemy.types import TypeDecorator, TypeEngine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_NUL, _NUL_PICTURE = "\0", "\u2400"
_ESCAPES = range(0xDC80, 0xDD00)
"""The lone surrogates that stand for undecodable bytes 80 to FF (PEP 383)."""
_PRIVATE = 0x10FF80 - 0xDC80
"""Distance from a lone surrogate to the private-use character that stands for it in the database."""
_TO_STORE = {code: code + _PRIVATE for code in _ESCAPES} | {0: _NUL_PICTURE}
_FROM_STORE = {code + _PRIVATE: code for code in _ESCAPES}

ID = Uuid(as_uuid=False).with_variant(String(36), "sqlite")
"""A canonical lower-case UUID string: native in Postgres, 36 characters in SQLite (no conversion on either way)."""

DOCUMENT = JSON()
"""A JSON object. Text, not binary JSON: escapes of any character are kept as they are written."""

NUMBER = BigInteger().with_variant(Integer(), "sqlite")
"""A 64-bit number that the database may count up by itself."""


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time with microseconds; SQLite keeps microseconds since 1970, so that order is number order."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """A number in SQLite, a time with zone elsewhere."""
        return BigInteger() if dialect.name == "sqlite" else DateTime(timezone=True)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """A naive time is refused with `ValueError`: nobody can say when it was."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; pass an aware time")
        return (value - _EPOCH) // _MICROSECOND if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Always UTC."""
        if value is None:
            return None
        if dialect.name == "sqlite":
            return _EPOCH + timedelta(microseconds=value)
        at: datetime = value
        return at.astimezone(UTC)


class SafeText(TypeDecorator[str]):
    """Text that every database takes. Undecodable bytes of file names come back as they went in; NUL, which Postgres
    refuses, becomes its picture.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - the base's
        """Plain ASCII passes through."""
        if value is None or (value.isascii() and _NUL not in value):
            return value
        return value.translate(_TO_STORE).encode("utf-8", "replace").decode("utf-8")

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - the base's
        """The inverse, but for NUL."""
        return value if value is None or value.isascii() else value.translate(_FROM_STORE)
