"""The few constructs that SQLite and Postgres spell differently."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ARRAY, Column, ColumnElement, Dialect, Table, Text, cast, func, literal, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.selectable import TableValuedAlias

INSERTS = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
"""The dialects' INSERT with ON CONFLICT: equal in use, not in class."""


def listed(dialect: Dialect, values: Iterable[str], name: str = "listed") -> TableValuedAlias:
    """A table of one text column `value`. One bound parameter however many values: no limit on their number, and the
    statement's text does not depend on it.
    """
    if dialect.name == "sqlite":
        return func.json_each(json.dumps(list(values))).table_valued("value", name=name)
    return func.unnest(cast(literal(list(values), ARRAY(Text)), ARRAY(Text))).table_valued("value", name=name)


def among(dialect: Dialect, column: "Column[Any]", values: Iterable[str]) -> ColumnElement[bool]:
    """True where the column is one of the values; text that no column could hold matches nothing."""
    table = listed(dialect, values)
    value = table.c.value if dialect.name == "sqlite" else cast(table.c.value, column.type)
    return column.in_(select(value))


def upsert(
    dialect: Dialect, table: Table, keys: Sequence[str], keep: Iterable[str] = (), *, replace: bool = True
) -> Any:
    """INSERT that replaces the row with the same keys, all columns but `keep`; with `replace=False` that row stays.

    Without keys it is a plain INSERT.
    """
    statement: Any = INSERTS[dialect.name](table)
    if not keys:
        return statement
    if not replace:
        return statement.on_conflict_do_nothing(index_elements=list(keys))
    kept = {*keys, *keep}
    changed = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in kept}
    return statement.on_conflict_do_update(index_elements=list(keys), set_=changed)
