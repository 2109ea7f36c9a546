"""Commands about the index: index, status, watch, jobs."""

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any

import typer
import watchfiles
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from tenure.workspace.cli.context import EXIT_PROBLEM, ServerClient, Session, exits, session_of

DEFAULT_WORKSPACE = "default"
POLL_SECONDS = 0.2
WATCH_DEBOUNCE_MS = 200
"""Changes that come within this time are one sync: a checkout writes many files."""
_ENDED = {"done", "done_with_errors", "failed", "parked"}
_BROKEN = {"failed", "parked"}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("index")(index)
    app.command("status")(status)
    app.command("watch")(watch)
    app.command("jobs")(jobs)


@exits
def index(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A folder inside the tree to index.")] = Path(),
    full: Annotated[bool, typer.Option(help="Parse every file again.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until structure, text and history are searchable.")] = True,
    dense: Annotated[bool, typer.Option(help="Wait for the dense vectors as well.")] = False,
    tree: Annotated[str | None, typer.Option(help="Branch or commit of a bare repository.")] = None,
) -> None:
    """Index the repository that holds a folder, or bring its index up to date."""
    session = session_of(context)
    client = session.client()
    workspace_id = _workspace_for(client, session, path.absolute())
    body = {"path": str(path.absolute()), "tree": tree}
    repository = client.call("POST", f"/v1/workspaces/{workspace_id}/repositories", body)
    base = f"/v1/workspaces/{workspace_id}/repositories/{repository['id']}"
    client.call("POST", f"{base}/index", {"full": full})
    state = _follow(client, session, base, dense) if wait else client.call("GET", f"{base}/status")
    session.show(state, lambda: _print_status(session, state))
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
            _print_status(session, state, details=True)
        if not states:
            session.console.print("no repository is indexed in this workspace; run `tenure index PATH`")

    session.show(states, text)


@exits
def jobs(context: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1000)] = 20) -> None:
    """The newest jobs of this workspace."""
    session = session_of(context)
    client = session.client()
    workspace_id = client.workspace(session.workspace, Path.cwd())
    found = client.call("GET", f"/v1/workspaces/{workspace_id}/jobs", query={"limit": limit})

    def text() -> None:
        table = Table("created", "kind", "state", "attempts", "error")
        for job in found:
            table.add_row(job["created_at"][:19], job["kind"], job["state"], str(job["attempts"]), job["error"])
        session.console.print(table)

    session.show(found, text)


@exits
def watch(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A folder inside the tree to watch.")] = Path(),
) -> None:
    """Keep the index of a tree up to date until interrupted; notices edits and git operations."""
    session = session_of(context)
    client = session.client()
    workspace_id = _workspace_for(client, session, path.absolute())
    repository = client.call("POST", f"/v1/workspaces/{workspace_id}/repositories", {"path": str(path.absolute())})
    base = f"/v1/workspaces/{workspace_id}/repositories/{repository['id']}"
    client.call("POST", f"{base}/index", {})
    session.console.print(f"watching {repository['root']}; Ctrl-C ends", markup=False)
    try:
        asyncio.run(_watch(Path(repository["root"]), lambda: client.call("POST", f"{base}/index", {})))
    except KeyboardInterrupt:
        session.console.print("stopped watching")


async def _watch(root: Path, sync: Any) -> None:
    async for _ in watchfiles.awatch(
        root, watch_filter=lambda _, changed: is_worth_a_sync(root, changed), step=50, debounce=WATCH_DEBOUNCE_MS
    ):
        await asyncio.to_thread(sync)


def is_worth_a_sync(root: Path, changed: str) -> bool:
    """False for git's own bookkeeping, which changes without the tree changing; HEAD, refs and the index count."""
    parts = Path(changed).relative_to(root).parts if Path(changed).is_relative_to(root) else ()
    if ".git" not in parts:
        return True
    inside = parts[parts.index(".git") + 1 :]
    return bool(inside) and not inside[-1].endswith(".lock") and inside[0] in {"HEAD", "refs", "packed-refs", "index"}


def _workspace_for(client: ServerClient, session: Session, path: Path) -> str:
    """The named workspace, the one that has this tree, or the default one; made if there is none."""
    everything = client.call("GET", "/v1/workspaces")
    name = session.workspace
    if name is None:
        located = client.locate(path)
        if located is not None:
            return located[0]
        name = DEFAULT_WORKSPACE
    for workspace in everything:
        if name in (workspace["id"], workspace["name"]):
            return str(workspace["id"])
    return str(client.call("POST", "/v1/workspaces", {"name": name})["id"])


def _follow(client: ServerClient, session: Session, base: str, dense: bool) -> Any:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=session.console, disable=session.as_json, transient=True) as progress:
        bar = progress.add_task("looking", total=None)
        while True:
            state = client.call("GET", f"{base}/status")
            job, counts = state["job"], state["counts"]
            if job["state"] in _BROKEN:
                return state
            if job["state"] not in _ENDED:
                report = job["progress"]
                total, pending = report.get("files"), report.get("pending", 0)
                progress.update(bar, description=report.get("phase", "queued"), total=total)
                if total:
                    progress.update(bar, completed=total - pending)
            elif counts["outbox_pending"]:
                progress.update(bar, description="writing vectors", total=None)
            elif dense and not _dense_done(state):
                done, total = counts["chunks_embedded"] + counts["chunks_failed"], counts["chunks"]
                rate = (state["embed_job"] or {}).get("progress", {}).get("rate", "?")
                progress.update(bar, description=f"dense vectors, {rate}/s", completed=done, total=total)
            else:
                return state
            time.sleep(POLL_SECONDS)


def _dense_done(state: Any) -> bool:
    job = state["embed_job"]
    return job is not None and job["state"] in _ENDED


def _print_status(session: Session, state: Any, details: bool = False) -> None:
    repository, counts, console = state["repository"], state["counts"], session.console
    where = f"{repository['branch'] or '-'} @ {(repository['commit'] or '-')[:10]}"
    console.print(f"{repository['name']}  {state['state']}  {where}", markup=False, style="bold")
    statuses = ", ".join(f"{number} {name}" for name, number in sorted(counts["files_by_status"].items()))
    console.print(
        f"  {counts['files']} files ({statuses}), {counts['lines']} lines, {counts['nodes']} nodes, "
        f"{counts['edges']} edges, {counts['unresolved']} unresolved references, {counts['commits']} commits",
        markup=False,
    )
    share = f"{counts['chunks_embedded']} of {counts['chunks']} chunks have dense vectors"
    embed = state["embed_job"]
    rate = f", {embed['progress']['rate']}/s" if embed and embed["state"] == "running" and embed["progress"] else ""
    console.print(f"  {share}{rate}; {counts['left_out']} paths left out", markup=False)
    for job in (state["job"], embed):
        if job and job["error"]:
            console.print(f"  {job['kind']} {job['state']}: {job['error']}", markup=False, style="red")
    if repository["detail"]:
        console.print(f"  {repository['detail']}", markup=False, style="red")
    if details:
        for problem in state["problems"]:
            console.print(f"  {problem['status']}: {problem['path']}: {problem['reason']}", markup=False)
        for item in (*state["left_out"], *state["refused"]):
            console.print(f"  left out: {item['path']}: {item['reason']}", markup=False)
