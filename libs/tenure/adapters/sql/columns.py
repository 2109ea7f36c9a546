"""What the tables have in common: the naming of constraints and the columns that recur."""

from typing import Any

from sqlalchemy import Column, ForeignKeyConstraint, MetaData, String
from sqlalchemy.types import TypeEngine

from tenure.adapters.sql.column_types import ID

WORD = String(40)
"""A member of a closed set, or another short name of our own."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def must(name: str, type_: TypeEngine[Any] | type[TypeEngine[Any]]) -> "Column[Any]":
    """A column that always has a value."""
    return Column(name, type_, nullable=False)


def workspace_column() -> "Column[Any]":
    """The first column of every table of a workspace."""
    return Column("workspace_id", ID, nullable=False)


def repository_key() -> ForeignKeyConstraint:
    """Rows of a repository that is gone can't come back, whatever a late job still writes."""
    return ForeignKeyConstraint(
        ["workspace_id", "repository_id"], ["repositories.workspace_id", "repositories.id"], ondelete="CASCADE"
    )
