"""Commands that look after workspaces and stores: workspaces, members, keys, verify, repair, rebuild, reembed."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tenure.runtime.settings import Settings
from tenure.workspace import local_server
from tenure.workspace.cli.context import EXIT_PROBLEM, Session, exits, session_of
from tenure.workspace.facade import Tenure, open_tenure, reembed_home

Offline = Annotated[bool, typer.Option(help="Open the stores directly; no server may run.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("workspaces")(workspaces)
    app.command("members")(members)
    app.command("member")(member)
    app.command("key")(key)
    app.command("verify")(verify)
    app.command("repair")(repair)
    app.command("rebuild")(rebuild)
    app.command("reembed")(reembed)


@exits
def workspaces(
    context: typer.Context, create: Annotated[str | None, typer.Option(help="Make one with this name.")] = None
) -> None:
    """The workspaces that you can see."""
    session = session_of(context)
    client = session.client()
    if create:
        client.call("POST", "/v1/workspaces", {"name": create})
    found = client.call("GET", "/v1/workspaces")
    session.show(found, lambda: _print_rows(session, found, "name", "role", "id"))


@exits
def members(context: typer.Context) -> None:
    """The members of this workspace."""
    session = session_of(context)
    found = _call(session, "GET", "members")
    session.show(found, lambda: _print_rows(session, found, "name", "role", "principal_id"))


@exits
def member(
    context: typer.Context, name: str, role: Annotated[str, typer.Argument(help="viewer, editor, owner")]
) -> None:
    """Add a member to this workspace."""
    session = session_of(context)
    made = _call(session, "PUT", "members", {"name": name, "role": role})
    session.show(made, lambda: _print_rows(session, [made], "name", "role", "principal_id"))


@exits
def key(
    context: typer.Context,
    principal_id: str,
    days: Annotated[float | None, typer.Option(help="Days until it expires.")] = None,
) -> None:
    """Issue an API key for a member; it is shown this once."""
    session = session_of(context)
    made = _call(session, "POST", "keys", {"principal_id": principal_id, "expires_in_days": days})
    session.show(made, lambda: session.console.print(made["key"], markup=False))


@exits
def verify(context: typer.Context, offline: Offline = False) -> None:
    """Compare truth and projections both ways; exit code 1 if they differ."""
    session = session_of(context)
    found = _offline(session, _verify_all) if offline else _call(session, "GET", "verify")
    session.show(found, lambda: _print_findings(session, found))
    if not all(entry["is_clean"] for entry in found):
        raise typer.Exit(EXIT_PROBLEM)


@exits
def repair(context: typer.Context, offline: Offline = False) -> None:
    """Mend what verify finds; prints what was found before."""
    session = session_of(context)
    found = _offline(session, _repair_all) if offline else _call(session, "POST", "repair", {})
    session.show(found, lambda: _print_findings(session, found))


@exits
def rebuild(context: typer.Context, offline: Offline = False) -> None:
    """Restore the vector store from SQL alone, without parsing or embedding."""
    session = session_of(context)
    done = _offline(session, _rebuild_all) if offline else _call(session, "POST", "rebuild", {})
    session.show(done, lambda: session.console.print(f"projected {done['projected']} rows again"))


@exits
def reembed(context: typer.Context) -> None:
    """Replace vectors of another model or dimension; no server may run. Needs the time of a full dense phase."""
    session = session_of(context)
    settings = session.settings()
    with local_server.exclusive(settings.home):
        due = asyncio.run(reembed_home(settings))
    session.show(due, lambda: session.console.print(f"{due['chunks']} chunks will be embedded when the server runs"))


def _call(session: Session, method: str, endpoint: str, body: Any = None) -> Any:
    client = session.client()
    workspace_id = client.workspace(session.workspace, Path.cwd())
    return client.call(method, f"/v1/workspaces/{workspace_id}/{endpoint}", body)


def _offline(session: Session, work: Callable[[Tenure], Awaitable[Any]]) -> Any:
    async def run(settings: Settings) -> Any:
        async with open_tenure(settings, works=False) as tenure:
            return await work(tenure)

    settings = session.settings()
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with local_server.exclusive(settings.home):
        return asyncio.run(run(settings))


async def _workspace_ids(tenure: Tenure) -> list[str]:
    return [workspace.id for workspace in await tenure.infrastructure.database.directory.workspaces()]


async def _verify_all(tenure: Tenure) -> list[dict[str, Any]]:
    return [_plain(f) for w in await _workspace_ids(tenure) for f in await tenure.ingestion.verify(w)]


async def _repair_all(tenure: Tenure) -> list[dict[str, Any]]:
    return [_plain(f) for w in await _workspace_ids(tenure) for f in await tenure.ingestion.repair(w)]


async def _rebuild_all(tenure: Tenure) -> dict[str, int]:
    return {"projected": sum([await tenure.ingestion.rebuild(w) for w in await _workspace_ids(tenure)])}


def _plain(findings: Any) -> dict[str, Any]:
    return {
        "repository_id": findings.repository_id,
        "is_clean": findings.is_clean,
        "is_partial": findings.is_partial,
        "counts": findings.counts(),
        "examples": findings.examples(),
    }


def _print_rows(session: Session, rows: list[Any], *columns: str) -> None:
    table = Table(*columns)
    for row in rows:
        table.add_row(*(str(row[column]) for column in columns))
    session.console.print(table)


def _print_findings(session: Session, found: list[Any]) -> None:
    for entry in found:
        state = "clean" if entry["is_clean"] else ", ".join(f"{n} {k}" for k, n in entry["counts"].items() if n)
        session.console.print(f"{entry['repository_id']}: {state}", markup=False)
        if entry["is_partial"]:
            session.console.print(f"  {entry['is_partial']}", markup=False, style="yellow")
        for kind, examples in entry["examples"].items():
            for example in examples:
                session.console.print(f"  {kind}: {example}", markup=False)
