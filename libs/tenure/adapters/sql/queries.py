"""`SqlQueryLog`: what was asked, and what each source answered."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import delete

from tenure.adapters.sql.schema import queries
from tenure.adapters.sql.transaction import Transaction

_COLUMNS = ("id", "at", "query", "record")


class SqlQueryLog:
    """See `ports.repositories.QueryLog`."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def add(self, query_id: str, at: datetime, query: str, record: Mapping[str, Any]) -> None:
        """Store one answered query."""
        await self._transaction.bulk(queries, _COLUMNS, [(query_id, at, query, dict(record))], ("id",))

    async def expire(self, before: datetime) -> int:
        """Remove older ones; returns how many."""
        return await self._transaction.change(
            delete(queries).where(self._transaction.mine(queries), queries.c.at < before)
        )
