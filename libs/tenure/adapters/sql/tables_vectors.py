"""Tables of chunks and embeddings."""

from sqlalchemy import (
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from tenure.adapters.sql.column_types import ID, Bytes, SafeText
from tenure.adapters.sql.columns import metadata, must, workspace_column

chunks = Table(
    "chunks",
    metadata,
    workspace_column(),
    must("id", ID),
    must("node_id", ID),
    must("owner_id", ID),
    must("repository_id", ID),
    must("number", Integer),
    must("start_line", Integer),
    must("end_line", Integer),
    must("start_offset", Integer),
    must("end_offset", Integer),
    must("content_hash", Text),
    must("token_count", Integer),
    must("priority", Integer),  # 0 code, 1 test, 2 others: the order of embedding
    must("stamp", Integer),  # an `embedding_stamps.number` whose vector of this content is there; 0: none known
    must("sparse", Bytes),
    PrimaryKeyConstraint("workspace_id", "id"),
    Index(None, "workspace_id", "owner_id"),
    Index(None, "workspace_id", "content_hash"),
    Index(None, "workspace_id", "repository_id", "stamp", "priority", "id"),
    ForeignKeyConstraint(["workspace_id", "owner_id"], ["files.workspace_id", "files.id"], ondelete="CASCADE"),
)

embedding_stamps = Table(
    "embedding_stamps",
    metadata,
    workspace_column(),
    must("number", Integer),
    must("model", Text),
    must("dimension", Integer),
    PrimaryKeyConstraint("workspace_id", "number"),
    UniqueConstraint("workspace_id", "model", "dimension"),
    CheckConstraint("number > 0", name="positive"),
)

embeddings = Table(
    "embeddings",
    metadata,
    workspace_column(),
    must("stamp", Integer),
    must("content_hash", Text),
    must("vector", Bytes),
    PrimaryKeyConstraint("workspace_id", "stamp", "content_hash"),
)

refusals = Table(
    "refusals",
    metadata,
    workspace_column(),
    must("model", Text),
    must("content_hash", Text),
    must("reason", SafeText),
    PrimaryKeyConstraint("workspace_id", "model", "content_hash"),
)
