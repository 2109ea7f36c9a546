"""The largest memory that this process and its children held at one time."""

import os
import resource
import sys
import threading
from pathlib import Path
from typing import Self

SAMPLE_SECONDS = 0.2
"""Rarely enough that looking takes nothing from what is measured: each look reads a file for each thread."""
_KILOBYTE, _MEGABYTE = 1024.0, 1024.0**2
_PAGE = os.sysconf("SC_PAGE_SIZE")


class MemoryPeak:
    """Samples resident memory while its block runs. Pages that processes share are counted once for each of them."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory-peak", daemon=True)
        self._bytes = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def megabytes(self) -> float:
        """The peak so far. Where there is no /proc: this process's own peak, without its children."""
        if self._bytes:
            return self._bytes / _MEGABYTE
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return own / _MEGABYTE if sys.platform == "darwin" else own * _KILOBYTE / _MEGABYTE

    def _watch(self) -> None:
        before: set[str] = {str(os.getpid())}
        while not self._stop.wait(SAMPLE_SECONDS):
            family = _family()
            # A process that is just being started still wears its parent's memory: it counts from the second look on.
            self._bytes = max(self._bytes, float(sum(_resident(process) for process in family if process in before)))
            before = set(family)


def _family() -> list[str]:
    """This process and all below it."""
    found, pending = [], [str(os.getpid())]
    while pending:
        process = pending.pop()
        found.append(process)
        pending += [child for children in _threads(process) for child in _text(children).split()]
    return found


def _threads(process: str) -> list[Path]:
    """The files that name the children of each thread; none if the process is gone."""
    try:
        return [thread / "children" for thread in Path("/proc", process, "task").iterdir()]
    except OSError:
        return []


def _resident(process: str) -> int:
    fields = _text(Path("/proc", process, "statm")).split()
    return int(fields[1]) * _PAGE if len(fields) > 1 else 0


def _text(path: Path) -> str:
    """Its text, '' if the process is gone."""
    try:
        return path.read_text()
    except OSError:
        return ""
