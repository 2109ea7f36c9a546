"""Commands about the index: index, status, jobs, watch, remove."""

import asyncio
import signal
import threading
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from tenure.core.errors import InvalidInput, RecordConflict, StoreUnavailable
from tenure.workspace.cli.client import ServerClient
from tenure.workspace.cli.context import EXIT_PROBLEM, Session, exits, session_of
from tenure.workspace.cli.updates import Updates
from tenure.workspace.cli.watching import changes

PANEL = "Index"
DEFAULT_WORKSPACE = "default"
POLL_SECONDS = 0.2
STALL_SECONDS = 120.0
"""An index whose figures don't move for so long, without a job, is not going to become ready by waiting."""
_ENDED = frozenset({"done", "done_with_errors", "failed", "parked"})
_BROKEN = frozenset({"failed", "parked"})
Tree = Annotated[Path, typer.Argument(help="A folder inside the tree.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (index, status, watch, jobs, remove):
        app.command(rich_help_panel=PANEL)(command)


@exits
def index(
    context: typer.Context,
    path: Tree = Path(),
    full: Annotated[bool, typer.Option(help="Parse every file again.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until structure, text and history are searchable.")] = True,
    dense: Annotated[bool, typer.Option(help="Wait for the dense vectors as well.")] = False,
    tree: Annotated[str | None, typer.Option(help="Branch or commit of a bare repository.")] = None,
) -> None:
    """Index the repository that holds a folder, or bring its index up to date."""
    session = session_of(context)
    client = session.client()
    workspace_id, repository = _registered(client, session, path, tree)
    base = f"/v1/workspaces/{workspace_id}/repositories/{repository['id']}"
    client.call("POST", f"{base}/index", {"full": full})
    state = _follow(client, session, base, dense) if wait else client.call("GET", f"{base}/status")

    def text() -> None:
        _print_status(session, state)
        if state["is_searchable"]:
            session.line(f"  ask: tenure retrieve 'How does {repository['name']} …?'", "dim")

    session.show(state, text)
    if state["job"] and state["job"]["state"] in _BROKEN:
        raise typer.Exit(EXIT_PROBLEM)


@exits
def status(context: typer.Context) -> None:
    """What the index of this workspace holds, what is pending, and what was left out."""
    session = session_of(context)
    client = session.client()
    workspace_id = client.workspace(session.workspace, Path.cwd())
    states = client.call("GET", f"/v1/workspaces/{workspace_id}/index/status")

    def text() -> None:
        for state in states:
            _print_status(session, state)
            _print_details(session, state)
        if not states:
            session.line("no repository is indexed in this workspace; run `tenure index PATH`")

    session.show(states, text)


@exits
def jobs(context: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1000)] = 20) -> None:
    """The jobs of this workspace, newest first."""
    session = session_of(context)
    client = session.client()
    workspace_id = client.workspace(session.workspace, Path.cwd())
    found = client.call("GET", f"/v1/workspaces/{workspace_id}/jobs", query={"limit": limit})
    rows = [(job["created_at"][:19], job["kind"], job["state"], job["attempts"], job["error"]) for job in found]
    columns = ("created", "kind", "state", "tries", "error")
    session.show(found, lambda: session.table(columns, rows, "no job has run; `tenure index PATH` requests one"))


@exits
def watch(context: typer.Context, path: Tree = Path()) -> None:
    """Keep the index of a tree up to date until interrupted; notices edits and git operations, and tells each update."""
    session = session_of(context)
    workspace_id, repository = _registered(session.client(), session, path, None)
    asyncio.run(_watch(session, workspace_id, repository))
    session.line("stopped watching")


@exits
def remove(context: typer.Context, path: Tree = Path()) -> None:
    """Take the index of a tree out of every store; the tree itself is not touched."""
    session = session_of(context)
    client = session.client()
    located = client.locate(path.resolve())
    if located is None:
        raise InvalidInput(f"{path.resolve()} belongs to no indexed repository; `tenure status` names what is indexed")
    workspace_id, repository_id = located
    client.call("DELETE", f"/v1/workspaces/{workspace_id}/repositories/{repository_id}")
    session.show({"removed": repository_id}, lambda: session.line("removed from the index"))


async def _watch(session: Session, workspace_id: str, repository: Any) -> None:
    """Until Ctrl-C, which lets a request that is under way end; a second one does not wait for it.

    By an event, not by cancelling: a cancellation that arrives together with a change can get lost in the watcher.
    """
    stop, stop_thread, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def end() -> None:
        stop.set()
        stop_thread.set()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, end)
    root = Path(repository["root"])
    updates = Updates(session, workspace_id, repository, stop_thread)
    session.line(f"watching {root}; Ctrl-C ends")
    # The watcher has to stand before the first update looks at the tree; it keeps what changes while one is under way.
    first = asyncio.create_task(asyncio.to_thread(updates.run))
    async for changed in changes(root, session.settings().home, stop):
        await first
        await asyncio.to_thread(updates.run, changed)
    await first


