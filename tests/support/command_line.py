"""The `tenure` command as a user runs it: real processes, real sockets, a home of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tenure.workspace.home_lock import Holder, holder
from tenure.workspace.server_address import read_address
from tests.support.git_sandbox import git_environment

PATIENCE_SECONDS = 240
"""How long anything is waited for: the machine may be busy with other tests, and nothing here measures time."""
FIRST = ("--profile", "test", "--set", "indexing.dense=false", "--set", "indexing.workers=0")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The answer of a command with `--json`."""
        assert self.code == 0, self.err
        return json.loads(self.out)


@dataclass(slots=True)
class CommandLine:
    """Runs commands on one home."""

    home: Path
    cwd: Path
    options: tuple[str, ...] = FIRST
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, *arguments: str | bytes, **more: Any) -> "subprocess.Popen[bytes]":
        """A command that runs beside the test."""
        command = [sys.executable, "-m", "tenure.workspace.cli.main", *self.options, *arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        kept = {name: value for name, value in git_environment().items() if not name.startswith("TENURE_")}
        environment = kept | {"TENURE_HOME": str(self.home), "NO_COLOR": "1", "COLUMNS": "200"} | self.environment
        return subprocess.Popen(command, **{"cwd": self.cwd, "env": environment, **pipes})

    def run(self, *arguments: str | bytes, stdin: bytes = b"", cwd: Path | None = None) -> Ran:
        """A command that is waited for, in a folder of its own if one is given."""
        return ended(self.start(*arguments, **({"cwd": cwd} if cwd else {})), stdin)

    def get(self, endpoint: str) -> Any:
        """The answer of the running server, without starting one."""
        address = read_address(self.home)
        assert address is not None
        return httpx.get(address.url + endpoint, timeout=PATIENCE_SECONDS, trust_env=False).json()

    def post(self, endpoint: str, body: Any) -> Any:
        """Likewise."""
        address = read_address(self.home)
        assert address is not None
        return httpx.post(address.url + endpoint, json=body, timeout=PATIENCE_SECONDS, trust_env=False).json()

    def server(self) -> Holder | None:
        """The process that has the home open."""
        return holder(self.home)

    def log(self) -> str:
        """What the last server logged."""
        return (self.home / "server.log").read_text("utf-8", "replace")


def ended(process: "subprocess.Popen[bytes]", stdin: bytes = b"") -> Ran:
    """Wait for a process that was started."""
    try:
        out, err = process.communicate(stdin, timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    return Ran(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def until(is_so: Callable[[], Any], what: str) -> Any:
    """Wait for something that must come."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = is_so()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come within {PATIENCE_SECONDS} s")


@contextmanager
def command_line(folder: Path, *options: str, **environment: str) -> Iterator[CommandLine]:
    """A fresh home; whatever server runs in it at the end is killed."""
    line = CommandLine(folder / "home", folder, (*FIRST, *options), environment)
    line.home.mkdir(parents=True)
    try:
        yield line
    finally:
        found = line.server()
        if found is not None and found.is_server:
            os.kill(found.pid, 9)
