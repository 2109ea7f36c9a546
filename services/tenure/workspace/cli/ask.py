"""Commands that ask: retrieve, search, prompt, impact."""

import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from tenure.core.context import (
    DEFAULT_LIMIT,
    DEFAULT_MAX_TOKENS,
    MAX_LIMIT,
    MAX_MAX_TOKENS,
    MIN_LIMIT,
    IncludeTests,
)
from tenure.core.errors import InvalidInput, TenureError
from tenure.workspace.cli.client import ServerClient
from tenure.workspace.cli.context import Session, exits, session_of

PANEL = "Ask"
IMPACT_LIMIT = 10
Query = Annotated[str, typer.Argument(help="The question; - reads it from standard input.")]
Limit = Annotated[int, typer.Option(min=MIN_LIMIT, max=MAX_LIMIT, help="How many items.")]
MaxTokens = Annotated[int, typer.Option(min=0, max=MAX_MAX_TOKENS, help="Tokens for context.")]
Files = Annotated[list[str] | None, typer.Option("--file", help="Only these files, by path in the repository.")]
Folders = Annotated[list[str] | None, typer.Option("--dir", help="Only below these folders.")]
Repositories = Annotated[
    list[str] | None, typer.Option("--repo", help="Only this repository, by name; may be given several times.")
]
Tests = Annotated[
    IncludeTests, typer.Option(help="Whether tests may be answers; auto: if the question is about tests.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (retrieve, search, prompt, impact):
        app.command(rich_help_panel=PANEL)(command)


@exits
def retrieve(
    context: typer.Context,
    query: Query,
    limit: Limit = DEFAULT_LIMIT,
    max_tokens: MaxTokens = DEFAULT_MAX_TOKENS,
    file: Files = None,
    folder: Folders = None,
    repo: Repositories = None,
    tests: Tests = IncludeTests.AUTO,
    explain: Annotated[bool, typer.Option(help="Show the parts of each score.")] = False,
    text: Annotated[bool, typer.Option(help="Show the text of each item.")] = False,
) -> None:
    """What a model should see for this task: items with reasons, inside a token budget."""
    session = session_of(context)
    body = _scoped(query, limit, file, folder, tests) | {"max_tokens": max_tokens, "explain": explain}
    bundle = _asked(session, "context", body, repo)
    session.show(bundle, lambda: _print_bundle(session, bundle, with_parts=explain, with_text=text))


@exits
def search(
    context: typer.Context,
    query: Query,
    limit: Limit = DEFAULT_LIMIT,
    file: Files = None,
    folder: Folders = None,
    repo: Repositories = None,
    tests: Tests = IncludeTests.AUTO,
) -> None:
    """Where something is: hits without their text."""
    session = session_of(context)
    found = _asked(session, "search", _scoped(query, limit, file, folder, tests), repo)

    def text() -> None:
        session.line(f"{found['result']}: {len(found['hits'])} places")
        names = _names(found)
        rows = [
            (f"{hit['relevance']:.2f}", _where(hit, names), hit["title"], ", ".join(hit["why"]))
            for hit in found["hits"]
        ]
        session.table(("relevance", "where", "what", "why"), rows, "nothing found")
        _print_notes(session, found)

    session.show(found, text)


@exits
def prompt(context: typer.Context, query: Query, max_tokens: MaxTokens = DEFAULT_MAX_TOKENS) -> None:
    """The finished prompt for this task."""
    session = session_of(context)
    client = session.client()
    workspace_id = client.workspace(session.workspace, Path.cwd())
    body = {"query": _read(query), "max_tokens": max_tokens}
    rendered = client.call("POST", f"/v1/workspaces/{workspace_id}/prompt", body)

    def text() -> None:
        for message in rendered["messages"]:
            session.line(f"[{message['role']}]", "bold")
            session.line(message["content"])

    session.show(rendered, text)


@exits
def impact(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Files of one repository.")],
    limit: Limit = IMPACT_LIMIT,
) -> None:
    """What else changes with these files: co-change, imports, calls."""
    session = session_of(context)
    client = session.client()
    real = [path.resolve() for path in paths]
    located = client.locate(real[0])
    if located is None:
        raise InvalidInput(f"{real[0]} belongs to no indexed repository; run `tenure index` in its folder first")
    workspace_id, repository_id = located
    roots = {r["id"]: Path(r["root"]) for r in client.call("GET", f"/v1/workspaces/{workspace_id}/repositories")}
    root = roots[repository_id]
    outside = [path for path in real if not path.is_relative_to(root)]
    if outside:
        raise InvalidInput(f"{outside[0]} lies outside {root}; give files of one repository")
    relative = [path.relative_to(root).as_posix() for path in real]
    body = {"repository_id": repository_id, "paths": relative, "limit": limit}
    found = client.call("POST", f"/v1/workspaces/{workspace_id}/impact", body)

    def text() -> None:
        rows = [(f"{item['score']:.2f}", item["path"], ", ".join(item["why"])) for item in found["items"]]
        session.table(("score", "file", "why"), rows, "nothing is known to change with this")
        for hint in found["hints"]:
            session.line(hint, "dim")

    session.show(found, text)


def _scoped(
    query: str, limit: int, files: list[str] | None, folders: list[str] | None, tests: IncludeTests
) -> dict[str, Any]:
    return {
        "query": _read(query),
        "limit": limit,
        "file_scope": files or [],
        "directory_scope": folders or [],
        "include_tests": tests.value,
    }


def _asked(session: Session, endpoint: str, body: dict[str, Any], repositories: list[str] | None) -> Any:
    """The answer of all repositories of the workspace, or of those that are named."""
    client = session.client()
    workspace_id = client.workspace(session.workspace, Path.cwd())
    workspace = f"/v1/workspaces/{workspace_id}"
    if repositories:
        known = {one["name"]: one["id"] for one in client.call("GET", f"{workspace}/repositories")}
        unknown = next((name for name in repositories if name not in known), None)
        if unknown is not None:
            raise InvalidInput(
                f"no repository {unknown!r} in this workspace; it has {', '.join(sorted(known)) or 'none'}"
            )
        body = {**body, "repository_ids": [known[name] for name in repositories]}
    answer = client.call("POST", f"{workspace}/{endpoint}", body)
    if not repositories and len(answer["freshness"]) > 1:
        _tell_how_to_narrow(session, client, workspace_id, answer)
    return answer


def _tell_how_to_narrow(session: Session, client: ServerClient, workspace_id: str, answer: Any) -> None:
    """Who asks from inside one of several repositories may have meant that one."""
    names = {one["repository_id"]: one["name"] for one in answer["freshness"]}
    # What can't be found out is not worth losing the answer for.
    with suppress(TenureError):
        here = client.locate_in(workspace_id, Path.cwd())
        if here in names:
            session.note(
                f"all {len(names)} repositories of this workspace answer; --repo {shlex.quote(names[here])} asks only "
                "the one of this folder",
                "dim",
            )


def _read(query: str) -> str:
    """The question as text; bytes that are no UTF-8 are replaced."""
    given = sys.stdin.buffer.read() if query == "-" else query.encode("utf-8", "surrogateescape")
    return given.decode("utf-8", "replace")


def _names(answer: Any) -> dict[str, str]:
    """Names of the repositories that answered, by id; none if it is clear which one did."""
    names = {one["repository_id"]: one["name"] for one in answer["freshness"]}
    return names if len(names) > 1 else {}


def _where(item: Any, names: Mapping[str, str]) -> str:
    home = f"{names[item['repository_id']]}: " if item["repository_id"] in names else ""
    if not item["path"]:
        return home + (item.get("commit") or "-")[:10]
    line = item["line"] or item["start_line"]
    return f"{home}{item['path']}:{line}" if line else f"{home}{item['path']}"


def _print_bundle(session: Session, bundle: Any, *, with_parts: bool, with_text: bool) -> None:
    budget, names = bundle["budget"], _names(bundle)
    session.line(f"{bundle['result']}: {len(bundle['items'])} items, {budget['used']} of {budget['max_tokens']} tokens")
    for number, item in enumerate(bundle["items"], 1):
        mark = " (changed on disk since)" if item["is_stale"] else ""
        session.line(f"\n{number}. {_where(item, names)}  {item['title']}{mark}", "bold")
        session.line(f"   relevance {item['relevance']:.2f}, score {item['score']:.3f}: {', '.join(item['why'])}")
        if item["warning"]:
            session.line(f"   warning: {item['warning']}", "yellow")
        if with_parts:
            session.line("   " + ", ".join(f"{name} {value:.3f}" for name, value in item["parts"].items()), "dim")
        if with_text:
            session.line("\n".join(f"   | {line}" for line in item["text"].splitlines()))
    _print_notes(session, bundle)


def _print_notes(session: Session, answer: Any) -> None:
    for name, reason in answer["failed_sources"].items():
        session.line(f"partial: {name} did not answer: {reason}", "yellow")
    for hint in answer["hints"]:
        session.line(hint, "dim")