def _registered(client: ServerClient, session: Session, path: Path, tree: str | None) -> tuple[str, Any]:
    """The workspace, and the repository of it that holds a folder."""
    workspace_id = _workspace_for(client, session, path.resolve())
    body = {"path": str(path.absolute()), "tree": tree}
    return workspace_id, client.call("POST", f"/v1/workspaces/{workspace_id}/repositories", body)


def _workspace_for(client: ServerClient, session: Session, path: Path) -> str:
    """The named workspace, the one that has this tree, or the default one; made if there is none."""
    name = session.workspace
    if name is None:
        located = client.locate(path)
        if located is not None:
            return located[0]
        name = DEFAULT_WORKSPACE
    known = _find(client, name)
    if known is not None:
        return known
    try:
        return str(client.call("POST", "/v1/workspaces", {"name": name})["id"])
    except RecordConflict:
        made_meanwhile = _find(client, name)
        if made_meanwhile is None:
            raise
        return made_meanwhile


def _find(client: ServerClient, name: str) -> str | None:
    return next((str(w["id"]) for w in client.workspaces() if name in (w["id"], w["name"])), None)


def _follow(client: ServerClient, session: Session, base: str, dense: bool) -> Any:
    """The state once it is what was waited for, or can't become it any more."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=session.notes, disable=session.as_json, transient=True) as progress:
        bar = progress.add_task("looking", total=None)
        moved_at, figures = time.monotonic(), None
        while True:
            state = client.call("GET", f"{base}/status")
            step = next_step(state, dense)
            if step is None:
                return state
            description, done, total = step
            progress.update(bar, description=description, completed=done, total=total)
            if step != figures or state["job"]["state"] not in _ENDED:
                moved_at, figures = time.monotonic(), step
            elif time.monotonic() - moved_at > STALL_SECONDS:
                raise StoreUnavailable(
                    f"{description}: nothing has moved for {STALL_SECONDS:.0f} s; `tenure doctor` checks the stores"
                )
            time.sleep(POLL_SECONDS)


def next_step(state: Any, dense: bool) -> tuple[str, int, int | None] | None:
    """What is waited for (words, done, total), None once there is nothing to wait for. Pure."""
    job, counts, embed = state["job"], state["counts"], state["embed_job"]
    if job["state"] in _BROKEN:
        return None
    if job["state"] not in _ENDED:
        report = job["progress"]
        total, pending = report.get("files"), report.get("pending", 0)
        return report.get("phase", "queued"), (total or 0) - pending, total
    if counts["outbox_pending"]:
        return f"writing {counts['outbox_pending']} projections", 0, None
    if dense and (embed is None or embed["state"] not in _ENDED):
        rate = embed["progress"].get("rate", "?") if embed else "?"
        return f"dense vectors, {rate}/s", counts["chunks_embedded"] + counts["chunks_failed"], counts["chunks"]
    return None


def _print_status(session: Session, state: Any) -> None:
    repository, counts = state["repository"], state["counts"]
    where = f"{repository['branch'] or '-'} @ {(repository['commit'] or '-')[:10]}"
    session.line(f"{repository['name']}  {state['state']}  {where}  {repository['root']}", "bold")
    statuses = ", ".join(f"{number} {name}" for name, number in sorted(counts["files_by_status"].items()))
    session.line(
        f"  {counts['files']} files ({statuses or 'none'}), {counts['lines']} lines, {counts['nodes']} nodes, "
        f"{counts['edges']} edges, {counts['unresolved']} unresolved references, {counts['commits']} commits"
    )
    embed = state["embed_job"]
    rate = f", {embed['progress']['rate']}/s" if embed and embed["state"] == "running" and embed["progress"] else ""
    session.line(
        f"  {counts['chunks_embedded']} of {counts['chunks']} chunks have dense vectors{rate}; "
        f"{counts['left_out']} paths left out"
    )
    for job in (state["job"], embed):
        if job and job["error"]:
            session.line(f"  {job['kind']} {job['state']}: {job['error']}", "red")
    if repository["detail"]:
        session.line(f"  {repository['detail']}", "red")


def _print_details(session: Session, state: Any) -> None:
    for problem in state["problems"]:
        session.line(f"  {problem['status']}: {problem['path']}: {problem['reason']}")
    for item in (*state["left_out"], *state["refused"]):
        session.line(f"  left out: {item['path']}: {item['reason']}")
