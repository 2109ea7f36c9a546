"""Which trees may be indexed, and what kind of tree a path names."""

import os
import uuid
from collections.abc import Sequence
from pathlib import Path

from tenure.code.masking import mask_free_text, mask_path
from tenure.core.errors import InvalidInput, NotAllowed, RecordConflict
from tenure.ports.clock import Clock
from tenure.ports.records import Repository, RepositoryKind
from tenure.ports.repositories import Database
from tenure.ports.source_tree import GitRepository


class Registration:
    """Admits repositories to a workspace.

    `allowed_roots` bounds what may be read, links resolved; with `any_root` (embedded on loopback) an empty list
    admits every path of this user.
    """

    def __init__(
        self, database: Database, git: GitRepository, clock: Clock, allowed_roots: Sequence[Path], any_root: bool
    ) -> None:
        self._database = database
        self._git = git
        self._clock = clock
        self._allowed_roots = [root.expanduser().resolve() for root in allowed_roots]
        self._any_root = any_root

    async def add(self, workspace_id: str, path: str, name: str | None = None, tree: str | None = None) -> Repository:
        """The repository that holds `path`, registered once: the same root gives the same record.

        `tree` names a branch or commit and is needed for nothing but a bare repository (default HEAD). Raises
        `InvalidInput` for what is no readable folder and for a path or tree that holds a secret, `NotAllowed` outside
        `indexing.allowed_roots`, and `RecordConflict` if another branch than `tree` of this root is indexed.
        """
        root, kind = await self._classify(path)
        if kind is not RepositoryKind.BARE:
            if tree is not None:
                raise InvalidInput("a tree can be chosen for a bare repository only; check out the branch instead")
        elif tree is None:
            tree = "HEAD"
        if mask_path(root) != root:
            raise InvalidInput(f"the path {mask_path(root)!r} holds a secret and can't be stored; rename the folder")
        if tree is not None and mask_free_text(tree) != tree:
            raise InvalidInput("the tree's name holds a secret and can't be stored; name its commit by its id instead")
        async with self._database.writing(workspace_id) as work:
            for known in await work.repositories.list():
                if known.root != root:
                    continue
                if known.tree != tree:
                    raise RecordConflict(
                        f"{root} is indexed at {known.tree!r} as repository {known.id}; "
                        f"remove it before you index {tree!r}"
                    )
                return known
            repository = Repository(
                id=str(uuid.uuid4()),
                workspace_id=workspace_id,
                name=_name(name, root),
                root=root,
                kind=kind,
                created_at=self._clock.now(),
                tree=tree,
            )
            await work.repositories.add(repository)
            return repository

    async def _classify(self, path: str) -> tuple[str, RepositoryKind]:
        if not path or "\0" in path:
            raise InvalidInput("the path of a repository must not be empty or hold a NUL")
        given = Path(path).expanduser()
        if not given.is_absolute():
            raise InvalidInput(f"{path!r} is relative; give the absolute path of a folder")
        try:
            resolved = given.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise InvalidInput(f"{path} can't be read: {_reason(error)}") from error
        self._check_allowed(resolved)
        if not resolved.is_dir():
            raise InvalidInput(f"{path} is not a folder; give the folder of a repository")
        if not os.access(resolved, os.R_OK | os.X_OK):
            raise InvalidInput(f"{path} can't be read by this user; change its permissions")
        found = await self._git.find_root(str(resolved))
        if found is None:
            return str(resolved), RepositoryKind.FOLDER
        root, is_bare = found
        self._check_allowed(Path(root).resolve())
        return root, RepositoryKind.BARE if is_bare else RepositoryKind.WORK_TREE

    def _check_allowed(self, resolved: Path) -> None:
        if not self._allowed_roots and self._any_root:
            return
        if not any(resolved.is_relative_to(root) for root in self._allowed_roots):
            raise NotAllowed(f"{resolved} lies outside the setting indexing.allowed_roots; add its root there")


def _name(given: str | None, root: str) -> str:
    """A repository's name as it may be stored: the given one with its secrets masked, else the folder's."""
    return mask_free_text(given or "").strip() or Path(root).name.removesuffix(".git") or root


def _reason(error: OSError | RuntimeError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "its links form a loop"
