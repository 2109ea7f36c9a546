"""Who calls, and what they may do. Keys are shown once and stored as hashes."""

import hashlib
import secrets
import uuid
from dataclasses import dataclass
from datetime import timedelta

from tenure.core.errors import NotAllowed, NotAuthenticated, RecordNotFound
from tenure.ports.clock import Clock
from tenure.ports.records import ApiKey, Member, Role
from tenure.ports.repositories import Directory

KEY_PREFIX = "tnr_"
"""Every key starts so: secret scanners, ours included, know it by this."""
_KEY_BYTES = 32
"""256 random bits: a plain SHA-256 of them can't be searched, so no slow hash is needed."""
_SHOWN_CHARS = 4
"""Characters behind the prefix by which a person tells keys apart."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated principal. `is_local` is the person at this machine: owner of every workspace of this home."""

    principal_id: str
    name: str
    is_local: bool = False

    @property
    def reader(self) -> str | None:
        """Whose private records the caller may read: their own, or everybody's (None) for the person at this machine."""
        return None if self.is_local else self.principal_id


LOCAL_CALLER = Caller(principal_id=str(uuid.UUID(int=0)), name="local", is_local=True)
"""The nil UUID belongs to no stored principal: no key can ever make a caller local."""


class Authentication:
    """Turns a key into a caller and a caller into a role."""

    def __init__(self, directory: Directory, clock: Clock, trusts_loopback: bool) -> None:
        self._directory = directory
        self._clock = clock
        self._trusts_loopback = trusts_loopback

    async def caller(self, key: str | None) -> Caller:
        """The principal of the key; without a key (None) the local caller, where loopback is trusted.

        A wrong, empty, expired or revoked key is `NotAuthenticated`, on loopback as well.
        """
        if key is None:
            if self._trusts_loopback:
                return LOCAL_CALLER
            raise NotAuthenticated("send an API key as `Authorization: Bearer …` or `X-API-Key`")
        found = await self._directory.key_by_hash(hash_key(key))
        if found is None or found.revoked_at is not None:
            raise NotAuthenticated("this API key is not known or was revoked; ask an owner for a new one")
        if found.expires_at is not None and found.expires_at <= self._clock.now():
            raise NotAuthenticated(f"this API key expired at {found.expires_at:%Y-%m-%d %H:%M} UTC; ask for a new one")
        memberships = await self._directory.memberships(found.principal_id)
        return Caller(found.principal_id, memberships[0].name if memberships else "")

    async def require(self, caller: Caller, workspace_id: str, role: Role) -> None:
        """Pass if the caller has at least this role there.

        A workspace of which the caller is no member is `RecordNotFound`, so that foreign ids tell nothing.
        """
        if not _is_canonical(workspace_id):
            raise _no_workspace(workspace_id)
        if caller.is_local:
            try:
                await self._directory.workspace(workspace_id)
            except RecordNotFound as error:
                raise _no_workspace(workspace_id) from error
            return
        held = await self._directory.role(workspace_id, caller.principal_id)
        if held is None:
            raise _no_workspace(workspace_id)
        if held.rank < role.rank:
            raise NotAllowed(f"this needs the role {role.value}; you are {held.value} in this workspace")

    async def visible(self, caller: Caller) -> list[Member]:
        """The caller's memberships; for the local caller one owner's membership per workspace."""
        if caller.is_local:
            return [Member(w.id, caller.principal_id, w.name, Role.OWNER) for w in await self._directory.workspaces()]
        return await self._directory.memberships(caller.principal_id)


def hash_key(key: str) -> str:
    """What is stored of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


def _no_workspace(workspace_id: str) -> RecordNotFound:
    return RecordNotFound(f"no workspace {workspace_id!r}; `tenure workspaces` lists yours")


def _is_canonical(text: str) -> bool:
    """Ids have one spelling: stores compare them as text, and another spelling would find nothing in some of them."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


async def issue_key(
    directory: Directory, clock: Clock, principal_id: str, lifetime: timedelta | None = None
) -> tuple[ApiKey, str]:
    """A new key of a principal: (what is stored, the key itself). The key can't be read again."""
    secret = KEY_PREFIX + secrets.token_urlsafe(_KEY_BYTES)
    now = clock.now()
    key = ApiKey(
        id=str(uuid.uuid4()),
        principal_id=principal_id,
        prefix=secret[: len(KEY_PREFIX) + _SHOWN_CHARS],
        secret_hash=hash_key(secret),
        created_at=now,
        expires_at=now + lifetime if lifetime else None,
    )
    await directory.add_key(key)
    return key, secret
