"""`SqlProfiles`: what history says of files: packed profile vectors, and how often commits touched them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Row, select

from tenure.adapters.sql.outbox import SqlOutbox
from tenure.adapters.sql.schema import file_profiles, files
from tenure.adapters.sql.transaction import Transaction
from tenure.ports.records import OutboxKind


class SqlProfiles:
    """The part of `ports.repositories.Chunks` that concerns profiles. Files that are gone are passed over."""

    _transaction: Transaction
    _outbox: SqlOutbox

    async def put_profiles(self, profiles: Mapping[str, bytes]) -> None:
        """Store packed profile vectors by file id, and their `PROFILE` outbox entries."""
        known = await self._known(profiles)
        rows = [(row.id, profiles[row.id]) for row in known]
        await self._transaction.bulk(file_profiles, ("file_id", "profile"), rows, ("file_id",))
        kind = OutboxKind.PROFILE.value
        await self._outbox.add_rows([(kind, row.repository_id, row.id, row.revision, 0) for row in known])

    async def profiles(self, file_ids: Sequence[str]) -> dict[str, bytes]:
        """Packed profile vectors by file id; files whose profile was removed are left out."""
        rows = await self._of(file_profiles.c.profile, file_ids)
        return {row.file_id: row.profile for row in rows if row.profile}

    async def prior(self, file_ids: Sequence[str]) -> dict[str, float]:
        """Recency-weighted number of commits that touched each file."""
        rows = await self._of(file_profiles.c.prior, file_ids)
        return {row.file_id: row.prior for row in rows}

    async def put_priors(self, priors: Mapping[str, float]) -> None:
        """Store the recency-weighted number of commits by file id."""
        rows = [(row.id, priors[row.id]) for row in await self._known(priors)]
        await self._transaction.bulk(file_profiles, ("file_id", "prior"), rows, ("file_id",))

    async def _known(self, file_ids: Iterable[str]) -> Sequence[Row[Any]]:
        query = select(files.c.id, files.c.repository_id, files.c.revision).where(
            self._transaction.mine(files), self._transaction.among(files.c.id, file_ids)
        )
        return await self._transaction.rows(query.order_by(files.c.path))

    async def _of(self, value: Any, file_ids: Sequence[str]) -> Sequence[Row[Any]]:
        if not file_ids:
            return []
        query = select(file_profiles.c.file_id, value).where(
            self._transaction.mine(file_profiles),
            self._transaction.among(file_profiles.c.file_id, file_ids),
            value.is_not(None),
        )
        return await self._transaction.rows(query)
