"""Commits of any age, made quickly: a stream for `git fast-import`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tests.support.git_sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Step:
    """One commit: its message and time, and the files that it writes."""

    message: str
    at: datetime
    files: Mapping[str, str]


def write_history(box: Sandbox, steps: Iterable[Step]) -> None:
    """Add these commits to the branch `main` of a fresh repository and check it out."""
    stream = b"".join(_commit(step) for step in steps)
    box.git("fast-import", "--quiet", stdin=stream)
    box.git("reset", "-q", "--hard", "main")


def _commit(step: Step) -> bytes:
    who = f"Ada <ada@example.invalid> {int(step.at.timestamp())} +0000"
    parts = [f"commit refs/heads/main\nauthor {who}\ncommitter {who}\n".encode(), _data(step.message)]
    for path, text in step.files.items():
        parts += [f"M 100644 inline {path}\n".encode(), _data(text)]
    return b"".join(parts)


def _data(text: str) -> bytes:
    content = text.encode()
    return b"data %d\n%b\n" % (len(content), content)
