"""Two tenants with three workspaces, each with a repository, a session and canaries of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tenure.core.events import Event, EventType
from tenure.ports.records import Member, Role
from tenure.runtime.auth import Caller, issue_key
from tests.support.embedded import ANY_TIME, Embedded, client_of, embedded, write_tree

NAMES = ("red", "green", "blue")
"""Red and green belong to Ada, blue to Bob."""


def symbol_of(name: str) -> str:
    """A function that only this workspace's repository has, and that others may ask for by name."""
    return f"quokka_{name}_ledger"


def marker_of(name: str) -> str:
    """Text that stands in every place where this workspace keeps something, and in no question."""
    return f"marsupial{name}5517"


def _files(name: str) -> dict[str, str]:
    symbol, marker = symbol_of(name), marker_of(name)
    return {
        f"{name}/ledger.py": f'def {symbol}(entry):\n    """Post {marker} to the shared ledger."""\n    return {name}_post(entry)\n\n\ndef {name}_post(entry):\n    return "{marker}", entry\n',
        f"{name}/books.py": f"from {name}.ledger import {symbol}\n\n\ndef close_books():\n    return {symbol}(1)\n",
        f"docs/{marker}.md": f"# The shared ledger of {marker}\n\nHow {symbol} posts an entry.\n",
        "shared.py": "def post_shared_ledger_entry(entry):\n    return entry\n",
    }


@dataclass(slots=True)
class Tenancy:
    """One workspace and the ids of what is in it."""

    name: str
    workspace_id: str
    repository_id: str = ""
    session_id: str = ""
    root: str = ""
    member_id: str = ""
    key_id: str = ""

    @property
    def marker(self) -> str:
        """Must never be seen by another tenant."""
        return marker_of(self.name)

    def path(self, template: str) -> str:
        """A route's template with this workspace's ids in it."""
        return (
            template.replace("{workspace_id}", self.workspace_id)
            .replace("{repository_id}", self.repository_id)
            .replace("{session_id}", self.session_id)
            .replace("{principal_id}", self.member_id)
            .replace("{key_id}", self.key_id)
        )


@dataclass(slots=True)
class Tenants:
    """The stack with everything in it. `as_` calls with the key of a person: ada, bob, and of the red workspace an
    editor and a viewer.
    """

    stack: Embedded
    red: Tenancy
    green: Tenancy
    blue: Tenancy
    keys: dict[str, str] = field(default_factory=dict)
    callers: dict[str, Caller] = field(default_factory=dict)

    def as_(self, person: str | None) -> httpx.AsyncClient:
        """A client with this person's key, or with none."""
        return client_of(self.stack.app, self.keys[person] if person else None)


@asynccontextmanager
async def tenants(folder: Path) -> AsyncIterator[Tenants]:
    """The stack, asking for keys, with all three repositories indexed."""
    async with embedded(folder, server__host="0.0.0.0", indexing__allowed_roots=str(folder.parent)) as stack:
        people = {person: await _person(stack, person) for person in ("ada", "bob", "editor", "viewer")}
        owners = {"red": "ada", "green": "ada", "blue": "bob"}
        made = {name: await _tenancy(stack, folder, name, people[owner]) for name, owner in owners.items()}
        world = Tenants(stack, made["red"], made["green"], made["blue"], callers=people)
        directory = stack.tenure.infrastructure.database.directory
        for person, role in (("editor", Role.EDITOR), ("viewer", Role.VIEWER)):
            member = Member(world.red.workspace_id, people[person].principal_id, person, role)
            await directory.put_member(member)
        for person, caller in people.items():
            _, key = await issue_key(directory, stack.tenure.infrastructure.clock, caller.principal_id)
            world.keys[person] = key
        yield world


async def _person(stack: Embedded, name: str) -> Caller:
    principal_id = f"0b000000-0000-4000-8000-{int.from_bytes(name[:5].encode()):012x}"
    await stack.tenure.infrastructure.database.directory.add_principal(principal_id, name)
    return Caller(principal_id, name)


async def _tenancy(stack: Embedded, folder: Path, name: str, owner: Caller) -> Tenancy:
    tenure = stack.tenure
    workspace = await tenure.directory.create(owner, name)
    sandbox = write_tree(folder / name, _files(name))
    sandbox.put(f"{name}/ledger.py", _files(name)[f"{name}/ledger.py"] + "\n# posted\n")
    sandbox.commit(f"Post {marker_of(name)} entries to the shared ledger")
    found = Tenancy(name, workspace.id, root=str(sandbox.root))
    found.repository_id = await stack.index(workspace.id, sandbox.root)
    found.session_id = await tenure.memory.begin_session(workspace.id, f"Work on {found.marker}", owner.principal_id)
    edit = Event(f"edit-{name}", EventType.EDIT, ANY_TIME, {"path": f"{found.marker}.py"}, None, owner.principal_id)
    await tenure.memory.ingest(workspace.id, [edit])
    directory = tenure.infrastructure.database.directory
    found.member_id = f"0c000000-0000-4000-8000-{int.from_bytes(name.encode()):012x}"
    await directory.add_principal(found.member_id, found.marker)
    await directory.put_member(Member(workspace.id, found.member_id, found.marker, Role.VIEWER))
    key, _ = await issue_key(directory, tenure.infrastructure.clock, found.member_id)
    found.key_id = key.id
    return found
