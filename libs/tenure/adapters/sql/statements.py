"""The few constructs that SQLite and Postgres spell differently."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    Dialect,
    FromClause,
    Table,
    cast,
    column,
    func,
    literal,
    select,
    type_coerce,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

from tenure.adapters.sql.column_types import ID_BYTES, Bytes, Identifier, id_bytes

INSERTS = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
"""The dialects' INSERT with ON CONFLICT: equal in use, not in class."""


def listed(dialect: Dialect, values: Iterable[str], type_: TypeEngine[Any], name: str = "listed") -> FromClause:
    """A table of one column `value`, of ids or of texts. One or two bound parameters however many values: no limit on
    their number, and the statement's text does not depend on it.
    """
    if dialect.name != "sqlite":
        array: Any = cast(literal(list(values), ARRAY(type_)), ARRAY(type_))
        return func.unnest(array).table_valued(column("value", type_), name=name)
    if not isinstance(type_, Identifier):
        return func.json_each(json.dumps(list(values))).table_valued(column("value", type_), name=name)
    # JSON holds no bytes: the ids stand one after the other, and a list of zeros counts them off.
    ids = b"".join(map(id_bytes, values))
    counter = func.json_each(json.dumps([0] * (len(ids) // ID_BYTES))).table_valued("key")
    one = func.substr(literal(ids, Bytes()), counter.c.key * ID_BYTES + 1, ID_BYTES)
    return select(type_coerce(one, type_).label("value")).subquery(name)


def among(dialect: Dialect, column_: "Column[Any]", values: Iterable[str]) -> ColumnElement[bool]:
    """True where the column is one of the values."""
    return column_.in_(select(listed(dialect, values, column_.type).c.value))


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
