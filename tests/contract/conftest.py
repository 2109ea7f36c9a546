"""The databases that the contract tests of the stores run against. A further one is a further parameter, no more."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenure.adapters.sql.database import SqlDatabase
from tenure.adapters.sql.migrate import upgrade


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file, made once: tests copy it."""
    path = tmp_path_factory.mktemp("template") / "tenure.db"
    asyncio.run(upgrade(f"sqlite:///{path}"))
    return path


@pytest.fixture(params=["sqlite"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty, migrated database."""
    assert request.param == "sqlite"
    template: Path = request.getfixturevalue("sqlite_template")
    path = tmp_path / "tenure.db"
    path.write_bytes(template.read_bytes())
    return f"sqlite:///{path}"


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[SqlDatabase]:
    """An empty, migrated database."""
    database = SqlDatabase(database_url)
    yield database
    await database.close()
