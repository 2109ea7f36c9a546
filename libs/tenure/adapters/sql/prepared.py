"""Statements that are compiled once and run by the driver itself.

For a statement of a few rows the toolkit's own work, from the look-up of its compiled text to the rows' wrapping, takes
several times as long as SQLite's.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Dialect, Select

Record: TypeAlias = Any
"""A row: a named tuple of the statement's columns."""


class Prepared:
    """The text of a query, and the conversions of its parameters and columns by their own types."""

    def __init__(self, dialect: Dialect, statement: Select[Any]) -> None:
        compiled: Any = statement.compile(dialect=dialect)
        self.text = str(compiled)
        binds = compiled.binds
        self._fixed = {name: value for name, value in compiled.params.items() if not binds[name].required}
        self._places = [
            (name, binds[name].type.dialect_impl(dialect).bind_processor(dialect)) for name in compiled.positiontup
        ]
        columns = list(statement.selected_columns)
        self._record: Any = NamedTuple("Row", [(column.name, Any) for column in columns])  # type: ignore[misc] # the columns are known at run time only
        processors = (column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns)
        self._processors = [(place, one) for place, one in enumerate(processors) if one is not None]

    @staticmethod
    @lru_cache(maxsize=64)
    def of(dialect: Dialect, statement: Select[Any]) -> "Prepared":
        """The same object for the same statement."""
        return Prepared(dialect, statement)

    def parameters(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values in the order of their places; `KeyError` for one that is not given."""
        values = {**self._fixed, **given}
        return tuple(values[name] if process is None else process(values[name]) for name, process in self._places)

    def records(self, rows: Sequence[tuple[Any, ...]]) -> list[Record]:
        """The rows as the driver gave them, converted column by column."""
        if not rows:
            return []
        columns: list[Iterable[Any]] = list(zip(*rows, strict=True))
        for place, process in self._processors:
            columns[place] = map(process, columns[place])
        return list(map(self._record._make, zip(*columns, strict=True)))
