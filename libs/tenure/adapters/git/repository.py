"""The `GitRepository` port by the git program, hardened: what a repository holds is read, and never run."""

import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from tenure.adapters.git.environment import (
    HARDENING,
    hardened_environment,
    listing_environment,
    program,
    search_path,
    user_config_environment,
)
from tenure.adapters.git.head_mark import HeadMark, head_mark
from tenure.adapters.git.objects import id_lines, parse_tree, present_in, read_batch, submodule_paths, with_sizes
from tenure.adapters.git.process import Completed, Invocation, chunks, refusal, run, start
from tenure.code.history import LOG_FORMAT, RECORD_MARK
from tenure.code.masking import mask_free_text
from tenure.core.errors import InvalidInput
from tenure.ports.source_tree import GitHead, TreeEntry

DEFAULT_TIMEOUT = 60.0
"""Seconds within which git has to answer, or to go on answering."""

RENAME_LIMIT = 1_000
"""Files of one commit that are compared for renames, git's own default; a repository can't raise it."""

_UNSET = 1  # `git config --get`, `symbolic-ref -q` and `rev-parse -q` exit so when there is no such thing
_NOT_A_REPOSITORY = "not a git repository"
_PARTIAL_CLONE = r"^(extensions\.partialclone|remote\..*\.(promisor|partialclonefilter))$"
_UNREADABLE_FOLDER = re.compile(r"^warning: could not open directory '(.*/)': Permission denied$", re.MULTILINE)
_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class GitProcess:
    """`GitRepository` by one short-lived git process per question.

    `environment` is the process's own (for PATH and the user's home); nothing else of it reaches git.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._environment = dict(os.environ if environment is None else environment)
        self._timeout = timeout
        self._heads: dict[str, tuple[HeadMark, GitHead]] = {}

    async def find_root(self, path: str) -> tuple[str, bool] | None:
        """(top folder, is bare), links resolved, or None outside any repository.

        The top is the folder that holds `.git`, whatever `core.worktree` says.
        """
        if not Path(path).is_dir():
            raise InvalidInput(f"not a folder: {path!r}; name the top folder of a repository or a folder inside it")
        start_at = Path(os.path.realpath(path))
        tops = [folder for folder in (start_at, *start_at.parents) if os.path.lexists(folder / ".git")]
        guarded = str(tops[-1] if tops else start_at)
        arguments = [*HARDENING, "-C", str(start_at), "rev-parse", "--is-bare-repository", "--absolute-git-dir"]
        done = await run(self._invocation(guarded, arguments))
        if done.code != 0:
            if _NOT_A_REPOSITORY in done.stderr and not tops:
                return None
            raise refusal(f"open {path!r}", done.stderr)
        is_bare, _, git_folder = os.fsdecode(done.stdout).removesuffix("\n").partition("\n")
        top = None if is_bare == "true" else next((top for top in tops if _leads_to(top, git_folder)), None)
        return (os.path.realpath(git_folder), True) if top is None else (str(top), False)

    async def head(self, root: str) -> GitHead:
        """The present commit and branch, whose name is free text: secrets in it are masked.

        Git is asked again when the files in which it keeps them have changed.
        """
        mark = head_mark(root)
        known = self._heads.get(root)
        if known is not None and known[0] == mark:
            return known[1]
        branch = await self._ask(root, "read HEAD", ["symbolic-ref", "-q", "HEAD"])
        commit = await self._ask(root, "read HEAD", ["rev-parse", "-q", "--verify", "HEAD"])
        head = GitHead(commit or None, mask_free_text(branch.removeprefix("refs/heads/")) if branch else None)
        if mark is not None:
            self._heads[root] = (mark, head)
        return head

    async def resolve_commit(self, root: str, revision: str) -> str:
        """The full id of a commit; `InvalidInput` if there is none such."""
        arguments = ["rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"]
        done = await run(self._in(root, arguments))
        if done.code != 0:
            raise refusal(f"find the revision {revision!r}", done.stderr)
        return os.fsdecode(done.stdout).strip()

    async def list_candidates(self, root: str) -> list[str]:
        """What `git ls-files -co --exclude-standard` prints for this user, sorted and unique.

        A folder that git could not open is added as `folder/`, so that it can be named.
        """
        arguments = ["ls-files", "-z", "-c", "-o", "--exclude-standard"]
        excludes = await self._user_excludes(root)
        settings = () if excludes is None else ("-c", f"core.excludesFile={excludes}")
        folders = search_path(self._environment, root)
        command = [*HARDENING, *settings, *_place(root), *arguments]
        done = await run(
            Invocation(program(folders), command, listing_environment(self._environment, folders), self._timeout)
        )
        self._check(done, f"list the files of {root!r}")
        names = set(os.fsdecode(done.stdout).split("\0")) - {""}
        return sorted(names.union(_UNREADABLE_FOLDER.findall(done.stderr)))

    async def list_submodules(self, root: str) -> list[str]:
        """Paths of the index's submodules, sorted and unique; the folders themselves are not looked at."""
        done = await run(self._in(root, ["ls-files", "-z", "-s"]))
        self._check(done, f"list the submodules of {root!r}")
        return sorted({os.fsdecode(path) for path in submodule_paths(done.stdout)})

    async def list_tree(self, root: str, commit: str) -> list[TreeEntry]:
        """Every entry of the commit's tree by path; the size is -1 for a blob that is absent and for a submodule."""
        _require_ids(commit)
        is_partial = await self._is_partial(root)
        # Sizes of absent blobs would have to be fetched, so a partial clone is asked for them apart.
        arguments = ["ls-tree", "-r", "-z", "--full-tree", *([] if is_partial else ["-l"]), commit]
        done = await run(self._in(root, arguments))
        self._check(done, f"list the tree of {commit!r}")
        entries = parse_tree(done.stdout, has_sizes=not is_partial)
        if not is_partial:
            return entries
        present = await self._present(root, [entry.object_id for entry in entries])
        sizes = await run(self._in(root, ["cat-file", "--batch-check"]), id_lines(present))
        self._check(sizes, f"tell the file sizes of {commit!r}")
        return with_sizes(entries, sizes.stdout)

    async def read_blobs(self, root: str, object_ids: Sequence[str]) -> Mapping[str, bytes]:
        """The blobs that are present. One blob at a time is in flight, beside those that are returned."""
        wanted = list(dict.fromkeys(object_ids))
        _require_ids(*wanted)
        if await self._is_partial(root):
            wanted = await self._present(root, wanted)
        return await read_batch(self._in(root, ["cat-file", "--batch"]), wanted) if wanted else {}

    async def log(self, root: str, commit: str, limit: int, stop_at: str | None = None) -> AsyncIterator[bytes]:
        """Raw records, newest first; in a partial clone only renames without any edit are recognised."""
        _require_ids(commit, *([] if stop_at is None else [stop_at]))
        stop = [] if stop_at is None else [f"^{stop_at}"]
        arguments = [*await self._log_arguments(root), "--no-merges", f"-n{limit}", commit, *stop]
        async for record in self._records(root, [*arguments, "--"], None):
            yield record

    async def log_of(self, root: str, commits: Sequence[str]) -> AsyncIterator[bytes]:
        """Raw records of exactly these commits, in their order."""
        _require_ids(*commits)
        if not commits:
            return
        arguments = [*await self._log_arguments(root), "--no-walk=unsorted", "--stdin"]
        async for record in self._records(root, arguments, id_lines(commits)):
            yield record

    async def newest_commits(self, root: str, commit: str, limit: int) -> list[str]:
        """Ids of the newest `limit` non-merge commits from `commit` backwards, in the order of `log`."""
        _require_ids(commit)
        arguments = ["rev-list", "--no-merges", f"-n{limit}", commit, "--"]
        done = await run(self._in(root, arguments))
        self._check(done, f"list the commits of {commit!r}")
        return os.fsdecode(done.stdout).split()

    async def is_ancestor(self, root: str, older: str, newer: str) -> bool:
        """True if `older` is reachable from `newer`; False too when `older` is no longer in the repository."""
        _require_ids(older, newer)
        done = await run(self._in(root, ["merge-base", "--is-ancestor", older, newer]))
        if done.code in {0, _UNSET}:
            return done.code == 0
        if await self._ask(root, "find a commit", ["rev-parse", "-q", "--verify", f"{older}^{{commit}}"]) == "":
            return False
        raise refusal(f"compare {older!r} with {newer!r}", done.stderr)

    async def _log_arguments(self, root: str) -> list[str]:
        # Finding renamed files that were edited reads blobs, and those of a partial clone are not there.
        similarity = "100%" if await self._is_partial(root) else "50%"
        return [
            *("log", "-z", "--name-status", f"-M{similarity}", f"-l{RENAME_LIMIT}", f"--format={LOG_FORMAT}"),
            *("--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-relative", "--no-notes", "--no-mailmap"),
            *("--no-decorate", "--no-color", "--encoding=UTF-8", "-O/dev/null", "--ignore-submodules=none"),
        ]

    async def _records(self, root: str, arguments: list[str], stdin: bytes | None) -> AsyncIterator[bytes]:
        async with start(self._in(root, arguments), stdin) as git:
            rest = b""
            async for part in chunks(git):
                *records, rest = (rest + part).split(RECORD_MARK)
                for record in filter(None, records):
                    yield record
            if rest:
                yield rest
            code, complaint = await git.finish()
        if code != 0:
            raise refusal(f"read the history of {root!r}", complaint)

    async def _user_excludes(self, root: str) -> str | None:
        """What `core.excludesFile` is for this user in this repository, None if it is not set."""
        folders = search_path(self._environment, root)
        arguments = [*HARDENING, *_place(root), "config", "-z", "--type=path", "--get", "core.excludesFile"]
        environment = user_config_environment(self._environment, folders)
        done = await run(Invocation(program(folders), arguments, environment, self._timeout))
        if done.code == _UNSET:
            return None
        self._check(done, "read the setting core.excludesFile")
        return os.fsdecode(done.stdout).removesuffix("\0")

    async def _is_partial(self, root: str) -> bool:
        return bool(await self._ask(root, "read its configuration", ["config", "--get-regexp", _PARTIAL_CLONE]))

    async def _present(self, root: str, object_ids: list[str]) -> list[str]:
        # This is the one command of git 2.39 that asks for objects by name and never tries to fetch one.
        arguments = ["rev-list", "--objects", "--no-walk", "--ignore-missing", "--missing=allow-any", "--stdin"]
        done = await run(self._in(root, arguments), id_lines(object_ids))
        self._check(done, "tell which objects are present")
        return present_in(done.stdout, object_ids)

    async def _ask(self, root: str, what: str, arguments: list[str]) -> str:
        """The answer, '' if git says silently that there is none."""
        done = await run(self._in(root, arguments))
        if done.code == _UNSET and not done.stderr:
            return ""
        self._check(done, what)
        return os.fsdecode(done.stdout).strip()

    def _in(self, root: str, arguments: Sequence[str]) -> Invocation:
        return self._invocation(root, [*HARDENING, *_place(root), *arguments])

    def _invocation(self, root: str, arguments: Sequence[str]) -> Invocation:
        folders = search_path(self._environment, root)
        environment = hardened_environment(folders)
        return Invocation(program(folders), arguments, environment, self._timeout)

    def _check(self, done: Completed, what: str) -> None:
        if done.code != 0:
            raise refusal(what, done.stderr)


def _require_ids(*names: str) -> None:
    """Refuse anything but full object ids, so that no argument can be taken for an option, a range or a path."""
    odd = next((name for name in names if not _OBJECT_ID.fullmatch(name)), None)
    if odd is not None:
        raise InvalidInput(f"not a full object id: {odd!r}; resolve_commit and list_tree give them")


def _place(root: str) -> list[str]:
    """Arguments that name the repository outright: git neither looks in parent folders nor follows `core.worktree`."""
    git_folder = Path(root) / ".git"
    if os.path.lexists(git_folder):
        return ["-C", root, f"--git-dir={git_folder}", f"--work-tree={root}"]
    return ["-C", root, f"--git-dir={root}"]


def _leads_to(top: Path, git_folder: str) -> bool:
    """True if `.git` of `top` is this git folder, or the file that points to it."""
    entry = top / ".git"
    if entry.is_dir():
        return os.path.realpath(entry) == os.path.realpath(git_folder)
    target = os.fsdecode(entry.read_bytes()).removeprefix("gitdir:").strip()
    return os.path.realpath(top / target) == os.path.realpath(git_folder)
