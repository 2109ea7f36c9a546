"""What else changes with these files: co-change, imports, names and content of one repository."""

import asyncio
import posixpath
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenure.code.resolve import OUTSIDE
from tenure.core.context import MAX_LIMIT, MIN_LIMIT
from tenure.core.errors import InvalidInput
from tenure.core.impact import Clue, Scored, Ties, rank, strength
from tenure.core.memory import NodeType
from tenure.ports.records import FileState, Repository
from tenure.ports.repositories import Database, UnitOfWork
from tenure.retrieval.ties import RepositoryTies

REPOSITORIES_KEPT = 4
"""Repositories whose ties stay in memory, some 30 MB for 5,000 commits and 3,000 files."""
UNRESOLVED_LOOKED_AT = 500
"""Unresolved references of these names that are looked at: a number from there on says no more than a smaller one."""
MAX_PATHS = 50
"""Files that can be asked about at once, as the wire model says."""
LEFT_OUT_SEARCHED = 100_000
_SUGGESTIONS = 3
STRONG = 0.5
"""A clue is named as a reason when it speaks at least so much for a file as it could for any."""


@dataclass(frozen=True, slots=True)
class ImpactItem:
    """A file that changes with the given ones. `score` in [0, 1] is the sum of `parts`; `why` says it in words."""

    file_id: str
    path: str
    score: float
    parts: Mapping[str, float]
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImpactReport:
    """Files, best first. `unresolved` counts references of other files, to names that the given files define, whose
    target is not known; `hints` tell what a reader has to know before concluding from a short list.
    """

    items: tuple[ImpactItem, ...]
    unresolved: int
    hints: tuple[str, ...]


