"""What every benchmark reports: one object, printed as a table or as JSON."""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tenure.core.errors import TenureError
from tenure.ports.source_tree import GitRepository
from tenure.runtime.settings import shipped_folder

Figure = float | int | str | None
_MEMORY_UNIT = 1024.0**3
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class BenchReport:
    """`figures` over `n` records, the `baseline` of the same run, the 95 % `interval` (low, high) of named figures, and
    the same figures `by` a part of the data. None stands for a figure that the data can't give. `commit` is that of this
    clone, `machine` what it ran on.
    """

    bench: str
    n: int
    figures: Mapping[str, Figure]
    baseline: Mapping[str, Figure] = field(default_factory=dict)
    interval: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    by: Mapping[str, Mapping[str, Figure]] = field(default_factory=dict)
    commit: str = ""
    machine: str = ""

    def as_json(self) -> dict[str, Any]:
        """The object as SPEC section 20 names its fields, numbers rounded."""
        rounded: dict[str, Any] = _rounded(asdict(self))
        return rounded

    def show(self, console: Console, *, is_json: bool) -> None:
        """Print JSON on one line, or a table for people."""
        if is_json:
            console.file.write(json.dumps(self.as_json(), ensure_ascii=False) + "\n")
            return
        report = self.as_json()
        table = Table("figure", "value", "baseline", "95 % interval", title=f"{self.bench}, n = {self.n}")
        for name in dict.fromkeys((*self.figures, *self.baseline, *self.interval)):
            low_high = " to ".join(map(_text, report["interval"].get(name, ())))
            table.add_row(name, _text(report["figures"].get(name)), _text(report["baseline"].get(name)), low_high)
        console.print(table)
        _show_parts(console, report["by"])
        console.print(f"commit {self.commit or '-'} on {self.machine}", markup=False, highlight=False)


async def this_commit(git: GitRepository) -> str:
    """The commit of the clone that this code runs from, '' where it was installed without one."""
    try:
        found = await git.find_root(str(shipped_folder("config").parent))
        head = await git.head(found[0]) if found is not None else None
    except TenureError:
        return ""
    return (head.commit or "") if head is not None else ""


def this_machine() -> str:
    """Processor, number of cores in use, memory, system and Python, as far as they can be told."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _MEMORY_UNIT
    return (
        f"{_processor()}, {cores} cores, {memory:.0f} GB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _show_parts(console: Console, by: Mapping[str, Mapping[str, Figure]]) -> None:
    """A table where the parts have the same figures, else a line for each."""
    if len({tuple(figures) for figures in by.values()}) > 1:
        for part, figures in by.items():
            told = ", ".join(f"{name} {_text(value) or '-'}" for name, value in figures.items())
            console.print(f"{part}: {told}", markup=False, highlight=False)
    elif by:
        columns = list(next(iter(by.values())))
        table = Table("part", *columns)
        for part, figures in by.items():
            table.add_row(part, *(_text(figures[name]) for name in columns))
        console.print(table)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        # JSON has no NaN; a figure that is none is null.
        return round(value, _DIGITS) if value == value else None  # noqa: PLR0124  NaN alone differs from itself
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_rounded(entry) for entry in value]
    return value


def _text(value: Figure) -> str:
    return "" if value is None else str(value)
