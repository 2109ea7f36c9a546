"""Who has a home's stores open: one process at a time, by a lock that the kernel drops when its holder ends.

The holder writes into the lock file what it is, so that nobody signals a process that merely got a dead server's number.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from tenure.core.errors import RecordConflict, StoreUnavailable

PATIENCE_SECONDS = 1.0
"""How long a lock is tried for: a process that only looks whether it is taken holds it for microseconds."""
_RETRY_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that has the stores open. `is_server` tells the local server from an offline command."""

    pid: int
    is_server: bool


@contextlib.contextmanager
def serving(home: Path) -> Iterator[None]:
    """Hold the home as its server; `RecordConflict` if another process has it open."""
    try:
        with _held(_lock_path(home), Holder(os.getpid(), is_server=True)):
            yield
    except _Taken as error:
        raise RecordConflict(f"{_whose(home)} of {home} runs already") from error


@contextlib.contextmanager
def exclusive(home: Path) -> Iterator[None]:
    """Hold the home for an offline command; `StoreUnavailable` if another process has it open."""
    try:
        with _held(_lock_path(home), Holder(os.getpid(), is_server=False)):
            yield
    except _Taken as error:
        raise _in_use(home) from error


def refuse_if_open(home: Path) -> None:
    """`StoreUnavailable` if another process has the home open: what `exclusive` would say, before any work is done."""
    if holder(home) is not None:
        raise _in_use(home)


@contextlib.contextmanager
def starting(home: Path) -> Iterator[bool]:
    """True for the one client that may start a server now; the others wait for its address."""
    try:
        with _held(home / "start.lock", None, patience_seconds=0):
            yield True
    except _Taken:
        yield False


def holder(home: Path) -> Holder | None:
    """Who has the stores of this home open, None if nobody."""
    path = _lock_path(home)
    try:
        with path.open("r") as file:
            if _try_lock(file, fcntl.LOCK_SH):
                return None
            return _read(file)
    except FileNotFoundError:
        return None


class _Taken(Exception):
    """Another process holds the lock."""


@contextlib.contextmanager
def _held(path: Path, holds: Holder | None, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    try:
        file = path.open("a+")
    except OSError as error:
        raise StoreUnavailable(f"{path} can't be written: {error.strerror}; check its permissions") from error
    with file:
        deadline = time.monotonic() + patience_seconds
        while not _try_lock(file, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                raise _Taken
            time.sleep(_RETRY_SECONDS)
        file.truncate(0)
        if holds is not None:
            file.write(json.dumps(asdict(holds)))
            file.flush()
        yield


def _try_lock(file: IO[str], mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(file: IO[str]) -> Holder | None:
    """What the holder wrote; a holder that has not written yet counts as no server, so that nobody signals it."""
    try:
        found = json.loads(file.read())
        return Holder(int(found["pid"]), bool(found["is_server"]))
    except (ValueError, KeyError, TypeError):
        return Holder(0, is_server=False)


def _in_use(home: Path) -> StoreUnavailable:
    found = holder(home)
    advice = "wait until it ends" if found and not found.is_server else "stop it with `tenure stop` first"
    return StoreUnavailable(f"{_whose(home)} has the stores of {home} open; {advice}")


def _whose(home: Path) -> str:
    found = holder(home)
    return "an offline command" if found and found.pid and not found.is_server else "the Tenure server"


def _lock_path(home: Path) -> Path:
    return home / "server.lock"
