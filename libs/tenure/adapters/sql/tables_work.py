"""Tables of jobs, outbox, events and queries."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from tenure.adapters.sql.column_types import DOCUMENT, ID, NUMBER, Bytes, SafeText, UtcDateTime
from tenure.adapters.sql.columns import WORD, metadata, must, workspace_column

_ACTIVE = text("state IN ('queued', 'running')")

jobs = Table(
    "jobs",
    metadata,
    workspace_column(),
    must("id", ID),
    must("kind", WORD),
    must("key", Text),
    must("state", WORD),
    must("created_at", UtcDateTime),
    must("token", BigInteger),
    must("attempts", Integer),
    Column("leased_until", UtcDateTime),
    Column("started_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    must("is_rerun_wanted", Boolean),
    must("options", DOCUMENT),
    must("progress", DOCUMENT),
    must("error", SafeText),
    PrimaryKeyConstraint("workspace_id", "id"),
    Index("uq_jobs_active", "workspace_id", "kind", "key", unique=True, sqlite_where=_ACTIVE, postgresql_where=_ACTIVE),
    Index(None, "workspace_id", "created_at"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("position", NUMBER, primary_key=True, autoincrement=True),
    workspace_column(),
    must("kind", WORD),
    must("repository_id", Text),  # text: empty where the whole workspace is meant
    must("subject_id", ID),
    must("revision", BigInteger),
    must("attempts", Integer),
    Index(None, "workspace_id", "position"),
    sqlite_autoincrement=True,  # positions of removed entries are never given again
)

event_counters = Table(
    "event_counters",
    metadata,
    Column("workspace_id", ID, primary_key=True),
    must("position", BigInteger),
)

events = Table(
    "events",
    metadata,
    workspace_column(),
    must("position", BigInteger),
    must("key", Text),
    must("type", WORD),
    must("at", UtcDateTime),
    must("recorded_at", UtcDateTime),
    Column("session_id", Text),
    Column("actor", SafeText),
    must("payload_version", Integer),
    PrimaryKeyConstraint("workspace_id", "position"),
    UniqueConstraint("workspace_id", "key"),
    Index(None, "workspace_id", "type", "position"),
    Index(None, "workspace_id", "session_id", "position"),
)

event_payloads = Table(
    "event_payloads",
    metadata,
    workspace_column(),
    must("position", BigInteger),
    must("payload", Bytes),  # zstd-compressed JSON
    PrimaryKeyConstraint("workspace_id", "position"),
)

queries = Table(
    "queries",
    metadata,
    workspace_column(),
    must("id", ID),
    must("at", UtcDateTime),
    must("query", SafeText),
    must("record", DOCUMENT),
    PrimaryKeyConstraint("workspace_id", "id"),
    Index(None, "workspace_id", "at"),
)
