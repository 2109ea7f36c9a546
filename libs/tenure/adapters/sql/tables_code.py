"""Tables of files, nodes, edges and references. Each primary key and index starts with `workspace_id`."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from tenure.adapters.sql.column_types import DOCUMENT, ID, NUMBER, Bytes, SafeText, UtcDateTime
from tenure.adapters.sql.columns import WORD, metadata, must, repository_key, workspace_column

files = Table(
    "files",
    metadata,
    workspace_column(),
    must("id", ID),
    must("repository_id", ID),
    must("path", SafeText),
    must("basename", SafeText),
    must("language", WORD),
    must("role", WORD),
    must("content_hash", Text),
    must("signature", Text),
    must("parser_version", Text),
    must("size", BigInteger),
    must("lines", BigInteger),
    must("status", WORD),
    must("reason", SafeText),
    must("is_resolved", Boolean),
    must("revision", BigInteger),
    PrimaryKeyConstraint("workspace_id", "id"),
    UniqueConstraint("workspace_id", "repository_id", "path"),
    Index(None, "workspace_id", "basename"),
    repository_key(),
)

# Beside `files`, so that lists of files never read texts; small values first, so that they don't walk past the text.
file_bodies = Table(
    "file_bodies",
    metadata,
    workspace_column(),
    must("file_id", ID),
    must("exports", Bytes),
    must("references", Bytes),
    must("sparse", Bytes),
    must("text", Bytes),
    PrimaryKeyConstraint("workspace_id", "file_id"),
    ForeignKeyConstraint(["workspace_id", "file_id"], ["files.workspace_id", "files.id"], ondelete="CASCADE"),
)

file_profiles = Table(
    "file_profiles",
    metadata,
    workspace_column(),
    must("file_id", ID),
    Column("profile", Bytes),
    Column("prior", Float(53)),
    PrimaryKeyConstraint("workspace_id", "file_id"),
    ForeignKeyConstraint(["workspace_id", "file_id"], ["files.workspace_id", "files.id"], ondelete="CASCADE"),
)

left_out = Table(
    "left_out",
    metadata,
    workspace_column(),
    must("repository_id", ID),
    must("path", SafeText),
    must("reason", SafeText),
    must("signature", Text),
    PrimaryKeyConstraint("workspace_id", "repository_id", "path"),
    repository_key(),
)

nodes = Table(
    "nodes",
    metadata,
    workspace_column(),
    must("id", ID),
    Column("owner_id", ID),
    must("sequence", Integer),  # the order in the owner's source
    Column("repository_id", ID),
    must("kind", WORD),
    must("type", WORD),
    must("title", SafeText),
    Column("name", SafeText),  # of definitions: the last part of the qualified name
    Column("content", SafeText),  # NULL: read from the owner's text
    must("token_count", Integer),
    Column("path", SafeText),
    Column("qualified_name", SafeText),
    Column("start_line", Integer),
    Column("end_line", Integer),
    Column("content_hash", Text),
    Column("commit", Text),
    must("metadata", DOCUMENT),
    must("trust", WORD),
    must("confidence", Float(53)),
    must("weight", Float(53)),
    Column("last_used_at", UtcDateTime),
    must("use_count", Integer),
    must("state", WORD),
    must("visibility", WORD),
    must("created_at", UtcDateTime),
    must("updated_at", UtcDateTime),
    PrimaryKeyConstraint("workspace_id", "id"),
    Index(None, "workspace_id", "owner_id", "sequence"),
    Index(
        "ix_nodes_workspace_id_name",
        "workspace_id",
        "name",
        sqlite_where=text("name IS NOT NULL"),
        postgresql_where=text("name IS NOT NULL"),
    ),
    Index(None, "workspace_id", "repository_id", "type", "created_at"),
    repository_key(),
)

edges = Table(
    "edges",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    workspace_column(),
    must("owner_id", ID),
    must("source_id", ID),
    must("type", WORD),
    must("target_id", ID),
    must("weight", Float(53)),
    must("confidence", Float(53)),
    Column("line", Integer),
    UniqueConstraint("workspace_id", "owner_id", "source_id", "type", "target_id"),
    Index(None, "workspace_id", "source_id", "type"),
    Index(None, "workspace_id", "target_id", "type"),
)

unresolved = Table(
    "unresolved",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    workspace_column(),
    must("owner_id", ID),
    must("source_id", ID),
    must("kind", WORD),
    must("name", SafeText),
    must("last_name", SafeText),
    must("line", Integer),
    Index(None, "workspace_id", "owner_id"),
    Index(None, "workspace_id", "last_name"),
)

lookups = Table(
    "lookups",
    metadata,
    workspace_column(),
    must("owner_id", ID),
    must("module", SafeText),
    PrimaryKeyConstraint("workspace_id", "owner_id", "module"),
    Index(None, "workspace_id", "module"),
)
