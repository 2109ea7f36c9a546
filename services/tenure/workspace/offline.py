"""What commands do with the stores themselves, when no server runs: every function holds the home for itself.

`StoreUnavailable` if another process has the home open.
"""

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from tenure.core.errors import TenureError
from tenure.ingestion.api import findings_out
from tenure.retrieval.tuning import Tuning
from tenure.runtime.bootstrap import erase_vectors, migrate_database, open_infrastructure
from tenure.runtime.home import prepare_home
from tenure.runtime.logging import configure_logging
from tenure.runtime.settings import Settings
from tenure.workspace.app import probe
from tenure.workspace.facade import Tenure, assemble, open_tenure
from tenure.workspace.home_lock import exclusive
from tenure.workspace.server import serve

T = TypeVar("T")
STORES = ("database", "vectors", "graph", "embedder")


def run_server(settings: Settings, stop_when_idle: bool) -> None:
    """Run the local server in this process."""
    configure_logging(settings.logging.level, settings.logging.format)
    asyncio.run(serve(settings, stop_when_idle))


def migrate(settings: Settings) -> str:
    """Bring the database to the newest schema; returns its revision."""
    return _alone(settings, migrate_database)


def verify(settings: Settings) -> list[dict[str, Any]]:
    """What differs between truth and projections, in every workspace."""
    return _alone(settings, _verify)


def repair(settings: Settings) -> list[dict[str, Any]]:
    """Mend what `verify` finds; returns what was found before."""
    return _alone(settings, _repair)


def rebuild(settings: Settings) -> dict[str, int]:
    """Restore the projections of every workspace from SQL alone."""
    return _alone(settings, _rebuild)


def reembed(settings: Settings) -> dict[str, int]:
    """See `reembed_home`."""
    return _alone(settings, reembed_home)


def check_stores(settings: Settings) -> dict[str, Any]:
    """Each store with whether it answers; `stores` where they can't even be opened."""
    return _alone(settings, _check_stores)


async def reembed_home(settings: Settings) -> dict[str, int]:
    """Drop the vectors of other models and make the vector store anew in the configured dimension.

    The texts stay; what has no vector now is embedded when the server runs. Returns how many chunks that are. Until
    the new store is open the old one stands aside, and comes back if that fails.
    """
    aside = settings.vectors_path.with_name("vectors.replaced")
    await asyncio.to_thread(shutil.rmtree, aside, ignore_errors=True)
    if settings.vectors_path.exists():
        settings.vectors_path.rename(aside)
    async with AsyncExitStack() as stack:
        try:
            infrastructure = await open_infrastructure(settings, stack, checks_stamps=False)
        except TenureError:
            await asyncio.to_thread(shutil.rmtree, settings.vectors_path, ignore_errors=True)
            if aside.exists():
                aside.rename(settings.vectors_path)
            raise
        tenure = assemble(infrastructure, Tuning())
        workspaces = await infrastructure.database.directory.workspaces()
        due = sum([await _reembed_workspace(tenure, workspace.id) for workspace in workspaces])
    await asyncio.to_thread(shutil.rmtree, aside, ignore_errors=True)
    return {"chunks": due}


async def _reembed_workspace(tenure: Tenure, workspace_id: str) -> int:
    database, embedder = tenure.infrastructure.database, tenure.infrastructure.embedder
    async with database.writing(workspace_id) as work:
        for model, dimension in await work.chunks.embedding_stamps():
            if (model, dimension) != (embedder.name, embedder.dimension):
                await work.chunks.drop_embeddings(model, dimension)
    await tenure.ingestion.rebuild(workspace_id)
    due = 0
    for repository in await tenure.ingestion.repositories(workspace_id):
        await tenure.ingestion.request_embed(workspace_id, repository.id)
        counts = (await tenure.ingestion.status(workspace_id, repository.id)).counts
        due += counts.chunks - counts.chunks_embedded
    return due


def _alone(settings: Settings, work: Callable[[Settings], Coroutine[Any, Any, T]]) -> T:
    configure_logging(settings.logging.level, settings.logging.format)
    prepare_home(settings.home)
    with exclusive(settings.home):
        return asyncio.run(work(settings))


async def _verify(settings: Settings) -> list[dict[str, Any]]:
    async with open_tenure(settings, works=False) as tenure:
        found = [f for workspace in await _workspaces(tenure) for f in await tenure.ingestion.verify(workspace)]
    return [findings_out(one).model_dump(mode="json") for one in found]


async def _repair(settings: Settings) -> list[dict[str, Any]]:
    async with open_tenure(settings, works=False) as tenure:
        found = [f for workspace in await _workspaces(tenure) for f in await tenure.ingestion.repair(workspace)]
    return [findings_out(one).model_dump(mode="json") for one in found]


async def _rebuild(settings: Settings) -> dict[str, int]:
    await erase_vectors(settings)
    async with open_tenure(settings, works=False) as tenure:
        return {"projected": sum([await tenure.ingestion.rebuild(w) for w in await _workspaces(tenure)])}


async def _check_stores(settings: Settings) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        try:
            infrastructure = await open_infrastructure(settings, stack)
        except TenureError as error:
            return {"stores": {"ok": False, "detail": str(error)}}
        return {name: await probe(getattr(infrastructure, name).check) for name in STORES}


async def _workspaces(tenure: Tenure) -> list[str]:
    return [workspace.id for workspace in await tenure.infrastructure.database.directory.workspaces()]
