"""`SqlDirectory`: workspaces, principals, members and keys; the only tables that are read across workspaces."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Row, delete, insert, select, update

from tenure.adapters.sql.jobs import is_due, job_of
from tenure.adapters.sql.outbox import SqlOutbox
from tenure.adapters.sql.schema import api_keys, jobs, members, metadata, outbox, principals, workspaces
from tenure.adapters.sql.transaction import Transaction
from tenure.core.errors import RecordConflict, RecordNotFound
from tenure.ports.records import ApiKey, Job, Member, OutboxKind, Role, Workspace

_NO_WORKSPACE = ""


class Transactions(Protocol):
    """What opens bare transactions: `SqlDatabase`."""

    def read(self, workspace_id: str) -> AbstractAsyncContextManager[Transaction]:
        """A snapshot."""
        ...

    def write(self, workspace_id: str) -> AbstractAsyncContextManager[Transaction]:
        """A transaction that commits at the end of the block."""
        ...


class SqlDirectory:
    """See `ports.repositories.Directory`. Each call is a transaction of its own."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    async def add_workspace(self, workspace: Workspace) -> None:
        """Store a workspace; `RecordConflict` if the id or the name is taken."""
        values = {"id": workspace.id, "name": workspace.name, "created_at": workspace.created_at}
        await self._change(insert(workspaces).values(values))

    async def workspaces(self) -> list[Workspace]:
        """All, by name."""
        return [_workspace(row) for row in await self._rows(select(workspaces).order_by(workspaces.c.name))]

    async def workspace(self, workspace_id: str) -> Workspace:
        """By id, or `RecordNotFound`."""
        rows = await self._rows(select(workspaces).where(workspaces.c.id == workspace_id))
        if not rows:
            raise RecordNotFound(f"No workspace {workspace_id}; list the workspaces to see which there are")
        return _workspace(rows[0])

    async def delete_workspace(self, workspace_id: str) -> None:
        """Every row of it, in every table; an unknown id is passed over."""
        async with self._database.write(workspace_id) as transaction:
            known = select(workspaces.c.id).where(workspaces.c.id == workspace_id)
            if await transaction.first(known) is None:
                return
            for table in reversed(metadata.sorted_tables):
                if "workspace_id" in table.c:
                    await transaction.change(delete(table).where(transaction.mine(table)))
            await transaction.change(delete(workspaces).where(workspaces.c.id == workspace_id))
            await SqlOutbox(transaction).add(OutboxKind.WORKSPACE_GONE, "", {workspace_id: 0})

    async def add_principal(self, principal_id: str, name: str) -> None:
        """Store a principal; `RecordConflict` if the id is taken."""
        await self._change(insert(principals).values(id=principal_id, name=name))

    async def put_member(self, member: Member) -> None:
        """Give a principal a role; `RecordConflict` if that would leave the workspace without an owner.

        The name is that of the principal; `member.name` is not stored.
        """
        async with self._database.write(member.workspace_id) as transaction:
            if member.role is not Role.OWNER:
                await _refuse_last_owner(transaction, member.principal_id)
            row = {"principal_id": member.principal_id, "role": member.role.value}
            await transaction.upsert(members, [row], ("principal_id",))

    async def remove_member(self, workspace_id: str, principal_id: str) -> None:
        """Take the role away; `RecordConflict` for the last owner. Who is no member stays none."""
        async with self._database.write(workspace_id) as transaction:
            await _refuse_last_owner(transaction, principal_id)
            of_them = members.c.principal_id == principal_id
            await transaction.change(delete(members).where(transaction.mine(members), of_them))

    async def members(self, workspace_id: str) -> list[Member]:
        """Members by name."""
        query = _members().where(members.c.workspace_id == workspace_id)
        return [_member(row) for row in await self._rows(query.order_by(principals.c.name, principals.c.id))]

    async def role(self, workspace_id: str, principal_id: str) -> Role | None:
        """The principal's role there, or None."""
        rows = await self._rows(
            select(members.c.role).where(members.c.workspace_id == workspace_id, members.c.principal_id == principal_id)
        )
        return Role(rows[0].role) if rows else None

    async def memberships(self, principal_id: str) -> list[Member]:
        """Where the principal is a member, by workspace name."""
        query = _members().join(workspaces, workspaces.c.id == members.c.workspace_id)
        rows = await self._rows(query.where(members.c.principal_id == principal_id).order_by(workspaces.c.name))
        return [_member(row) for row in rows]

    async def add_key(self, key: ApiKey) -> None:
        """Store a key; `RecordConflict` if the principal is unknown or the hash is taken."""
        values = {column.name: getattr(key, column.name) for column in api_keys.columns}
        await self._change(insert(api_keys).values(values))

    async def key_by_hash(self, secret_hash: str) -> ApiKey | None:
        """The key with this hash, expired and revoked ones included."""
        rows = await self._rows(select(api_keys).where(api_keys.c.secret_hash == secret_hash))
        return _key(rows[0]) if rows else None

    async def keys(self, principal_id: str) -> list[ApiKey]:
        """A principal's keys, newest first."""
        query = select(api_keys).where(api_keys.c.principal_id == principal_id)
        return [_key(row) for row in await self._rows(query.order_by(api_keys.c.created_at.desc(), api_keys.c.id))]

    async def revoke_key(self, key_id: str, now: datetime) -> None:
        """Mark it revoked; the first time counts. `RecordNotFound` for an unknown key."""
        async with self._database.write(_NO_WORKSPACE) as transaction:
            if await transaction.first(select(api_keys.c.id).where(api_keys.c.id == key_id)) is None:
                raise RecordNotFound(f"No API key {key_id}; list the keys to see which there are")
            unrevoked = update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
            await transaction.change(unrevoked.values(revoked_at=now))

    async def due_work(self, now: datetime) -> tuple[list[Job], list[str]]:
        """Due jobs of all workspaces, oldest first, and the workspaces with waiting projections, by id."""
        due = select(jobs).where(is_due(now)).order_by(jobs.c.created_at, jobs.c.id)
        waiting = select(outbox.c.workspace_id).distinct().order_by(outbox.c.workspace_id)
        async with self._database.read(_NO_WORKSPACE) as transaction:
            found = [job_of(row) for row in await transaction.rows(due)]
            return found, [row.workspace_id for row in await transaction.rows(waiting)]

    async def _rows(self, query: Any) -> Any:
        async with self._database.read(_NO_WORKSPACE) as transaction:
            return await transaction.rows(query)

    async def _change(self, statement: Any) -> None:
        async with self._database.write(_NO_WORKSPACE) as transaction:
            await transaction.change(statement)


async def _refuse_last_owner(transaction: Transaction, principal_id: str) -> None:
    owners = select(members.c.principal_id).where(transaction.mine(members), members.c.role == Role.OWNER.value)
    if [row.principal_id for row in await transaction.rows(owners)] == [principal_id]:
        raise RecordConflict("This is the workspace's last owner; make somebody else an owner first")


def _members() -> Any:
    return select(members, principals.c.name).join(principals, principals.c.id == members.c.principal_id)


def _workspace(row: Row[Any]) -> Workspace:
    return Workspace(id=row.id, name=row.name, created_at=row.created_at)


def _member(row: Row[Any]) -> Member:
    return Member(workspace_id=row.workspace_id, principal_id=row.principal_id, name=row.name, role=Role(row.role))


def _key(row: Row[Any]) -> ApiKey:
    return ApiKey(
        id=row.id,
        principal_id=row.principal_id,
        prefix=row.prefix,
        secret_hash=row.secret_hash,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )
