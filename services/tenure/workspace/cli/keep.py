"""Commands that look after workspaces and stores: workspaces, members, keys, verify, repair, rebuild, reembed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tenure.ports.records import Role
from tenure.workspace.cli.context import EXIT_PROBLEM, Session, exits, session_of
from tenure.workspace.cli.heavy import OfflineWork, offline_work

TEAM_PANEL, STORES_PANEL = "Team", "Stores"
Offline = Annotated[bool, typer.Option(help="Open the stores directly; no server may run.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (workspaces, members, member, keys, key, revoke):
        app.command(rich_help_panel=TEAM_PANEL)(command)
    for command in (verify, repair, rebuild, reembed):
        app.command(rich_help_panel=STORES_PANEL)(command)


@exits
def workspaces(
    context: typer.Context, create: Annotated[str | None, typer.Option(help="Make one with this name.")] = None
) -> None:
    """The workspaces that you can see."""
    session = session_of(context)
    client = session.client()
    if create is not None:
        client.call("POST", "/v1/workspaces", {"name": create})
    _show_rows(session, client.workspaces(), "name", "role", "id")


@exits
def members(context: typer.Context) -> None:
    """The members of this workspace."""
    session = session_of(context)
    _show_rows(session, _call(session, "GET", "members"), "name", "role", "principal_id")


@exits
def member(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Who.")],
    role: Annotated[Role, typer.Argument(help="What they may do: read, also write, also manage.")],
    principal: Annotated[str | None, typer.Option(help="Change this member instead of adding a new one.")] = None,
) -> None:
    """Add a member to this workspace, or change a member's role. `tenure key` then gives them a key."""
    session = session_of(context)
    made = _call(session, "PUT", "members", {"name": name, "role": role.value, "principal_id": principal})
    _show_rows(session, [made], "name", "role", "principal_id")


@exits
def keys(context: typer.Context) -> None:
    """The API keys of this workspace's members, by their first characters."""
    session = session_of(context)
    found = _call(session, "GET", "keys")
    _show_rows(session, found, "prefix", "principal_id", "created_at", "expires_at", "revoked_at", "id")


@exits
def key(
    context: typer.Context,
    principal: Annotated[str, typer.Argument(help="The member's principal id, from `tenure members`.")],
    days: Annotated[float | None, typer.Option(help="Days until it expires.")] = None,
) -> None:
    """Issue an API key for a member; it is shown this once."""
    session = session_of(context)
    made = _call(session, "POST", "keys", {"principal_id": principal, "expires_in_days": days})
    session.show(made, lambda: session.line(made["key"]))


@exits
def revoke(context: typer.Context, key_id: Annotated[str, typer.Argument(help="From `tenure keys`.")]) -> None:
    """Make an API key worthless."""
    session = session_of(context)
    _call(session, "DELETE", f"keys/{key_id}")
    session.show({"revoked": key_id}, lambda: session.line("revoked"))


@exits
def verify(context: typer.Context, offline: Offline = False) -> None:
    """Compare truth and projections both ways; exit code 1 if they differ."""
    session = session_of(context)
    found = _offline(session).verify(session.settings()) if offline else _call(session, "GET", "verify")
    session.show(found, lambda: _print_findings(session, found))
    if not all(entry["is_clean"] for entry in found):
        raise typer.Exit(EXIT_PROBLEM)


@exits
def repair(context: typer.Context, offline: Offline = False) -> None:
    """Mend what verify finds; prints what was found before."""
    session = session_of(context)
    found = _offline(session).repair(session.settings()) if offline else _call(session, "POST", "repair", {})
    session.show(found, lambda: _print_findings(session, found))


@exits
def rebuild(context: typer.Context, offline: Offline = False) -> None:
    """Restore the vector store from SQL alone, without parsing or embedding."""
    session = session_of(context)
    done = _offline(session).rebuild(session.settings()) if offline else _call(session, "POST", "rebuild", {})
    session.show(done, lambda: session.line(f"projected {done['projected']} rows again"))


@exits
def reembed(context: typer.Context) -> None:
    """Replace vectors of another model or dimension; no server may run. Needs the time of a full dense phase."""
    session = session_of(context)
    due = _offline(session).reembed(session.settings())
    session.show(due, lambda: session.line(f"{due['chunks']} chunks will be embedded when the server runs"))


def _offline(session: Session) -> OfflineWork:
    return offline_work(session.settings())


def _call(session: Session, method: str, endpoint: str, body: Any = None) -> Any:
    client = session.client()
    workspace_id = client.workspace(session.workspace, Path.cwd())
    return client.call(method, f"/v1/workspaces/{workspace_id}/{endpoint}", body)


def _show_rows(session: Session, rows: Any, *columns: str) -> None:
    cells = [[row[column] or "-" for column in columns] for row in rows]
    headings = [column.removesuffix("_at").replace("_", " ") for column in columns]
    session.show(rows, lambda: session.table(headings, cells, "none"))


def _print_findings(session: Session, found: list[Any]) -> None:
    for entry in found:
        state = "clean" if entry["is_clean"] else ", ".join(f"{n} {k}" for k, n in entry["counts"].items() if n)
        session.line(f"{entry['repository_name']} ({entry['repository_id']}): {state}")
        if entry["is_partial"]:
            session.line(f"  partial: {entry['detail']}", "yellow")
        for kind, examples in entry["examples"].items():
            for example in examples:
                session.line(f"  {kind}: {example}")
    if not found:
        session.line("no repository is indexed in this workspace; run `tenure index PATH`")
