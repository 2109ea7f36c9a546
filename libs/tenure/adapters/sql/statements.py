"""The few constructs that SQLite and Postgres spell differently."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    BindParameter,
    Column,
    ColumnElement,
    Dialect,
    FromClause,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    column,
    func,
    select,
    type_coerce,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

from tenure.adapters.sql.column_types import ID, ID_BYTES, Bytes, Identifier, id_bytes, to_store

WORKSPACE, WANTED = "workspace", "wanted"
"""The named places of statements that are built once: the workspace, and the values that are looked up."""
INSERTS = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
"""The dialects' INSERT with ON CONFLICT: equal in use, not in class."""


def listed(dialect: Dialect, values: Iterable[str], type_: TypeEngine[Any]) -> FromClause:
    """A table of one column `value`, of ids or of texts. One or two bound parameters however many values: no limit on
    their number, and the statement's text does not depend on it.
    """
    return _listing(dialect, type_, "listed", listing_values(dialect, type_, "listed", values))


def listing(dialect: Dialect, type_: TypeEngine[Any], name: str) -> FromClause:
    """The same for a statement that is built once: its values come with each run, see `listing_values`."""
    return _listing(dialect, type_, name, None)


def listing_values(dialect: Dialect, type_: TypeEngine[Any], name: str, values: Iterable[str]) -> dict[str, Any]:
    """The parameters of the listing of this name."""
    if dialect.name != "sqlite":
        return {name: list(values)}
    if not isinstance(type_, Identifier):
        return {name: json.dumps([to_store(value) for value in values])}
    # JSON holds no bytes: the ids stand one after the other, and a list of zeros counts them off.
    ids = b"".join(map(id_bytes, values))
    return {name: ids, f"{name}_count": json.dumps([0] * (len(ids) // ID_BYTES))}


def _listing(dialect: Dialect, type_: TypeEngine[Any], name: str, values: Mapping[str, Any] | None) -> FromClause:
    def parameter(key: str, its_type: TypeEngine[Any]) -> BindParameter[Any]:
        return bindparam(key, values[key] if values else None, type_=its_type, unique=values is not None)

    if dialect.name != "sqlite":
        array: Any = cast(parameter(name, ARRAY(type_)), ARRAY(type_))
        return func.unnest(array).table_valued(column("value", type_), name=name)
    if not isinstance(type_, Identifier):
        return func.json_each(parameter(name, Text())).table_valued(column("value", type_), name=name)
    counter = func.json_each(parameter(f"{name}_count", Text())).table_valued("key")
    one = func.substr(parameter(name, Bytes()), counter.c.key * ID_BYTES + 1, ID_BYTES)
    return select(type_coerce(one, type_).label("value")).subquery(name)


def among(dialect: Dialect, column_: "Column[Any]", values: Iterable[str]) -> ColumnElement[bool]:
    """True where the column is one of the values."""
    return column_.in_(select(listed(dialect, values, column_.type).c.value))


def ours(table: Table) -> ColumnElement[bool]:
    """Only rows of the workspace that comes with each run: for statements that are built once."""
    return table.c.workspace_id == bindparam(WORKSPACE, type_=ID)


@lru_cache(maxsize=64)
def lookup(
    dialect: Dialect, columns: tuple[Any, ...], key: "Column[Any]", *conditions: ColumnElement[bool]
) -> Select[Any]:
    """Rows whose `key` is one of the values that come with each run. Built once: building it takes longer than running it."""
    wanted = listing(dialect, key.type, WANTED)
    return select(*columns).where(ours(key.table), key.in_(select(wanted.c.value)), *conditions)


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
