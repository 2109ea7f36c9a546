"""The local server: one process per home that opens the stores, found or started by every other command.

Its address stands in `server.json` inside the home, which only the holder of `server.lock` writes. The lock is held by
the kernel for the life of the process, so a killed server leaves no lock behind, and any number of clients that start
at once end with one server.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
import structlog
import uvicorn

from tenure.core.errors import RecordConflict, StoreUnavailable
from tenure.runtime.settings import Settings
from tenure.workspace.app import Activity, build_app
from tenure.workspace.facade import open_tenure

START_TIMEOUT_SECONDS = 60.0
"""How long a client waits for a server that it started: a first start migrates and may load a large store."""
POLL_SECONDS = 0.05
IDLE_CHECK_SECONDS = 5.0
_LOG = structlog.get_logger("tenure.server")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server of a home answers."""

    url: str
    pid: int


def address_path(home: Path) -> Path:
    """Where the address of a home's server is written."""
    return home / "server.json"


def read_address(home: Path) -> ServerAddress | None:
    """The address that is written down; it may be that of a server that is gone."""
    try:
        found = json.loads(address_path(home).read_text("utf-8"))
        return ServerAddress(url=str(found["url"]), pid=int(found["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_running(home: Path) -> bool:
    """True if some process holds the home's lock."""
    with contextlib.suppress(StoreUnavailable), _locked(home, "is running"):
        return False
    return True


@contextlib.contextmanager
def exclusive(home: Path) -> Iterator[None]:
    """Hold the home as the only process; `StoreUnavailable` if a server runs."""
    with _locked(home, "has the stores of this home open; stop it with `tenure stop` first"):
        yield


def find_or_start(settings: Settings, profile: str) -> ServerAddress:
    """The address of a server that answers, started in the background if there is none.

    Any number of callers at once end with one server. Raises `StoreUnavailable` with the end of the server's log if
    it does not come up.
    """
    home = settings.home
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    child: subprocess.Popen[bytes] | None = None
    while time.monotonic() < deadline:
        address = read_address(home)
        if address is not None and _answers(address):
            return address
        if child is None and not is_running(home):
            child = _spawn(home, profile)
        elif child is not None and child.poll() is not None and not is_running(home):
            raise StoreUnavailable(f"the local server did not start:\n{_log_tail(home)}")
        time.sleep(POLL_SECONDS)
    raise StoreUnavailable(f"the local server did not answer within {START_TIMEOUT_SECONDS:.0f} s:\n{_log_tail(home)}")


def stop(home: Path) -> bool:
    """Ask the home's server to end and wait for it; False if none runs."""
    address = read_address(home)
    if address is None or not is_running(home):
        return False
    os.kill(address.pid, signal.SIGTERM)
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while is_running(home):
        if time.monotonic() > deadline:
            raise StoreUnavailable(f"the server (pid {address.pid}) does not end; look at {home / 'server.log'}")
        time.sleep(POLL_SECONDS)
    return True


async def serve(settings: Settings, stop_when_idle: bool) -> None:
    """Run the server until it is told to stop, or, with `stop_when_idle`, until nobody needs it.

    Raises `RecordConflict` if this home's server runs already.
    """
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with _locked(settings.home, "runs already"):
            await _serve_locked(settings, stop_when_idle)
    except _Held as error:
        raise RecordConflict(str(error)) from error


class _Held(StoreUnavailable):
    """The lock is taken."""


@contextlib.contextmanager
def _locked(home: Path, what: str) -> Iterator[None]:
    with (home / "server.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _Held(f"the Tenure server of {home} {what}") from error
        yield


async def _serve_locked(settings: Settings, stop_when_idle: bool) -> None:
    listener = _listen(settings)
    host, port = listener.getsockname()[:2]
    url = f"http://{host if ':' not in host else f'[{host}]'}:{port}"
    activity = Activity()
    async with open_tenure(settings) as tenure:
        config = uvicorn.Config(
            build_app(tenure, activity), log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=10
        )
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve([listener]))
        while not server.started and not running.done():  # noqa: ASYNC110  uvicorn offers a flag, no event
            await asyncio.sleep(POLL_SECONDS)
        _write_address(settings.home, ServerAddress(url, os.getpid()))
        _LOG.info("serving", url=url, home=str(settings.home))
        try:
            if stop_when_idle:
                await _until_idle(settings, activity, tenure.infrastructure.queue.is_idle, running)
                server.should_exit = True
            await running
        finally:
            address_path(settings.home).unlink(missing_ok=True)


def _listen(settings: Settings) -> socket.socket:
    """A listening socket on the configured port, or on a free one where that is taken."""
    family = socket.AF_INET6 if ":" in settings.server.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.server.host, settings.server.port))
    except OSError:
        listener.bind((settings.server.host, 0))
    listener.listen(128)
    return listener


async def _until_idle(
    settings: Settings, activity: Activity, is_idle: Callable[[], bool], running: "asyncio.Task[None]"
) -> None:
    limit = settings.server.idle_minutes * 60
    while not running.done():
        await asyncio.wait({running}, timeout=min(IDLE_CHECK_SECONDS, limit))
        if not is_idle():
            activity.touch()
        elif activity.idle_seconds() > limit:
            _LOG.info("stopping", reason=f"no request for {settings.server.idle_minutes} minutes")
            return


def _write_address(home: Path, address: ServerAddress) -> None:
    fresh = address_path(home).with_suffix(".new")
    fresh.write_text(json.dumps(asdict(address)), "utf-8")
    fresh.replace(address_path(home))


def _answers(address: ServerAddress) -> bool:
    try:
        return httpx.get(f"{address.url}/health/live", timeout=2.0, trust_env=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _spawn(home: Path, profile: str) -> "subprocess.Popen[bytes]":
    with (home / "server.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tenure.workspace.cli.main", "--profile", profile, "serve", "--background"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home,
            env={**os.environ, "TENURE_HOME": str(home)},
            start_new_session=True,
        )


def _log_tail(home: Path, lines: int = 15) -> str:
    try:
        return "\n".join((home / "server.log").read_text("utf-8", "replace").splitlines()[-lines:])
    except OSError as error:
        return f"(no log: {error})"
