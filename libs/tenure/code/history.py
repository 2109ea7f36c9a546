"""Git's log as commits, and the present names of the files that each commit touched."""

import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from tenure.code.masking import mask_free_text, mask_path
from tenure.core.errors import InvalidInput

RECORD_MARK = b"\0\0H"
"""Starts every record. Fields and paths hold no NUL and no field is empty, so it occurs nowhere else."""

LOG_FORMAT = "%x00%x00H%H%x00P%P%x00T%at%x00N%an%x00B%B%x00"
"""`git log` format of a record: id, parents, author time, author name and message, each after a letter of its own."""

MAX_COMMITS = 5_000
"""How many of the newest non-merge commits are indexed."""

MAX_TOUCHED_FILES = 300
"""A commit of more files (reformatting, imports, the edge of a shallow clone) says nothing about any one of them: it
touches none, and of its changes only those are kept that give or take a name."""

MAX_NAME_CHANGES = 5_000
"""How many added, deleted and renamed files of such a commit are kept, in git's order; names behind are not followed."""

MAX_MESSAGE_CHARS = 20_000
"""Characters of a message that are kept."""

_REMEMBERED_PATHS = 1 << 16
_FIELDS = 5
_SHA1_LENGTH = 40
_RENAMES = frozenset("RC")
_NAMING = frozenset("ADR")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())


@dataclass(frozen=True, slots=True)
class Change:
    """One file in a commit: git's letter (`A M D R T`), the path after it (before it for `D`), and for `R` the old one."""

    status: str
    path: str
    previous: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as it is indexed. `message` is masked and cut; `files` counts all its files, `changes` may hold fewer."""

    sha: str
    parents: tuple[str, ...]
    authored_at: datetime
    author: str
    message: str
    files: int
    changes: tuple[Change, ...]

    @property
    def subject(self) -> str:
        """The first line of the message, '' if there is none."""
        return self.message.partition("\n")[0].strip()

    @property
    def has_touched(self) -> bool:
        """False for a commit of more than `MAX_TOUCHED_FILES` files."""
        return self.files <= MAX_TOUCHED_FILES


def parse_record(record: bytes) -> Commit:
    """The commit of one raw record (without `RECORD_MARK`), secrets masked. `InvalidInput` if it is no such record."""
    fields = record.split(b"\0")
    if len(fields) < _FIELDS or len(fields[0]) < _SHA1_LENGTH:
        raise InvalidInput(f"not a record of git's log: {record[:60]!r}; index again with a supported git")
    sha, parents, at, author, message = fields[:_FIELDS]
    changes = list(_changes(fields[_FIELDS:]))
    return Commit(
        sha=sha.decode("ascii"),
        parents=tuple(parents[1:].decode("ascii").split()),
        authored_at=_time(at[1:]),
        author=mask_free_text(author[1:].decode("utf-8", "replace")),
        message=mask_free_text(_text(message[1:])),
        files=len(changes),
        changes=_bounded(changes),
    )


def _text(message: bytes) -> str:
    text = message.decode("utf-8", "replace").replace("\r\n", "\n")
    return text.strip()[:MAX_MESSAGE_CHARS]


def _time(seconds: bytes) -> datetime:
    """The author's clock, which may say anything, kept within what a date can hold."""
    try:
        value = int(seconds)
    except ValueError:
        return _EPOCH
    return datetime.fromtimestamp(min(max(value, 0), _LAST_SECOND), UTC)


def _changes(tokens: Sequence[bytes]) -> Iterator[Change]:
    """Changes from git's `status NUL path NUL` stream; a rename has two paths."""
    rest = iter(tokens)
    for token in rest:
        status = token.lstrip(b"\n")[:1].decode("ascii", "replace")
        if not status:
            continue
        first = _path(next(rest, b""))
        if status in _RENAMES:
            # A copy is a new file: nothing is known of it before.
            second = _path(next(rest, b""))
            yield Change("R", second, first) if status == "R" else Change("A", second)
        else:
            yield Change(status, first)


@lru_cache(maxsize=_REMEMBERED_PATHS)
def _path(raw: bytes) -> str:
    return mask_path(os.fsdecode(raw))


def _bounded(changes: list[Change]) -> tuple[Change, ...]:
    if len(changes) <= MAX_TOUCHED_FILES:
        return tuple(changes)
    return tuple(change for change in changes if change.status in _NAMING)[:MAX_NAME_CHANGES]


def present_paths(commits: Sequence[Commit], present: AbstractSet[str]) -> dict[str, tuple[str, ...]]:
    """For every commit the files of `present` that it touched, under their present names, sorted.

    `commits` come newest first. Renames are followed backwards; a file that is gone has no name; before a path was
    added, it stood for nothing that is still there, even if an older file had the same path.
    """
    names = _Names(commits, present)
    touched: dict[str, tuple[str, ...]] = {}
    for commit in commits:
        found = {names.present(change.path) for change in commit.changes if change.status != "D"}
        touched[commit.sha] = tuple(sorted(name for name in found if name)) if commit.has_touched else ()
        names.step_back(commit.changes)
    return touched


class _Names:
    """What each path is called now, as seen from a point in history that moves backwards."""

    def __init__(self, commits: Sequence[Commit], present: AbstractSet[str]) -> None:
        self._present = present
        self._then: dict[str, str | None] = {}
        # Branches are interleaved in the log: an edit on one may stand before the rename on another that it ended under.
        self._renamed: Mapping[str, str] = {
            change.previous: change.path
            for commit in reversed(commits)
            for change in commit.changes
            if change.status == "R"
        }

    def present(self, path: str) -> str | None:
        """The present name of what `path` is at this point, None if it is gone."""
        if path in self._then:
            return self._then[path]
        if path in self._present:
            return path
        seen: set[str] = set()
        while path in self._renamed and path not in seen and path not in self._present:
            seen.add(path)
            path = self._renamed[path]
        return path if path in self._present else None

    def step_back(self, changes: Sequence[Change]) -> None:
        """Move to before a commit: all its new names are looked up first, since files may swap names."""
        olds = {change.previous: self.present(change.path) for change in changes if change.status == "R"}
        self._then.update({change.path: None for change in changes if change.status in _NAMING})
        self._then.update(olds)
