"""Workspaces, members and keys: use cases and endpoints of the directory."""

import uuid
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tenure.contracts.workspaces import (
    IssuedKey,
    KeyOut,
    MemberOut,
    NewKey,
    NewMember,
    NewWorkspace,
    WorkspaceOut,
)
from tenure.core.commands import Project
from tenure.core.errors import NotAllowed, RecordConflict, RecordNotFound
from tenure.ports.clock import Clock
from tenure.ports.records import Member, Role, Workspace
from tenure.ports.repositories import Database
from tenure.ports.task_queue import TaskQueue
from tenure.runtime.auth import LOCAL_CALLER, Authentication, Caller, issue_key
from tenure.runtime.web import CurrentCaller, OwnedWorkspace, ViewedWorkspace
from tenure.runtime.web_bodies import JsonRoute


class DirectoryService:
    """Creates workspaces and says who may do what in them."""

    def __init__(self, database: Database, authentication: Authentication, queue: TaskQueue, clock: Clock) -> None:
        self._database = database
        self._directory = database.directory
        self._authentication = authentication
        self._queue = queue
        self._clock = clock

    async def create(self, caller: Caller, name: str) -> WorkspaceOut:
        """A new workspace with the caller as its owner; `RecordConflict` if the name is taken."""
        workspace = Workspace(str(uuid.uuid4()), name, self._clock.now())
        try:
            await self._directory.add_workspace(workspace)
        except RecordConflict as error:
            raise RecordConflict(f"the workspace name {name!r} is taken; choose another one") from error
        if not caller.is_local:
            await self._directory.put_member(Member(workspace.id, caller.principal_id, caller.name, Role.OWNER))
        return WorkspaceOut(id=workspace.id, name=name, created_at=workspace.created_at, role=Role.OWNER)

    async def create_local(self, name: str) -> WorkspaceOut:
        """A new workspace of the person at this machine."""
        return await self.create(LOCAL_CALLER, name)

    async def visible(self, caller: Caller) -> list[WorkspaceOut]:
        """The workspaces of which the caller is a member, by name."""
        found = []
        for member in await self._authentication.visible(caller):
            workspace = await self._directory.workspace(member.workspace_id)
            found.append(
                WorkspaceOut(id=workspace.id, name=workspace.name, created_at=workspace.created_at, role=member.role)
            )
        return sorted(found, key=lambda workspace: (workspace.name, workspace.id))

    async def delete(self, workspace_id: str) -> None:
        """Remove the workspace from every store."""
        await self._directory.delete_workspace(workspace_id)
        await self._queue.send(Project(workspace_id))

    async def members(self, workspace_id: str) -> list[Member]:
        """Members by name."""
        return await self._directory.members(workspace_id)

    async def put_member(self, caller: Caller, workspace_id: str, new: NewMember) -> Member:
        """Add a member, or change its role. A principal given by id must be a member of a workspace that the caller
        sees: others are `RecordNotFound`, as if they did not exist.
        """
        principal_id = new.principal_id or str(uuid.uuid4())
        if new.principal_id is None:
            await self._directory.add_principal(principal_id, new.name)
        elif not await self._is_known(caller, principal_id):
            raise RecordNotFound(f"no principal {principal_id!r} that you know; leave principal_id out to add one")
        await self._directory.put_member(Member(workspace_id, principal_id, new.name, new.role))
        return next(m for m in await self._directory.members(workspace_id) if m.principal_id == principal_id)

    async def remove_member(self, workspace_id: str, principal_id: str) -> None:
        """Take a member's role away."""
        await self._require_member(workspace_id, principal_id)
        await self._directory.remove_member(workspace_id, principal_id)

    async def issue(self, caller: Caller, workspace_id: str, new: NewKey) -> IssuedKey:
        """A key for a member of this workspace. It opens every workspace of that member, so it is only for whoever
        owns all of them, or is the member: others get `NotAllowed`.
        """
        await self._require_member(workspace_id, new.principal_id)
        await self._require_power_over(caller, new.principal_id)
        lifetime = timedelta(days=new.expires_in_days) if new.expires_in_days else None
        key, secret = await issue_key(self._directory, self._clock, new.principal_id, lifetime)
        return IssuedKey(id=key.id, key=secret, prefix=key.prefix, expires_at=key.expires_at)

    async def keys(self, workspace_id: str) -> list[KeyOut]:
        """The keys of the workspace's members."""
        members = await self._directory.members(workspace_id)
        return [
            KeyOut.model_validate(key) for member in members for key in await self._directory.keys(member.principal_id)
        ]

    async def revoke(self, caller: Caller, workspace_id: str, key_id: str) -> None:
        """Revoke a key of a member; as with `issue`, only by whoever owns all that it opens."""
        key = next((key for key in await self.keys(workspace_id) if key.id == key_id), None)
        if key is None:
            raise RecordNotFound(f"no key {key_id!r} in this workspace")
        await self._require_power_over(caller, key.principal_id)
        await self._directory.revoke_key(key_id, self._clock.now())

    async def _require_member(self, workspace_id: str, principal_id: str) -> None:
        if await self._directory.role(workspace_id, principal_id) is None:
            raise RecordNotFound(f"no member {principal_id!r} in this workspace")

    async def _require_power_over(self, caller: Caller, principal_id: str) -> None:
        if caller.is_local or caller.principal_id == principal_id:
            return
        owned = {m.workspace_id for m in await self._authentication.visible(caller) if m.role is Role.OWNER}
        if any(m.workspace_id not in owned for m in await self._directory.memberships(principal_id)):
            raise NotAllowed(
                "this member also belongs to a workspace that you don't own; its keys are for the member to manage"
            )

    async def _is_known(self, caller: Caller, principal_id: str) -> bool:
        theirs = {member.workspace_id for member in await self._directory.memberships(principal_id)}
        return any(member.workspace_id in theirs for member in await self._authentication.visible(caller))


