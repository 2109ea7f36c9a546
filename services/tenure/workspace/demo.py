"""`make demo`: from a clone to answers, the way a user gets them.

Starts the local server on a home of its own, indexes this clone with its git history and one source distribution from
the registry, asks three questions, prints the answers and writes `demo.json`.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tenure.core.errors import StoreUnavailable, TenureError
from tenure.runtime.settings import load_settings, shipped_folder
from tenure.workspace import local_server
from tenure.workspace.cli.client import ServerClient

SDIST = "flask==3.1.2"
PROFILE = "embedded"
WORKSPACE = "demo"
ANSWERS_SHOWN = 5
POLL_SECONDS = 0.2
TIMEOUT_SECONDS = 240.0
_DEFINITIONS = {"class", "function"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the tree that it is about."""

    text: str
    tree: str


QUESTIONS = (
    Question("How is the token budget shared between the sections of a bundle?", "tenure"),
    Question("Where are secrets masked before a file's text is stored?", "tenure"),
    Question("Where does Flask match the URL of a request and call the view function?", "flask"),
)


def main() -> None:
    """Run the demo; exit code 1 with the reason if a step fails."""
    try:
        run(shipped_folder("config").parent)
    except (TenureError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"demo: {error}\n")
        sys.exit(1)


def run(clone: Path) -> None:
    """The whole demo inside a clone of Tenure."""
    with tempfile.TemporaryDirectory(prefix="tenure-demo-") as folder:
        _run(clone, Path(folder))


def _run(clone: Path, folder: Path) -> None:
    console, started = Console(soft_wrap=True), time.monotonic()
    settings = load_settings(PROFILE, {"home": str(folder / "home")})
    sdist = fetch_sdist(folder)
    console.print(f"indexing {clone} with its history and {sdist.name}", markup=False)
    try:
        client = ServerClient(local_server.find_or_start(settings, PROFILE).url)
        workspace_id = _workspace(client)
        trees = {"tenure": _index(client, workspace_id, clone), "flask": _index(client, workspace_id, sdist)}
        for name, state in trees.items():
            counts = state["counts"]
            console.print(
                f"  {name}: {counts['files']} files, {counts['nodes']} nodes, {counts['edges']} edges, "
                f"{counts['commits']} commits, state {state['state']}",
                markup=False,
            )
        answers = [_ask(client, workspace_id, question, trees[question.tree]) for question in QUESTIONS]
    finally:
        local_server.stop(settings.home)
    for question, answer in zip(QUESTIONS, answers, strict=True):
        _show(console, question, answer)
    seconds = round(time.monotonic() - started, 1)
    (clone / "demo.json").write_text(json.dumps(answers, indent=2, ensure_ascii=False) + "\n", "utf-8")
    console.print(f"\nwrote {clone / 'demo.json'} after {seconds} s", markup=False)


def fetch_sdist(folder: Path) -> Path:
    """The unpacked source distribution, downloaded by pip once; pip asks its build backend for the metadata."""
    name = SDIST.replace("==", "-")
    target = folder / "sdist"
    if not (target / name).is_dir():
        target.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--no-binary", ":all:", "--dest", str(target), SDIST]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        archives = sorted(target.glob(f"{name}*.tar.gz"))
        if not archives:
            raise StoreUnavailable(f"pip downloaded no source archive of {SDIST} to {target}")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(target, filter="data")
    return target / name


def _workspace(client: ServerClient) -> str:
    for workspace in client.call("GET", "/v1/workspaces"):
        if workspace["name"] == WORKSPACE:
            return str(workspace["id"])
    return str(client.call("POST", "/v1/workspaces", {"name": WORKSPACE})["id"])


def _index(client: ServerClient, workspace_id: str, path: Path) -> Any:
    """Index one tree and wait until it is searchable."""
    repository = client.call("POST", f"/v1/workspaces/{workspace_id}/repositories", {"path": str(path)})
    base = f"/v1/workspaces/{workspace_id}/repositories/{repository['id']}"
    client.call("POST", f"{base}/index", {})
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        state = client.call("GET", f"{base}/status")
        if state["state"] == "failed":
            raise StoreUnavailable(f"indexing {path} failed: {state['job']['error']}")
        if state["is_searchable"] and not state["counts"]["outbox_pending"] and state["state"] != "indexing":
            return state
        time.sleep(POLL_SECONDS)
    raise StoreUnavailable(f"indexing {path} took longer than {TIMEOUT_SECONDS:.0f} s")


def _ask(client: ServerClient, workspace_id: str, question: Question, tree: Any) -> dict[str, Any]:
    """The definitions that answer a question, each with the line that holds its name."""
    body = {"query": question.text, "repository_ids": [tree["repository"]["id"]], "include_episodic": False}
    bundle = client.call("POST", f"/v1/workspaces/{workspace_id}/context", body)
    answers = [
        {
            "file": item["path"],
            "line": item["line"],
            "symbol": item["qualified_name"].rsplit(".", 1)[-1],
            "qualified_name": item["qualified_name"],
            "relevance": round(item["relevance"], 3),
            "score": round(item["score"], 4),
            "reasons": item["why"],
        }
        for item in bundle["items"]
        if item["type"] in _DEFINITIONS and item["line"]
    ][:ANSWERS_SHOWN]
    return {
        "question": question.text,
        "tree": tree["repository"]["root"],
        "result": bundle["result"],
        "milliseconds": bundle["timings_ms"]["total"],
        "tokens": bundle["budget"]["used"],
        "answers": answers,
    }


def _show(console: Console, question: Question, answer: dict[str, Any]) -> None:
    console.print(f"\n{question.text}", style="bold", markup=False)
    console.print(f"  {answer['result']} in {answer['milliseconds']:.0f} ms, {answer['tokens']} tokens", markup=False)
    for found in answer["answers"]:
        why = ", ".join(found["reasons"])
        console.print(f"  {found['file']}:{found['line']}  {found['qualified_name']}  ({why})", markup=False)


if __name__ == "__main__":
    main()
