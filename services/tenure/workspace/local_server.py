"""How every command reaches the local server: the one process per home that opens the stores.

Its address stands in `server.json` inside the home, which only the holder of the home's lock writes. The lock is held
by the kernel for the life of the process, so a killed server leaves no lock behind, and any number of clients that
start at once end with one server.
"""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tenure.core.errors import StoreUnavailable
from tenure.runtime.home import prepare_home
from tenure.runtime.settings import Settings, describe
from tenure.workspace.home_lock import holder, starting
from tenure.workspace.server_address import ServerAddress, answers, read_address

START_TIMEOUT_SECONDS = 120.0
"""How long a client waits for a server: a first start migrates and may load a large store, on a machine that may be
busy. A server that ends instead of answering is noticed at once."""
STOP_TIMEOUT_SECONDS = 60.0
"""How long `stop` waits: the server ends its requests and closes its stores."""
POLL_SECONDS = 0.05
_LOG_LINES_SHOWN = 15


def find_or_start(settings: Settings, profile: str, flags: Mapping[str, Any] | None = None) -> ServerAddress:
    """The address of a server that answers, started in the background with these flags if there is none.

    Any number of callers at once end with one server. Raises `StoreUnavailable` with the end of the server's log if
    it does not come up.
    """
    home = settings.home
    prepare_home(home)
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        address = _live_address(home)
        if address is not None:
            return address
        with starting(home) as is_ours:
            if is_ours and (started := _start(home, profile, flags or {}, deadline)) is not None:
                return started
        time.sleep(POLL_SECONDS)
    raise StoreUnavailable(f"the local server did not answer within {START_TIMEOUT_SECONDS:.0f} s:\n{_log_tail(home)}")


def fingerprint(settings: Settings) -> str:
    """Equal for equal settings, secrets left out."""
    return hashlib.sha256(json.dumps(describe(settings), sort_keys=True).encode()).hexdigest()[:16]


def stop(home: Path) -> bool:
    """Ask the home's server to end and wait for it; False if none runs. An offline command is left alone."""
    found = holder(home)
    if found is None or not found.is_server:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(found.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
    while holder(home) == found:
        if time.monotonic() > deadline:
            raise StoreUnavailable(f"the server (pid {found.pid}) does not end; look at {home / 'server.log'}")
        time.sleep(POLL_SECONDS)
    return True


def _live_address(home: Path) -> ServerAddress | None:
    address = read_address(home)
    return address if address is not None and answers(address) else None


def _start(home: Path, profile: str, flags: Mapping[str, Any], deadline: float) -> ServerAddress | None:
    """The address of the server that this client starts. None if another process has the home open, or was quicker."""
    child: subprocess.Popen[bytes] | None = None
    while time.monotonic() < deadline:
        address = _live_address(home)
        if address is not None:
            return address
        if child is None:
            if holder(home) is not None:
                return None
            child = _spawn(home, profile, flags)
        elif child.poll() is not None:
            if holder(home) is not None:
                return None
            raise StoreUnavailable(f"the local server did not start:\n{_log_tail(home)}")
        time.sleep(POLL_SECONDS)
    return None


def _spawn(home: Path, profile: str, flags: Mapping[str, Any]) -> "subprocess.Popen[bytes]":
    """A server of its own session: it outlives the client and gets none of its terminal's signals."""
    log = home / "server.log"
    with contextlib.suppress(FileNotFoundError):
        log.replace(home / "server.log.1")
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "tenure.workspace.cli.main", *_options(profile, flags), "serve", "--background"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=home,
            env={**os.environ, "TENURE_HOME": str(home)},
            start_new_session=True,
        )


def _options(profile: str, flags: Mapping[str, Any]) -> Sequence[str]:
    given = [f"{name}={value}" for name, value in flags.items() if name != "home"]
    return ["--profile", profile, *(part for assignment in given for part in ("--set", assignment))]


def _log_tail(home: Path) -> str:
    try:
        return "\n".join((home / "server.log").read_text("utf-8", "replace").splitlines()[-_LOG_LINES_SHOWN:])
    except OSError as error:
        return f"(no log: {error.strerror})"
