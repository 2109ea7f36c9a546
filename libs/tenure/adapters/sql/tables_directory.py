"""Tables of workspaces, principals, members, keys and repositories."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from tenure.adapters.sql.column_types import ID, SafeText, UtcDateTime
from tenure.adapters.sql.columns import WORD, metadata, must

workspaces = Table(
    "workspaces",
    metadata,
    Column("id", ID, primary_key=True),
    must("name", SafeText),
    must("created_at", UtcDateTime),
    UniqueConstraint("name"),
)

principals = Table("principals", metadata, Column("id", ID, primary_key=True), must("name", SafeText))

members = Table(
    "members",
    metadata,
    Column("workspace_id", ID, ForeignKey("workspaces.id", ondelete="CASCADE"), nullable=False),
    Column("principal_id", ID, ForeignKey("principals.id", ondelete="CASCADE"), nullable=False),
    must("role", WORD),
    PrimaryKeyConstraint("workspace_id", "principal_id"),
    Index(None, "principal_id"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", ID, primary_key=True),
    Column("principal_id", ID, ForeignKey("principals.id", ondelete="CASCADE"), nullable=False),
    must("prefix", String(40)),
    must("secret_hash", String(64)),
    must("created_at", UtcDateTime),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    UniqueConstraint("secret_hash"),
    Index(None, "principal_id"),
)

repositories = Table(
    "repositories",
    metadata,
    Column("workspace_id", ID, ForeignKey("workspaces.id", ondelete="CASCADE"), nullable=False),
    must("id", ID),
    must("name", SafeText),
    must("root", SafeText),
    must("tree", SafeText),  # '' for none: a unique index does not compare NULLs
    must("kind", WORD),
    must("created_at", UtcDateTime),
    Column("branch", SafeText),
    Column("commit", Text),
    Column("history_commit", Text),
    must("revision", BigInteger),
    Column("indexed_at", UtcDateTime),
    must("is_stale", Boolean),
    must("detail", SafeText),
    PrimaryKeyConstraint("workspace_id", "id"),
    UniqueConstraint("workspace_id", "root", "tree"),
)
