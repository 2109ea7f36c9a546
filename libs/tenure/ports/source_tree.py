"""Git, as far as Tenure reads it. Nothing that a repository contains or configures is ever run."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class GitHead:
    """Where a work tree or bare repository stands. `commit` is None before the first commit; `branch` is None when detached."""

    commit: str | None
    branch: str | None


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """An entry of a tree at a commit: mode as git prints it (`100644`, `120000` link, `160000` submodule), blob id, path."""

    mode: str
    object_id: str
    path: str
    size: int


class GitRepository(Protocol):
    """Read-only git. Paths are text with undecodable bytes as surrogate escapes.

    Raises `InvalidInput` when git refuses the repository (the message is git's), `StoreUnavailable` when git is
    missing or does not answer in time.
    """

    async def find_root(self, path: str) -> tuple[str, bool] | None:
        """(top folder, is bare) of the repository that holds `path`, or None outside any repository."""
        ...

    async def head(self, root: str) -> GitHead:
        """The present commit and branch; secrets in the branch's name are masked."""
        ...

    async def resolve_commit(self, root: str, revision: str) -> str:
        """The full id of a commit; `InvalidInput` if there is none such."""
        ...

    async def list_candidates(self, root: str) -> list[str]:
        """Exactly `git ls-files -co --exclude-standard`: tracked and untracked-but-not-ignored paths, sorted, unique.

        An untracked nested repository is `path/`, and so is a folder that could not be opened.
        """
        ...

    async def list_submodules(self, root: str) -> list[str]:
        """Paths of the index's submodules, checked out or not, sorted and unique."""
        ...

    async def list_tree(self, root: str, commit: str) -> list[TreeEntry]:
        """Every entry of the commit's tree, recursively, sorted by path; size -1 where there is no blob to measure."""
        ...

    async def read_blobs(self, root: str, object_ids: Sequence[str]) -> Mapping[str, bytes]:
        """The blobs that are present; ids that are absent (partial clone) are left out."""
        ...

    def log(self, root: str, commit: str, limit: int, stop_at: str | None = None) -> AsyncIterator[bytes]:
        """Raw records of the newest `limit` non-merge commits from `commit` backwards, newest first.

        `stop_at` ends before that commit's ancestors. The record format is what `tenure.code.history` parses.
        """
        ...

    async def newest_commits(self, root: str, commit: str, limit: int) -> list[str]:
        """Ids of the newest `limit` non-merge commits from `commit` backwards, in the order of `log`; cheap."""
        ...

    def log_of(self, root: str, commits: Sequence[str]) -> AsyncIterator[bytes]:
        """Raw records, as from `log`, of exactly these commits, in their order.

        With `newest_commits` it serves every change of HEAD alike: read what is not stored, drop what is not listed.
        """
        ...

    async def is_ancestor(self, root: str, older: str, newer: str) -> bool:
        """True if `older` is reachable from `newer`."""
        ...
