"""One git process: started in its own group, read without deadlock, never left behind."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tenure.code.masking import mask_free_text
from tenure.core.errors import GitRefused, InvalidInput, StoreUnavailable

_Result = TypeVar("_Result")

STDERR_LIMIT = 65_536
"""Bytes of a complaint that are kept; the rest is read and dropped, so that git never blocks on it."""

READ_SIZE = 262_144
"""Bytes asked of a pipe at once."""

END_SECONDS = 5.0
"""How long a killed git's pipes are emptied before they are given up."""

MESSAGE_LIMIT = 2_000
"""Characters of git's complaint that go into an error message."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What a finished git left: its exit code and both streams, stderr cut at `STDERR_LIMIT`."""

    code: int
    stdout: bytes
    stderr: str


@dataclass(frozen=True, slots=True)
class Invocation:
    """A git to start: absolute program, arguments and the whole environment."""

    program: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    timeout: float


class RunningGit:
    """A started git. Use `start`; on leaving the block the whole process group is gone and the child is reaped."""

    def __init__(self, process: asyncio.subprocess.Process, timeout: float, stdin: bytes | None) -> None:
        self._process = process
        self._timeout = timeout
        # Both run beside the reading, so that no full pipe makes git and us wait for each other.
        self._stderr = asyncio.create_task(_drain(process.stderr))
        self._writing = asyncio.create_task(_feed(process.stdin, stdin or b""))

    async def read(self) -> bytes:
        """The next bytes of stdout, empty at its end; `StoreUnavailable` if none come within the timeout."""
        return await self._within(self._stdout.read(READ_SIZE))

    async def read_line(self) -> bytes:
        """The next line of stdout without its end, empty at the end of the stream."""
        return (await self._within(self._stdout.readline())).rstrip(b"\n")

    async def read_exactly(self, size: int) -> bytes:
        """Exactly `size` bytes; `asyncio.IncompleteReadError` if git ended before."""
        return await self._within(self._stdout.readexactly(size))

    async def finish(self) -> tuple[int, str]:
        """(exit code, complaint) once git has ended."""
        stderr = await self._within(asyncio.shield(self._stderr))
        code = await self._within(self._process.wait())
        return code, os.fsdecode(stderr).strip()

    async def end(self) -> None:
        """Kill what is left of the group and reap the child; harmless after `finish`."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._writing.cancel()
        await asyncio.gather(self._writing, return_exceptions=True)
        if self._process.stdin is not None:
            self._process.stdin.close()  # the feeder may have been cancelled before its first step
        # The pipes are emptied first: a full one would keep its transport from ever closing.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await _drain(self._process.stdout)
                await self._stderr
                await self._stdin_closed()
        await self._process.wait()
        await asyncio.sleep(0)  # lets the transports say good-bye to the loop, which may be about to close

    async def _stdin_closed(self) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                await self._process.stdin.wait_closed()

    @property
    def _stdout(self) -> asyncio.StreamReader:
        if self._process.stdout is None:
            raise RuntimeError("git is always started with a pipe for stdout")
        return self._process.stdout

    async def _within(self, work: Awaitable[_Result]) -> _Result:
        try:
            # Not `wait_for`: before Python 3.12 it loses a cancellation that comes together with a result.
            async with asyncio.timeout(self._timeout):
                return await work
        except TimeoutError:
            raise StoreUnavailable(
                f"git did not answer within {self._timeout:g} s; is the repository on a slow or hung file system?"
            ) from None


@contextlib.asynccontextmanager
async def start(invocation: Invocation, stdin: bytes | None = None) -> AsyncIterator[RunningGit]:
    """A running git for the length of the block, however the block ends. `StoreUnavailable` if it can't be started."""
    try:
        process = await asyncio.create_subprocess_exec(
            invocation.program,
            *invocation.arguments,
            env=dict(invocation.environment),
            # Never the repository: a relative name in some setting must not lead into it.
            cwd="/",
            stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=READ_SIZE,
        )
    except ValueError as error:
        raise InvalidInput(f"not a usable path or revision: {error}") from error
    except OSError as error:
        raise StoreUnavailable(f"git could not be started: {error}; install git or mend its permissions") from error
    running = RunningGit(process, invocation.timeout, stdin)
    try:
        yield running
    finally:
        await running.end()


async def run(invocation: Invocation, stdin: bytes | None = None) -> Completed:
    """Run git to its end and collect its output."""
    async with start(invocation, stdin) as git:
        parts = [part async for part in chunks(git)]
        code, complaint = await git.finish()
    return Completed(code, b"".join(parts), complaint)


async def chunks(git: RunningGit) -> AsyncIterator[bytes]:
    """Stdout piece by piece until its end."""
    while part := await git.read():
        yield part


def refusal(what: str, complaint: str) -> GitRefused:
    """The error for a git that refused, with git's own words, without its hints and without secrets: it may be stored."""
    told = "\n".join(line for line in complaint.splitlines() if not line.startswith("hint:"))
    return GitRefused(mask_free_text(f"git refused to {what}: {told[-MESSAGE_LIMIT:] or 'it gave no reason'}"))


async def _drain(stream: asyncio.StreamReader | None) -> bytes:
    kept = bytearray()
    while stream is not None and (part := await stream.read(READ_SIZE)):
        kept += part[: STDERR_LIMIT - len(kept)]
    return bytes(kept)


async def _feed(pipe: asyncio.StreamWriter | None, content: bytes) -> None:
    if pipe is None:
        return
    try:
        for start_at in range(0, len(content), READ_SIZE):
            pipe.write(content[start_at : start_at + READ_SIZE])
            await pipe.drain()
    except (BrokenPipeError, ConnectionResetError):
        return  # a git that ended or stopped reading says why by its exit code
    finally:
        pipe.close()
