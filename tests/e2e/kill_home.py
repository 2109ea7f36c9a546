"""A home whose server is killed: everything goes through the command line's client and a process of its own."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tenure.workspace.cli.client import ServerClient
from tenure.workspace.server_address import ServerAddress, answers, read_address
from tests.support.git_history import Step, write_history
from tests.support.git_sandbox import Sandbox

FILES = 150
COMMITS = 100
WAIT_SECONDS = 300.0
"""Far more than anything here takes: an overloaded machine is no fault of the server."""
POLL_SECONDS = 0.02
_BEGAN = datetime(2024, 1, 1, tzinfo=UTC)
_FLAGS = ("--profile", "test", "--set", "indexing.dense=false", "--set", "indexing.workers=0")


def module(number: int, version: int = 0) -> str:
    """A module that calls its neighbour, so that edges cross files."""
    other = (number + 1) % FILES
    body = "\n".join(f"    total += step * {line + version}" for line in range(12))
    return (
        f"from pkg{other % 10}.part_{other} import run_{other}\n\n\n"
        f"class Worker{number}:\n    def work(self, step):\n        return run_{other}(step)\n\n\n"
        f"def run_{number}(step):\n    total = {number}\n{body}\n    return Worker{number}().work(total)\n"
    )


def path_of(number: int) -> str:
    """Where that module stands."""
    return f"pkg{number % 10}/part_{number}.py"


def make_repository(root: Path) -> Sandbox:
    """A repository of `FILES` modules and `COMMITS` commits."""
    box = Sandbox(root)
    first = {path_of(number): module(number) for number in range(FILES)}
    steps = [Step("Begin", _BEGAN, first)]
    for n in range(1, COMMITS):
        changed = {path_of(k % FILES): module(k % FILES, n) for k in (n, n * 7)}
        steps.append(Step(f"Tune run_{n % FILES} and its worker", _BEGAN + timedelta(hours=n), changed))
    write_history(box, steps)
    return box


class KilledHome:
    """One home whose server is killed and started again. Every round indexes the tree into a new workspace."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder
        self._root = root
        self._server: subprocess.Popen[bytes] | None = None
        self._rounds = 0
        self.client = self.start()

    def start(self) -> ServerClient:
        """A client of a server that was just started."""
        self._folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tenure.workspace.cli.main", "--home", str(self._folder / "home"), *_FLAGS]
        with (self._folder / "output.log").open("ab") as output:
            self._server = subprocess.Popen(
                [*command, "serve"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={name: value for name, value in os.environ.items() if not name.startswith("TENURE_")},
            )
        self.client = ServerClient(self._address().url)
        return self.client

    def request(self) -> str:
        """The endpoint of a new workspace's repository, with an index job under way."""
        self._rounds += 1
        workspace_id = self.client.call("POST", "/v1/workspaces", {"name": f"round {self._rounds}"})["id"]
        base = f"/v1/workspaces/{workspace_id}/repositories"
        repository = self.client.call("POST", base, {"path": str(self._root)})
        self.client.call("POST", f"{base}/{repository['id']}/index", {})
        return f"{base}/{repository['id']}"

    def status(self, base: str) -> dict[str, Any]:
        """The state of a round's index."""
        found: dict[str, Any] = self.client.call("GET", f"{base}/status")
        return found

    def settled(self, base: str) -> dict[str, Any]:
        """The status once nothing is under way."""
        deadline = time.monotonic() + WAIT_SECONDS
        status = self.status(base)
        while status["state"] in {"indexing", "projecting", "not_indexed"}:
            assert time.monotonic() < deadline, f"still {status['state']} after {WAIT_SECONDS} s: {status['job']}"
            time.sleep(POLL_SECONDS)
            status = self.status(base)
        return status

    def differences(self) -> list[dict[str, Any]]:
        """What `verify` finds in any workspace."""
        found = [
            f for w in self.client.workspaces() for f in self.client.call("GET", f"/v1/workspaces/{w['id']}/verify")
        ]
        return [one for one in found if not one["is_clean"] or one["is_partial"]]

    def kill(self) -> None:
        """End the server as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the server politely."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._server is not None:
            self._server.send_signal(number)
            self._server.wait(WAIT_SECONDS)
            self._server = None

    def _address(self) -> ServerAddress:
        assert self._server is not None
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            address = read_address(self._folder / "home")
            if address is not None and address.pid == self._server.pid and answers(address):
                return address
            assert self._server.poll() is None, (self._folder / "output.log").read_text()
            time.sleep(POLL_SECONDS)
        raise AssertionError("the server did not come up")
