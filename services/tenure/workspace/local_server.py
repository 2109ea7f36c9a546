"""The local server: one process per home that opens the stores, found or started by every other command.

Its address stands in `server.json` inside the home, which only the holder of the home's lock writes. The lock is held
by the kernel for the life of the process, so a killed server leaves no lock behind, and any number of clients that
start at once end with one server.
"""

import asyncio
import contextlib
import errno
import hashlib
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog
import uvicorn

from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.runtime.home import prepare_home
from tenure.runtime.settings import Settings, describe
from tenure.workspace.app import Activity, build_app
from tenure.workspace.facade import open_tenure
from tenure.workspace.home_lock import holder, serving, starting
from tenure.workspace.server_address import ServerAddress, address_path, answers, read_address, write_address

START_TIMEOUT_SECONDS = 60.0
"""How long a client waits for a server: a first start migrates and may load a large store."""
STOP_TIMEOUT_SECONDS = 60.0
"""How long `stop` waits: the server ends its requests and closes its stores."""
GRACE_SECONDS = 10
"""How long a server that was told to stop waits for its open requests."""
POLL_SECONDS = 0.05
IDLE_CHECK_SECONDS = 5.0
_LOG_LINES_SHOWN = 15
_LOG = structlog.get_logger("tenure.server")


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


async def serve(settings: Settings, stop_when_idle: bool) -> None:
    """Run the server until it is told to stop, or, with `stop_when_idle`, until nobody needs it.

    Raises `RecordConflict` if this home's server runs already.
    """
    prepare_home(settings.home)
    with serving(settings.home):
        await _serve_locked(settings, stop_when_idle)


class _Server(uvicorn.Server):
    """Leaves signals to us: after its own handling it would raise them again, before the stores are closed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _serve_locked(settings: Settings, stop_when_idle: bool) -> None:
    listener = _listen(settings)
    activity = Activity()
    instance = uuid.uuid4().hex
    async with open_tenure(settings) as tenure:
        app = build_app(tenure, activity, instance)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=GRACE_SECONDS
        )
        server = _Server(config)
        with _stopped_by_signals(server):
            running = asyncio.create_task(server.serve([listener]))
            while not server.started and not running.done():  # noqa: ASYNC110  uvicorn offers a flag, no event
                await asyncio.sleep(POLL_SECONDS)
            address = ServerAddress(_url(listener), os.getpid(), instance, fingerprint(settings))
            write_address(settings.home, address)
            _LOG.info("serving", url=address.url, home=str(settings.home))
            try:
                if stop_when_idle:
                    await _until_idle(settings, activity, tenure.infrastructure.queue.is_idle, running)
                    server.should_exit = True
                await running
            finally:
                address_path(settings.home).unlink(missing_ok=True)


@contextlib.contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """SIGINT and SIGTERM ask the server to end its requests; the stores are closed after them."""
    loop = asyncio.get_running_loop()

    def ask() -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _listen(settings: Settings) -> socket.socket:
    """A listening socket on the configured port, or on a free one where that is taken."""
    host, port = settings.server.host, settings.server.port
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(where)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            _LOG.warning("the port is taken; a free one is used", port=port)
            listener.bind((where[0], 0, *where[2:]))
        listener.listen(128)
    except OSError as error:
        raise InvalidInput(
            f"can't listen on {host}:{port}: {error.strerror}; change server.host or server.port"
        ) from error
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:  # listens everywhere: clients of this machine take the loopback
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


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
