"""All tables of the truth in one place; whoever needs one takes it from here."""

from tenure.adapters.sql.columns import metadata
from tenure.adapters.sql.tables_code import (
    edges,
    file_bodies,
    file_profiles,
    files,
    left_out,
    lookups,
    nodes,
    unresolved,
)
from tenure.adapters.sql.tables_directory import api_keys, members, principals, repositories, workspaces
from tenure.adapters.sql.tables_vectors import chunks, embedding_stamps, embeddings, refusals
from tenure.adapters.sql.tables_work import event_counters, event_payloads, events, jobs, outbox, queries

HEAD = "0001"
"""The newest migration; `check` compares the database with it without loading Alembic."""

__all__ = [
    "HEAD",
    "api_keys",
    "chunks",
    "edges",
    "embedding_stamps",
    "embeddings",
    "event_counters",
    "event_payloads",
    "events",
    "file_bodies",
    "file_profiles",
    "files",
    "jobs",
    "left_out",
    "lookups",
    "members",
    "metadata",
    "nodes",
    "outbox",
    "principals",
    "queries",
    "refusals",
    "repositories",
    "unresolved",
    "workspaces",
]
