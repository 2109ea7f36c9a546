"""What every command shares: settings, the client of the local server, output, exit codes."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import httpx
import typer
import yaml
from rich.console import Console

from tenure.core.errors import InvalidInput, RecordNotFound, StoreUnavailable, TenureError
from tenure.runtime.settings import Settings, load_settings
from tenure.workspace.local_server import find_or_start

EXIT_PROBLEM, EXIT_USAGE = 1, 2
"""1: something is wrong with the stores or the answer; 2: the request can't be served as it stands."""
REQUEST_TIMEOUT_SECONDS = 120.0
P = ParamSpec("P")


@dataclass(slots=True)
class Session:
    """The options that stand before the command."""

    profile: str = "embedded"
    flags: dict[str, Any] = field(default_factory=dict)
    workspace: str | None = None
    as_json: bool = False
    key: str | None = None
    console: Console = field(default_factory=Console)

    def settings(self) -> Settings:
        """The effective settings; built once per command."""
        return load_settings(self.profile, self.flags)

    def client(self) -> "ServerClient":
        """A client of the home's server, which is started if none runs."""
        address = find_or_start(self.settings(), self.profile)
        return ServerClient(address.url, self.key or os.environ.get("TENURE_API_KEY"))

    def show(self, value: Any, text: Callable[[], None]) -> None:
        """Print JSON where it was asked for, else whatever `text` prints."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
        else:
            text()


class ServerClient:
    """HTTP to the local server, with its problems turned back into errors."""

    def __init__(self, url: str, key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=url, timeout=REQUEST_TIMEOUT_SECONDS, headers=headers, trust_env=False)
        self.url = url

    def call(
        self, method: str, endpoint: str, body: Any = None, query: Mapping[str, Any] | None = None, even_if: int = 0
    ) -> Any:
        """The decoded answer; raises the error that the server reported, but for the status `even_if`."""
        try:
            response = self._http.request(method, endpoint, json=body, params=query)
        except httpx.HTTPError as error:
            raise StoreUnavailable(f"the local server at {self.url} did not answer: {error!r}") from error
        if response.is_error and response.status_code != even_if:
            raise _problem(response)
        return response.json() if response.content else None

    def locate(self, path: Path) -> tuple[str, str] | None:
        """(workspace id, repository id) of the indexed tree that holds `path`."""
        found = self.call("GET", "/v1/locate", query={"path": str(path)})
        return (found[0]["workspace_id"], found[0]["repository_id"]) if found else None

    def workspace(self, named: str | None, path: Path) -> str:
        """The workspace by id or name, else the one that holds the current folder, else the only one."""
        everything = self.call("GET", "/v1/workspaces")
        if named is not None:
            return _named(everything, named)
        located = self.locate(path)
        if located is not None:
            return located[0]
        if len(everything) == 1:
            return str(everything[0]["id"])
        raise RecordNotFound(
            "this folder belongs to no indexed repository; run `tenure index` here, or name a workspace with "
            f"--workspace ({', '.join(w['name'] for w in everything) or 'there is none yet'})"
        )


def exits(command: Callable[P, None]) -> Callable[P, None]:
    """Turns our errors into a message on standard error and an exit code."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except TenureError as error:
            sys.stderr.write(f"tenure: {error}\n")
            code = EXIT_PROBLEM if isinstance(error, StoreUnavailable) else EXIT_USAGE
            raise typer.Exit(code) from error

    return run


def parse_flags(assignments: list[str]) -> dict[str, Any]:
    """`section.key=value` pairs, values as YAML."""
    flags = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise InvalidInput(f"--set takes section.key=value, not {assignment!r}")
        flags[name.strip()] = yaml.safe_load(value)
    return flags


def session_of(context: typer.Context) -> Session:
    """The session that the main callback made."""
    session: Session = context.obj
    return session


def _named(everything: list[Mapping[str, Any]], named: str) -> str:
    found = [w for w in everything if named in (w["id"], w["name"])]
    if len(found) != 1:
        names = ", ".join(str(w["name"]) for w in everything) or "there is none yet"
        raise RecordNotFound(f"no workspace {named!r}; known: {names}")
    return str(found[0]["id"])


def _problem(response: httpx.Response) -> TenureError:
    try:
        detail = str(response.json().get("detail", response.text))
    except ValueError:
        detail = response.text[:500]
    if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
        return StoreUnavailable(detail or f"the server answered {response.status_code}; see server.log")
    return InvalidInput(detail)
