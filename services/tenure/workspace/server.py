"""The local server: holds its home, opens the stores, answers until it is told to stop or nobody needs it."""

import asyncio
import contextlib
import errno
import ipaddress
import os
import signal
import socket
import uuid
from collections.abc import Callable, Iterator

import structlog
import uvicorn

from tenure.core.errors import InvalidInput
from tenure.runtime.home import prepare_home
from tenure.runtime.settings import Settings
from tenure.workspace.app import Activity, build_app
from tenure.workspace.facade import open_tenure
from tenure.workspace.home_lock import serving
from tenure.workspace.local_server import fingerprint
from tenure.workspace.server_address import ServerAddress, address_path, write_address

GRACE_SECONDS = 10
"""How long a server that was told to stop waits for its open requests."""
POLL_SECONDS = 0.02
IDLE_CHECK_SECONDS = 5.0
_LOG = structlog.get_logger("tenure.server")


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
