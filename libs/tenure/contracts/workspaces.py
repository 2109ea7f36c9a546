"""Workspaces, members and API keys on the wire."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from tenure.contracts.wire import Chosen, Shown, Wire, WireRequest
from tenure.ports.records import Role

Name = Annotated[
    str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$")
]
"""A name that a person can type and read: no control characters, no blanks around it."""


class NewWorkspace(WireRequest):
    """A workspace to create."""

    name: Name


class WorkspaceOut(Wire):
    """A workspace with the caller's role in it."""

    id: str
    name: str
    created_at: datetime
    role: Role


class LocatedOut(Wire):
    """A registered tree that holds a path."""

    workspace_id: str
    repository_id: str
    root: Shown


class NewMember(WireRequest):
    """A member to add: an existing principal by id, or a new one by name."""

    name: Name
    role: Chosen[Role]
    principal_id: str | None = None


class MemberOut(Wire):
    """A member."""

    principal_id: str
    name: str
    role: Role


class NewKey(WireRequest):
    """A key to issue for a member."""

    principal_id: str
    expires_in_days: float | None = Field(default=None, gt=0, le=3650)


class KeyOut(Wire):
    """A key as stored: enough to recognise and revoke it."""

    id: str
    principal_id: str
    prefix: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class IssuedKey(Wire):
    """A new key. `key` is shown this once."""

    id: str
    key: str
    prefix: str
    expires_at: datetime | None
