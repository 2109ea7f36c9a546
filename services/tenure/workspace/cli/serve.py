"""Commands around the server itself: serve, stop, doctor, migrate."""

import asyncio
from contextlib import AsyncExitStack
from typing import Annotated, Any

import httpx
import typer

from tenure.core.errors import TenureError
from tenure.runtime import bootstrap
from tenure.runtime.logging import configure_logging
from tenure.runtime.settings import Settings, describe
from tenure.workspace import local_server
from tenure.workspace.cli.context import EXIT_PROBLEM, ServerClient, exits, session_of


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("serve")(serve)
    app.command("stop")(stop)
    app.command("doctor")(doctor)
    app.command("migrate")(migrate)


@exits
def serve(
    context: typer.Context,
    background: Annotated[bool, typer.Option(hidden=True, help="Started by a client: stop when idle.")] = False,
) -> None:
    """Run the local server in the foreground."""
    session = session_of(context)
    settings = session.settings()
    configure_logging(settings.logging.level, settings.logging.format)
    asyncio.run(local_server.serve(settings, stop_when_idle=background))


@exits
def stop(context: typer.Context) -> None:
    """Stop the local server of this home."""
    session = session_of(context)
    stopped = local_server.stop(session.settings().home)
    session.show({"stopped": stopped}, lambda: session.console.print("stopped" if stopped else "no server runs"))


@exits
def migrate(context: typer.Context) -> None:
    """Bring the database to the newest schema."""
    session = session_of(context)
    settings = session.settings()
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    revision = asyncio.run(bootstrap.migrate_database(settings))
    session.show({"revision": revision}, lambda: session.console.print(f"database is at {revision}"))


@exits
def doctor(
    context: typer.Context,
    offline: Annotated[bool, typer.Option(help="Open the stores directly; no server may run.")] = False,
) -> None:
    """Print the effective configuration, secrets masked, and check every store."""
    session = session_of(context)
    settings = session.settings()
    stores = asyncio.run(_check_offline(settings)) if offline else _check_online(session.client())
    report = {"configuration": describe(settings), "database_url": _masked_url(settings), "stores": stores}

    def text() -> None:
        session.console.print_json(data=report["configuration"])
        for name, entry in stores.items():
            session.console.print(f"{'ok  ' if entry['ok'] else 'FAIL'} {name}: {entry['detail']}", markup=False)

    session.show(report, text)
    if not all(entry["ok"] for entry in stores.values()):
        raise typer.Exit(EXIT_PROBLEM)


def _check_online(client: ServerClient) -> dict[str, Any]:
    report = client.call("GET", "/health/ready", even_if=httpx.codes.SERVICE_UNAVAILABLE)
    return {"server": {"ok": True, "detail": client.url}, **report["stores"]}


async def _check_offline(settings: Settings) -> dict[str, Any]:
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with local_server.exclusive(settings.home):
        async with AsyncExitStack() as stack:
            try:
                infrastructure = await bootstrap.open_infrastructure(settings, stack)
            except TenureError as error:
                return {"stores": {"ok": False, "detail": str(error)}}
            report: dict[str, Any] = {}
            for name in ("database", "vectors", "graph"):
                try:
                    report[name] = {"ok": True, "detail": await getattr(infrastructure, name).check()}
                except TenureError as error:
                    report[name] = {"ok": False, "detail": str(error)}
            return report


def _masked_url(settings: Settings) -> str:
    scheme, _, rest = settings.database_url.partition("://")
    return f"{scheme}://***@{rest.rpartition('@')[2]}" if "@" in rest else settings.database_url