def _service(request: Request) -> DirectoryService:
    service: DirectoryService = request.app.state.directory
    return service


Service = Annotated[DirectoryService, Depends(_service)]
router = APIRouter(prefix="/v1/workspaces", tags=["workspaces"], route_class=JsonRoute)


@router.get("")
async def workspaces(service: Service, caller: CurrentCaller) -> list[WorkspaceOut]:
    """The caller's workspaces."""
    return await service.visible(caller)


@router.post("", status_code=201)
async def create(service: Service, caller: CurrentCaller, body: NewWorkspace) -> WorkspaceOut:
    """A new workspace; the caller is its owner."""
    return await service.create(caller, body.name)


@router.delete("/{workspace_id}", status_code=204)
async def delete(service: Service, workspace_id: OwnedWorkspace) -> None:
    """Remove the workspace from every store."""
    await service.delete(workspace_id)


@router.get("/{workspace_id}/members")
async def members(service: Service, workspace_id: ViewedWorkspace) -> list[MemberOut]:
    """Members by name."""
    return [MemberOut.model_validate(member) for member in await service.members(workspace_id)]


@router.put("/{workspace_id}/members")
async def put_member(
    service: Service, workspace_id: OwnedWorkspace, caller: CurrentCaller, body: NewMember
) -> MemberOut:
    """Add a member or change its role."""
    return MemberOut.model_validate(await service.put_member(caller, workspace_id, body))


@router.delete("/{workspace_id}/members/{principal_id}", status_code=204)
async def remove_member(service: Service, workspace_id: OwnedWorkspace, principal_id: str) -> None:
    """Take a role away; the last owner stays."""
    await service.remove_member(workspace_id, principal_id)


@router.get("/{workspace_id}/keys")
async def keys(service: Service, workspace_id: OwnedWorkspace) -> list[KeyOut]:
    """The members' keys, without their secrets."""
    return await service.keys(workspace_id)


@router.post("/{workspace_id}/keys", status_code=201)
async def issue(service: Service, workspace_id: OwnedWorkspace, caller: CurrentCaller, body: NewKey) -> IssuedKey:
    """Issue a key; it is shown this once."""
    return await service.issue(caller, workspace_id, body)


@router.delete("/{workspace_id}/keys/{key_id}", status_code=204)
async def revoke(service: Service, workspace_id: OwnedWorkspace, caller: CurrentCaller, key_id: str) -> None:
    """Revoke a key."""
    await service.revoke(caller, workspace_id, key_id)
