"""`SqlOutbox`: due projections, in the order in which they were written."""

from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam, delete, func, select, update

from tenure.adapters.sql.schema import outbox
from tenure.adapters.sql.transaction import Transaction
from tenure.ports.records import OutboxEntry, OutboxKind

_COLUMNS = ("kind", "repository_id", "subject_id", "revision", "attempts")


class SqlOutbox:
    """See `ports.repositories.Outbox`."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def add(self, kind: OutboxKind, repository_id: str, revisions: Mapping[str, int]) -> None:
        """One entry per subject id, in the order given."""
        rows = [(kind.value, repository_id, subject, revision, 0) for subject, revision in revisions.items()]
        await self.add_rows(rows)

    async def add_rows(self, rows: Sequence[tuple[str, str, str, int, int]]) -> None:
        """Entries of several repositories at once: (kind, repository, subject, revision, attempts)."""
        await self._transaction.bulk(outbox, _COLUMNS, rows, ())

    async def take(self, limit: int) -> list[OutboxEntry]:
        """The oldest entries, in order of position. They stay until `done`."""
        query = select(outbox).where(self._transaction.mine(outbox)).order_by(outbox.c.position).limit(limit)
        return [
            OutboxEntry(
                position=row.position,
                workspace_id=row.workspace_id,
                kind=OutboxKind(row.kind),
                repository_id=row.repository_id,
                subject_id=row.subject_id,
                revision=row.revision,
                attempts=row.attempts,
            )
            for row in await self._transaction.rows(query)
        ]

    async def done(self, positions: Sequence[int]) -> None:
        """Remove entries that were projected."""
        gone = delete(outbox).where(self._transaction.mine(outbox), outbox.c.position == bindparam("done"))
        await self._transaction.change_each(gone, [{"done": position} for position in positions])

    async def failed(self, positions: Sequence[int]) -> None:
        """Count one more attempt."""
        tried = (
            update(outbox)
            .where(self._transaction.mine(outbox), outbox.c.position == bindparam("tried"))
            .values(attempts=outbox.c.attempts + 1)
        )
        await self._transaction.change_each(tried, [{"tried": position} for position in positions])

    async def count(self) -> int:
        """How many wait."""
        return await self._transaction.number(select(func.count()).where(self._transaction.mine(outbox)))
