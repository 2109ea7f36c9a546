"""Commands around the server itself: serve, stop, doctor, migrate."""

from typing import Annotated, Any

import httpx
import typer

from tenure.core.errors import TenureError
from tenure.runtime.settings import describe
from tenure.workspace import local_server
from tenure.workspace.cli.context import EXIT_PROBLEM, Session, exits, session_of
from tenure.workspace.cli.heavy import check_git, offline_work

PANEL = "Server"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (serve, stop, doctor, migrate):
        app.command(rich_help_panel=PANEL)(command)


@exits
def serve(
    context: typer.Context,
    background: Annotated[bool, typer.Option(hidden=True, help="Started by a client: stop when idle.")] = False,
) -> None:
    """Run the local server in the foreground. Other commands start it themselves where none runs."""
    settings = session_of(context).settings()
    offline_work(settings).run_server(settings, stop_when_idle=background)


@exits
def stop(context: typer.Context) -> None:
    """Stop the local server of this home; the next command starts it again."""
    session = session_of(context)
    stopped = local_server.stop(session.settings().home)
    session.show({"stopped": stopped}, lambda: session.line("stopped" if stopped else "no server runs"))


@exits
def migrate(context: typer.Context) -> None:
    """Bring the database to the newest schema; no server may run."""
    session = session_of(context)
    settings = session.settings()
    revision = offline_work(settings).migrate(settings)
    session.show({"revision": revision}, lambda: session.line(f"the database is at {revision}"))


@exits
def doctor(
    context: typer.Context,
    offline: Annotated[bool, typer.Option(help="Open the stores directly; no server may run.")] = False,
) -> None:
    """Print the effective configuration, secrets masked, and check every store; exit code 1 if one fails."""
    session = session_of(context)
    settings = session.settings()
    checks = offline_work(settings).check_stores(settings) if offline else _check_online(session)
    checks["git"] = check_git(settings)
    report = {"configuration": describe(settings), "checks": checks}

    def text() -> None:
        session.console.print_json(data=report["configuration"])
        for name, entry in checks.items():
            is_ok = entry["ok"]
            session.line(f"{'ok  ' if is_ok else 'FAIL'} {name}: {entry['detail']}", None if is_ok else "red")

    session.show(report, text)
    if not all(entry["ok"] for entry in checks.values()):
        raise typer.Exit(EXIT_PROBLEM)


def _check_online(session: Session) -> dict[str, Any]:
    try:
        client = session.client()
        report = client.call("GET", "/health/ready", even_if=httpx.codes.SERVICE_UNAVAILABLE)
    except TenureError as error:
        return {"server": {"ok": False, "detail": str(error)}}
    stores = {name: {"detail": "", **entry} for name, entry in report["stores"].items()}
    return {"server": {"ok": True, "detail": f"answers at {client.url}"}, **stores}
