"""Commands that ask: retrieve, search, prompt, impact."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tenure.core.errors import InvalidInput
from tenure.workspace.cli.context import Session, exits, session_of

Query = Annotated[str, typer.Argument(help="The question; - reads it from standard input.")]
Limit = Annotated[int, typer.Option(min=1, max=200, help="How many items.")]
MaxTokens = Annotated[int, typer.Option(min=0, help="Tokens for context.")]
Files = Annotated[list[str] | None, typer.Option("--file", help="Only these files (repeatable).")]
Folders = Annotated[list[str] | None, typer.Option("--dir", help="Only below these folders (repeatable).")]
Tests = Annotated[str, typer.Option(help="auto, yes or no: whether tests may be answers.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("retrieve")(retrieve)
    app.command("search")(search)
    app.command("prompt")(prompt)
    app.command("impact")(impact)


@exits
def retrieve(
    context: typer.Context,
    query: Query,
    limit: Limit = 20,
    max_tokens: MaxTokens = 8000,
    file: Files = None,
    folder: Folders = None,
    tests: Tests = "auto",
    explain: Annotated[bool, typer.Option(help="Show the parts of each score.")] = False,
) -> None:
    """What a model should see for this task: items with reasons, inside a token budget."""
    session = session_of(context)
    body = {
        "query": _read(query),
        "limit": limit,
        "max_tokens": max_tokens,
        "file_scope": file or [],
        "directory_scope": folder or [],
        "include_tests": tests,
        "explain": explain,
    }
    bundle = _post(session, "context", body)
    session.show(bundle, lambda: _print_bundle(session, bundle, explain))


@exits
def search(context: typer.Context, query: Query, limit: Limit = 20, tests: Tests = "auto") -> None:
    """Where something is: hits without their text."""
    session = session_of(context)
    found = _post(session, "search", {"query": _read(query), "limit": limit, "include_tests": tests})

    def text() -> None:
        table = Table("relevance", "where", "what", "why")
        for hit in found["hits"]:
            table.add_row(f"{hit['relevance']:.2f}", _where(hit), hit["title"], ", ".join(hit["why"]))
        session.console.print(table)
        _print_notes(session, found)

    session.show(found, text)


@exits
def prompt(context: typer.Context, query: Query, max_tokens: MaxTokens = 8000) -> None:
    """The finished prompt for this task."""
    session = session_of(context)
    rendered = _post(session, "prompt", {"query": _read(query), "max_tokens": max_tokens})

    def text() -> None:
        for message in rendered["messages"]:
            session.console.print(f"[{message['role']}]", style="bold", markup=False)
            session.console.print(message["content"], markup=False)

    session.show(rendered, text)


@exits
def impact(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Files of one repository.")],
    limit: Limit = 10,
) -> None:
    """What else changes with these files: co-change, imports, calls."""
    session = session_of(context)
    client = session.client()
    absolute = [path.absolute() for path in paths]
    located = client.locate(absolute[0])
    if located is None:
        raise InvalidInput(f"{absolute[0]} belongs to no indexed repository; run `tenure index` first")
    workspace_id, repository_id = located
    roots = {r["id"]: Path(r["root"]) for r in client.call("GET", f"/v1/workspaces/{workspace_id}/repositories")}
    root = roots[repository_id]
    outside = [path for path in absolute if not path.is_relative_to(root)]
    if outside:
        raise InvalidInput(f"{outside[0]} lies outside {root}; give files of one repository")
    relative = [path.relative_to(root).as_posix() for path in absolute]
    body = {"repository_id": repository_id, "paths": relative, "limit": limit}
    found = client.call("POST", f"/v1/workspaces/{workspace_id}/impact", body)

    def text() -> None:
        table = Table("score", "file", "why")
        for item in found["items"]:
            table.add_row(f"{item['score']:.2f}", item["path"], ", ".join(item["why"]))
        session.console.print(table)
        for hint in found["hints"]:
            session.console.print(hint, markup=False, style="dim")

    session.show(found, text)


def _post(session: Session, endpoint: str, body: dict[str, Any]) -> Any:
    client = session.client()
    workspace_id = client.workspace(session.workspace, Path.cwd())
    return client.call("POST", f"/v1/workspaces/{workspace_id}/{endpoint}", body)


def _read(query: str) -> str:
    return sys.stdin.read() if query == "-" else query


def _where(item: Any) -> str:
    if not item["path"]:
        return (item.get("commit") or "-")[:10]
    line = item["line"] or item["start_line"]
    return f"{item['path']}:{line}" if line else str(item["path"])


def _print_bundle(session: Session, bundle: Any, explain: bool) -> None:
    console = session.console
    budget = bundle["budget"]
    console.print(
        f"{bundle['result']}: {len(bundle['items'])} items, {budget['used']} of {budget['max_tokens']} tokens"
    )
    for number, item in enumerate(bundle["items"], 1):
        mark = " (changed on disk since)" if item["is_stale"] else ""
        console.print(f"\n{number}. {_where(item)}  {item['title']}{mark}", style="bold", markup=False)
        why = ", ".join(item["why"])
        console.print(f"   relevance {item['relevance']:.2f}, score {item['score']:.3f}: {why}", markup=False)
        if item["warning"]:
            console.print(f"   warning: {item['warning']}", markup=False, style="yellow")
        if explain:
            parts = ", ".join(f"{name} {value:.3f}" for name, value in item["parts"].items())
            console.print(f"   {parts}", markup=False, style="dim")
    _print_notes(session, bundle)


def _print_notes(session: Session, answer: Any) -> None:
    for name, reason in answer["failed_sources"].items():
        session.console.print(f"partial: {name} did not answer: {reason}", markup=False, style="yellow")
    for hint in answer["hints"]:
        session.console.print(hint, markup=False, style="dim")
