"""HTTP to the local server, with its problems turned back into errors."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from tenure.core.errors import InvalidInput, RecordNotFound, StoreUnavailable, TenureError
from tenure.runtime.http_errors import error_of

REQUEST_TIMEOUT_SECONDS = 120.0
"""How long an answer is waited for: `verify` and `rebuild` of a large workspace take a while."""
_SHOWN_OF_A_FOREIGN_ANSWER = 500
_SHOWN_AROUND = 60
"""Characters of the request shown on each side of what can't be sent."""


class ServerClient:
    """Calls of one server with one key."""

    def __init__(self, url: str, key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=url, timeout=REQUEST_TIMEOUT_SECONDS, headers=headers, trust_env=False)
        self.url = url

    def call(
        self, method: str, endpoint: str, body: Any = None, query: Mapping[str, Any] | None = None, even_if: int = 0
    ) -> Any:
        """The decoded answer; raises the error that the server reported, but for the status `even_if`.

        Raises `InvalidInput` for text that JSON can't carry, as in the name of a folder that is not UTF-8.
        """
        content = None if body is None else _encoded(body)
        _encoded(query)
        headers = None if body is None else {"Content-Type": "application/json"}
        try:
            response = self._http.request(method, endpoint, params=query, content=content, headers=headers)
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise StoreUnavailable(
                f"the local server at {self.url} did not answer: {reason}; the same command again starts a new one"
            ) from error
        if response.is_error and response.status_code != even_if:
            raise _problem(response)
        return response.json() if response.content else None

    def locate(self, path: Path) -> tuple[str, str] | None:
        """(workspace id, repository id) of the indexed tree that holds `path`."""
        found = self.call("GET", "/v1/locate", query={"path": str(path)})
        return (found[0]["workspace_id"], found[0]["repository_id"]) if found else None

    def locate_in(self, workspace_id: str, path: Path) -> str | None:
        """The repository of this workspace whose tree holds `path`."""
        found = self.call("GET", "/v1/locate", query={"path": str(path)})
        return next((one["repository_id"] for one in found if one["workspace_id"] == workspace_id), None)

    def workspaces(self) -> list[Mapping[str, Any]]:
        """The workspaces that the caller sees, by name."""
        found: list[Mapping[str, Any]] = self.call("GET", "/v1/workspaces")
        return found

    def workspace(self, named: str | None, path: Path) -> str:
        """The workspace by id or name, else the one that holds the current folder, else the only one."""
        everything = self.workspaces()
        if named is not None:
            return _named(everything, named)
        located = self.locate(path)
        if located is not None:
            return located[0]
        if len(everything) == 1:
            return str(everything[0]["id"])
        raise RecordNotFound(
            "this folder belongs to no indexed repository; run `tenure index` here, or name a workspace with "
            f"--workspace ({_names(everything)})"
        )


def _named(everything: list[Mapping[str, Any]], named: str) -> str:
    found = [workspace for workspace in everything if named in (workspace["id"], workspace["name"])]
    if len(found) != 1:
        raise RecordNotFound(f"no workspace {named!r}; known: {_names(everything)}")
    return str(found[0]["id"])


def _names(everything: list[Mapping[str, Any]]) -> str:
    return ", ".join(str(workspace["name"]) for workspace in everything) or "there is none yet"


def _encoded(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        # Paths are text in every store and answer, so percent-encoding the request alone would not do.
        around = error.object[max(0, error.start - _SHOWN_AROUND) : error.end + _SHOWN_AROUND]
        shown = around.encode("utf-8", "backslashreplace").decode()
        raise InvalidInput(
            f"not valid UTF-8 near {shown!r}: names and text are sent as UTF-8; rename the file or folder, or name a "
            "workspace with --workspace from another folder"
        ) from error


def _problem(response: httpx.Response) -> TenureError:
    try:
        body = response.json()
        title, detail = str(body["title"]), str(body["detail"])
    except (ValueError, KeyError, TypeError):
        title, detail = "", response.text[:_SHOWN_OF_A_FOREIGN_ANSWER]
    return error_of(response.status_code, title, detail or f"the server answered {response.status_code}")
