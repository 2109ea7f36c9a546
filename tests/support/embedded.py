"""The whole embedded stack in a temporary home: real stores, real services, an HTTP client without a socket."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from tenure.adapters.sql import migrate
from tenure.adapters.sql.database import SqlDatabase
from tenure.core.commands import JobState
from tenure.ports.records import Workspace
from tenure.runtime.settings import Settings, load_settings
from tenure.workspace.app import Activity, build_app
from tenure.workspace.facade import Tenure, open_tenure
from tests.support.clock import MovedClock
from tests.support.git_sandbox import Sandbox

ANY_TIME = MovedClock().now()
QUICK: Mapping[str, object] = {"indexing.dense": False, "indexing.workers": 0}
"""No background vectors, and parsing in a thread: most tests need neither, and processes take a second to start."""
_GOOD_ENDS = {JobState.DONE, JobState.DONE_WITH_ERRORS}


def quick_settings(folder: Path, **flags: object) -> Settings:
    """Settings of the profile `test` with a home in this folder, blind to the environment. `server__port` means
    `server.port`.
    """
    given = {name.replace("__", "."): value for name, value in flags.items()}
    return load_settings("test", {"home": str(folder / "home"), **QUICK, **given}, {})


@asynccontextmanager
async def opened_database(folder: Path) -> AsyncIterator[SqlDatabase]:
    """A migrated SQLite database of its own."""
    url = f"sqlite+aiosqlite:///{folder / 'truth.sqlite3'}"
    await migrate.upgrade(url)
    database = SqlDatabase(url)
    try:
        yield database
    finally:
        await database.close()


async def add_workspace(database: SqlDatabase, workspace_id: str, name: str = "") -> str:
    """Store a workspace; returns its id."""
    await database.directory.add_workspace(Workspace(workspace_id, name or workspace_id, ANY_TIME))
    return workspace_id


@dataclass(frozen=True, slots=True)
class Embedded:
    """Open services with the app over them. `client` calls as the person at this machine, unless keys are needed."""

    tenure: Tenure
    app: FastAPI
    client: httpx.AsyncClient

    async def workspace(self, name: str = "team") -> str:
        """A new workspace's id."""
        return (await self.tenure.directory.create_local(name)).id

    async def index(self, workspace_id: str, root: Path, *, full: bool = False) -> str:
        """Index a tree until everything that was queued is done; returns the repository's id."""
        repository = await self.tenure.ingestion.add_repository(workspace_id, str(root))
        job = await self.tenure.ingestion.request_index(workspace_id, repository.id, full)
        await self.settled()
        async with self.tenure.infrastructure.database.reading(workspace_id) as work:
            ended = await work.jobs.get(job.id)
        assert ended.state in _GOOD_ENDS, ended.error
        return repository.id

    async def settled(self) -> None:
        """Return when no command waits or runs."""
        await self.tenure.infrastructure.queue.drain()

    async def search(self, workspace_id: str, query: str, **options: Any) -> dict[str, Any]:
        """The answer of `search`."""
        response = await self.client.post(f"/v1/workspaces/{workspace_id}/search", json={"query": query, **options})
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found


@asynccontextmanager
async def embedded(folder: Path, **flags: object) -> AsyncIterator[Embedded]:
    """The stack over a home in `folder`; `server__host="0.0.0.0"` makes it ask for keys."""
    async with open_tenure(quick_settings(folder, **flags)) as tenure:
        app = build_app(tenure, Activity(), "test")
        async with client_of(app) as client:
            yield Embedded(tenure, app, client)


def client_of(app: FastAPI, key: str | None = None) -> httpx.AsyncClient:
    """A client of the app, with a key."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:7878", headers=headers)


def write_tree(root: Path, files: Mapping[str, str]) -> Sandbox:
    """A git repository that holds these files in its first commit."""
    sandbox = Sandbox(root)
    for path, text in files.items():
        sandbox.put(path, text)
    sandbox.commit("Begin")
    return sandbox