class ImpactService:
    """Answers `impact`. Keeps what it derived from history in memory for the repositories asked about last."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[str, RepositoryTies] = OrderedDict()

    async def impact(self, workspace_id: str, repository_id: str, paths: Sequence[str], limit: int) -> ImpactReport:
        """The `limit` files of the same language that most likely change with those at `paths` (relative to the
        repository's root, or absolute below it).

        Raises `RecordNotFound` for a repository that is not in the workspace, `InvalidInput` for a path that is not in
        its index, with the reason if it was left out.
        """
        if not MIN_LIMIT <= limit <= MAX_LIMIT:
            raise InvalidInput(f"limit must be between {MIN_LIMIT} and {MAX_LIMIT}, not {limit}")
        if not 1 <= len(paths) <= MAX_PATHS:
            raise InvalidInput(f"name between 1 and {MAX_PATHS} files, not {len(paths)}")
        async with self._database.reading(workspace_id) as work:
            repository = await work.repositories.get(repository_id)
            ties = self._ties(repository.id)
            async with ties.lock:
                await ties.refresh(work, repository)
                seeds = await _seeds(work, repository, ties.files, paths)
                items, hints = await _answer(work, ties, seeds, limit)
            unresolved = await _unresolved(work, seeds, {state.id for state in ties.files.values()})
        hints += _hints(repository, unresolved, has_history=bool(ties.commit_times))
        return ImpactReport(tuple(items), unresolved, tuple(hints))

    def _ties(self, repository_id: str) -> RepositoryTies:
        ties = self._kept.pop(repository_id, None) or RepositoryTies()
        self._kept[repository_id] = ties
        while len(self._kept) > REPOSITORIES_KEPT:
            self._kept.popitem(last=False)
        return ties


async def _answer(
    work: UnitOfWork, ties: RepositoryTies, seeds: Sequence[FileState], limit: int
) -> tuple[list[ImpactItem], list[str]]:
    """Each language answers for its own seeds; the answers are merged by score."""
    items: list[ImpactItem] = []
    hints = []
    for language in sorted({seed.language for seed in seeds}):
        mine = [seed.path for seed in seeds if seed.language == language]
        known = await ties.of(work, language)
        best = [one for one in await asyncio.to_thread(rank, known, mine) if one.score > 0][:limit]
        times = known.history.times_together(mine)
        items += [_item(ties, known, mine, one, times[one.path]) for one in best]
        silent = [path for path in mine if path not in known.history]
        if silent:
            hints.append(
                f"no indexed commit touched {', '.join(silent)}: names, imports and content speak for it alone"
            )
        if not best:
            hints.append(f"no other {language} file is in the index of this repository")
    return sorted(items, key=lambda item: (-item.score, item.path))[:limit], hints


def _item(ties: RepositoryTies, known: Ties, seeds: Sequence[str], one: Scored, times: int) -> ImpactItem:
    parts = {name: round(part, 5) for name, part in one.parts.items()}
    why = _why(ties, known, seeds, one, times)
    return ImpactItem(ties.files[one.path].id, one.path, one.score, parts, tuple(why))


def _why(ties: RepositoryTies, known: Ties, seeds: Sequence[str], one: Scored, times: int) -> list[str]:
    """The clues in words, history first; never empty, so that nobody has to guess why a file is there."""
    why = []
    last = known.history.last_together(seeds, one.path)
    if last is not None:
        commits = "1 commit" if times == 1 else f"{times} commits"
        why.append(f"changed together in {commits}, last {ties.commit_times[last].date().isoformat()}")
    elif Clue.NEARBY.value in one.parts:
        why.append("changed together with files that changed with it")
    if known.imports.imports(one.path, seeds):
        why.append("imports it")
    if any(known.imports.imports(seed, (one.path,)) for seed in seeds):
        why.append("imported by it")
    words = {Clue.NAME: "similar name", Clue.CONTENT: "similar content", Clue.RECENT: "changed lately"}
    why += [word for clue, word in words.items() if strength(one, clue) >= STRONG]
    return why or [words[max(words, key=lambda clue: strength(one, clue))]]


async def _seeds(
    work: UnitOfWork, repository: Repository, files: Mapping[str, FileState], paths: Sequence[str]
) -> list[FileState]:
    """The files at these paths, each once."""
    wanted = list(dict.fromkeys(_relative(path, repository.root) for path in paths))
    missing = [path for path in wanted if path not in files]
    if missing:
        raise InvalidInput(await _explain_missing(work, repository, files, missing))
    return [files[path] for path in wanted]


def _relative(path: str, root: str) -> str:
    """The path as the index writes it: from the root, without `.` and `..` in it."""
    inside = path.removeprefix(root.rstrip("/") + "/") if path.startswith("/") else path
    return posixpath.normpath(inside)


async def _explain_missing(
    work: UnitOfWork, repository: Repository, files: Mapping[str, FileState], missing: Sequence[str]
) -> str:
    reasons = {item.path: item.reason for item in await work.files.left_out(repository.id, LEFT_OUT_SEARCHED)}
    told = []
    for path in missing:
        name = posixpath.basename(path)
        alike = [known for known in files if posixpath.basename(known) == name][:_SUGGESTIONS]
        if path in reasons:
            told.append(f"{path!r} was left out: {reasons[path]}")
        elif alike:
            told.append(f"{path!r} is not there; did you mean {' or '.join(map(repr, alike))}?")
        else:
            told.append(f"{path!r} is not there")
    return (
        f"not in the index of {repository.name!r}: {'; '.join(told)}. Paths are relative to {repository.root}; "
        "if the file is new, index again"
    )


async def _unresolved(work: UnitOfWork, seeds: Sequence[FileState], files: set[str]) -> int:
    """References of other files of the repository whose last name part is a name that the seeds define."""
    own = {seed.id for seed in seeds}
    owned = await work.nodes.of_owner(sorted(own))
    names = {
        node.source.qualified_name.rpartition(".")[2]
        for nodes in owned.values()
        for node in nodes
        if node.type in {NodeType.CLASS, NodeType.FUNCTION} and node.source.qualified_name
    }
    asked = sorted(name for name in names if not (name.startswith("__") and name.endswith("__")))
    found = await work.edges.unresolved(asked, UNRESOLVED_LOOKED_AT)
    return sum(1 for one in found if one.kind != OUTSIDE and one.owner_id in files and one.owner_id not in own)


def _hints(repository: Repository, unresolved: int, *, has_history: bool) -> list[str]:
    hints = []
    if repository.is_stale:
        hints.append(f"{repository.name}: {repository.detail or 'the index is behind the tree'}")
    if not has_history:
        hints.append(f"{repository.name}: no history is indexed; names, imports and content are all there is")
    if unresolved:
        hints.append(
            f"unresolved references to names that these files define: {unresolved}; "
            "a file that is not listed may depend on them all the same"
        )
    return hints
