"""Workspaces, members and API keys on the wire."""

from datetime import datetime

from pydantic import Field

from tenure.contracts.wire import Wire
from tenure.ports.records import Role


class NewWorkspace(Wire):
    """A workspace to create."""

    name: str = Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")


class WorkspaceOut(Wire):
    """A workspace with the caller's role in it."""

    id: str
    name: str
    created_at: datetime
    role: Role


class NewMember(Wire):
    """A member to add: an existing principal by id, or a new one by name."""

    name: str = Field(min_length=1, max_length=200)
    role: Role
    principal_id: str | None = None


class MemberOut(Wire):
    """A member."""

    principal_id: str
    name: str
    role: Role


class NewKey(Wire):
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
