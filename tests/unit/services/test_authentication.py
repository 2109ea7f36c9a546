"""Who calls: keys are stored as hashes, expire, are revoked; a wrong one is refused even where none is needed."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from tenure.adapters.sql.database import SqlDatabase
from tenure.core.errors import NotAllowed, NotAuthenticated, RecordNotFound
from tenure.ports.records import Member, Role
from tenure.runtime.auth import KEY_PREFIX, LOCAL_CALLER, Authentication, Caller, hash_key, issue_key
from tests.support.clock import MovedClock
from tests.support.embedded import add_workspace, opened_database

OURS, THEIRS = "0a000000-0000-4000-8000-000000000001", "0a000000-0000-4000-8000-000000000002"
ADA, BOB = "0b000000-0000-4000-8000-000000000001", "0b000000-0000-4000-8000-000000000002"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqlDatabase]:
    async with opened_database(tmp_path) as database:
        for workspace in (OURS, THEIRS):
            await add_workspace(database, workspace)
        for principal, name in ((ADA, "Ada"), (BOB, "Bob")):
            await database.directory.add_principal(principal, name)
        await database.directory.put_member(Member(OURS, ADA, "Ada", Role.EDITOR))
        await database.directory.put_member(Member(THEIRS, BOB, "Bob", Role.OWNER))
        yield database


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


async def test_a_key_is_stored_as_its_hash_and_never_as_itself(database: SqlDatabase, clock: MovedClock) -> None:
    stored, key = await issue_key(database.directory, clock, ADA)
    assert key.startswith(KEY_PREFIX)
    assert len(key) > 40
    assert stored.secret_hash == hash_key(key)
    assert stored.prefix == key[:8]
    files = Path(database.where).parent.glob("truth.sqlite3*")
    assert all(key.encode() not in file.read_bytes() for file in files)


async def test_two_keys_are_never_equal(database: SqlDatabase, clock: MovedClock) -> None:
    assert len({(await issue_key(database.directory, clock, ADA))[1] for _ in range(20)}) == 20


@pytest.mark.parametrize("trusts_loopback", [True, False])
async def test_a_key_names_its_principal(database: SqlDatabase, clock: MovedClock, trusts_loopback: bool) -> None:
    authentication = Authentication(database.directory, clock, trusts_loopback)
    _, key = await issue_key(database.directory, clock, ADA)
    caller = await authentication.caller(key)
    assert (caller.principal_id, caller.name, caller.is_local, caller.reader) == (ADA, "Ada", False, ADA)


async def test_no_key_is_the_local_caller_only_where_loopback_is_trusted(
    database: SqlDatabase, clock: MovedClock
) -> None:
    assert await Authentication(database.directory, clock, trusts_loopback=True).caller(None) == LOCAL_CALLER
    with pytest.raises(NotAuthenticated, match="X-API-Key"):
        await Authentication(database.directory, clock, trusts_loopback=False).caller(None)


@pytest.mark.parametrize("key", ["", "tnr_wrong", "x", "é", "\0", "a" * 100_000])
async def test_a_wrong_key_is_refused_on_loopback_as_well(database: SqlDatabase, clock: MovedClock, key: str) -> None:
    with pytest.raises(NotAuthenticated, match="not known"):
        await Authentication(database.directory, clock, trusts_loopback=True).caller(key)


async def test_the_hash_of_a_key_is_no_key(database: SqlDatabase, clock: MovedClock) -> None:
    stored, _ = await issue_key(database.directory, clock, ADA)
    with pytest.raises(NotAuthenticated):
        await Authentication(database.directory, clock, trusts_loopback=True).caller(stored.secret_hash)


async def test_a_key_expires_at_its_moment(database: SqlDatabase, clock: MovedClock) -> None:
    authentication = Authentication(database.directory, clock, trusts_loopback=False)
    _, key = await issue_key(database.directory, clock, ADA, timedelta(days=1))
    clock.move(hours=23, minutes=59)
    assert (await authentication.caller(key)).principal_id == ADA
    clock.move(minutes=1)
    with pytest.raises(NotAuthenticated, match="expired at 2026-03-02 12:00 UTC"):
        await authentication.caller(key)


async def test_a_revoked_key_is_refused_at_once(database: SqlDatabase, clock: MovedClock) -> None:
    authentication = Authentication(database.directory, clock, trusts_loopback=False)
    stored, key = await issue_key(database.directory, clock, ADA)
    await database.directory.revoke_key(stored.id, clock.now())
    with pytest.raises(NotAuthenticated, match="revoked"):
        await authentication.caller(key)


async def test_roles_are_ordered_and_a_refusal_names_both(database: SqlDatabase, clock: MovedClock) -> None:
    authentication = Authentication(database.directory, clock, trusts_loopback=False)
    ada = Caller(ADA, "Ada")
    for role in (Role.VIEWER, Role.EDITOR):
        await authentication.require(ada, OURS, role)
    with pytest.raises(NotAllowed, match="needs the role owner; you are editor"):
        await authentication.require(ada, OURS, Role.OWNER)


@pytest.mark.parametrize("workspace", [THEIRS, "0a000000-0000-4000-8000-0000000000ff", "", "x", OURS.upper(), "\0"])
async def test_a_workspace_of_others_looks_like_one_that_is_not_there(
    database: SqlDatabase, clock: MovedClock, workspace: str
) -> None:
    authentication = Authentication(database.directory, clock, trusts_loopback=False)
    with pytest.raises(RecordNotFound, match="no workspace"):
        await authentication.require(Caller(ADA, "Ada"), workspace, Role.VIEWER)


async def test_the_local_caller_owns_every_workspace_that_exists(database: SqlDatabase, clock: MovedClock) -> None:
    authentication = Authentication(database.directory, clock, trusts_loopback=True)
    await authentication.require(LOCAL_CALLER, THEIRS, Role.OWNER)
    with pytest.raises(RecordNotFound):
        await authentication.require(LOCAL_CALLER, ADA, Role.VIEWER)
    assert {m.workspace_id for m in await authentication.visible(LOCAL_CALLER)} == {OURS, THEIRS}
    assert [m.workspace_id for m in await authentication.visible(Caller(ADA, "Ada"))] == [OURS]


async def test_who_lost_the_role_is_still_known_but_sees_nothing(database: SqlDatabase, clock: MovedClock) -> None:
    authentication = Authentication(database.directory, clock, trusts_loopback=False)
    _, key = await issue_key(database.directory, clock, ADA)
    await database.directory.remove_member(OURS, ADA)
    caller = await authentication.caller(key)
    assert await authentication.visible(caller) == []
    with pytest.raises(RecordNotFound):
        await authentication.require(caller, OURS, Role.VIEWER)
