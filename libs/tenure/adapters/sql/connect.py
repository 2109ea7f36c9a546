"""Connections: one writer and a few readers of a SQLite file, each with the settings that SPEC section 17 fixes."""

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import URL, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from tenure.adapters.sql.one_trip import OneTripConnection
from tenure.core.errors import InvalidInput

BUSY_TIMEOUT_MS = 10_000
"""How long a statement waits for another process's lock."""
READERS = 4
"""Connections that read side by side; more would only wait for the two cores."""
READER_WAIT_S = 30.0
"""How long a read waits for a connection before the database counts as busy."""
_WRITER_CACHE_KIB = 131_072
"""Page cache of the writer: random keys of a bulk write touch most pages of an index."""
_READER_CACHE_KIB = 32_768
_PAGE_BYTES = 8_192
"""Of a new file: half as many writes as with the default for the pages that a bulk write touches."""
_CHECKPOINT_PAGES = 16_000
"""Pages in the write-ahead log before it is copied back: few copies of the pages that every batch touches."""
_LOG_LIMIT_BYTES = 64 * 1024 * 1024
"""The size to which the write-ahead log shrinks again."""
_CACHED_STATEMENTS = 256

_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True)
"""Made once: building one costs more than the use."""


def database_url(url: str) -> URL:
    """The address with its async driver; `InvalidInput` for a database that has no adapter here."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidInput(
            f"DATABASE_URL {url!r} is not an address; write e.g. sqlite:////path/to/tenure.db"
        ) from error
    if parsed.get_backend_name() != "sqlite":
        raise InvalidInput(
            f"No adapter for {parsed.get_backend_name()!r} in DATABASE_URL; use sqlite:////path/to/tenure.db"
        )
    if not parsed.database or parsed.database == ":memory:":
        raise InvalidInput("DATABASE_URL names no file; write e.g. sqlite:////path/to/tenure.db")
    return parsed.set(drivername="sqlite+aiosqlite")


def compact_json(value: Any) -> str:
    """JSON without spaces, ASCII only, keys in order: equal values are equal text in every database."""
    return _ENCODER.encode(value)


def writer_engine(url: URL) -> AsyncEngine:
    """An engine with a single connection that may write."""
    pragmas = (
        f"PRAGMA page_size = {_PAGE_BYTES}",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = NORMAL",
        f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}",
        f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}",
        f"PRAGMA journal_size_limit = {_LOG_LIMIT_BYTES}",
        # What a statement of many rows may have to undo is kept in memory: in a file, each page would be written there.
        "PRAGMA temp_store = MEMORY",
    )
    return _engine(url, 1, pragmas)


def reader_engine(url: URL) -> AsyncEngine:
    """An engine with a few connections that refuse every write."""
    return _engine(url, READERS, ("PRAGMA query_only = ON", f"PRAGMA cache_size = -{_READER_CACHE_KIB}"))


def _engine(url: URL, size: int, pragmas: tuple[str, ...]) -> AsyncEngine:
    """Transactions begin and end by our own statements: the driver's control is off (`isolation_level=None`), and
    the toolkit's as well (`AUTOCOMMIT`), because either would begin a transaction late and deferred.
    """
    engine = create_async_engine(
        url,
        isolation_level="AUTOCOMMIT",
        poolclass=AsyncAdaptedQueuePool,
        pool_size=size,
        max_overflow=0,
        pool_timeout=READER_WAIT_S,
        json_serializer=compact_json,
        hide_parameters=True,  # errors must not carry what people stored
        connect_args={
            "isolation_level": None,
            "cached_statements": _CACHED_STATEMENTS,
            "async_creator_fn": OneTripConnection,
        },
    )
    event.listen(engine.sync_engine, "connect", _setter(pragmas))
    return engine


def _setter(pragmas: tuple[str, ...]) -> Callable[[Any, Any], None]:
    def set_pragmas(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        for pragma in (f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}", "PRAGMA foreign_keys = ON", *pragmas):
            cursor.execute(pragma)
        cursor.close()

    return set_pragmas
