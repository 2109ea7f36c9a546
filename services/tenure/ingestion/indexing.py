"""The first phase: from a tree to structure, sparse vectors and history, one job at a time per repository."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial

from tenure.code.admission import is_racy
from tenure.code.discover import discover
from tenure.code.model import Candidate, Discovery, PreparedFile, PrepareRequest
from tenure.code.prepare import PARSER_VERSION
from tenure.core.commands import Project
from tenure.core.errors import GitRefused
from tenure.core.memory import ParseStatus
from tenure.ingestion.ahead import ahead
from tenure.ingestion.episodes import Episodes
from tenure.ingestion.just_stored import JustStored
from tenure.ingestion.lease import LeasedJob
from tenure.ingestion.plan import FIRST_BATCH_FILES, SyncPlan, batches, by_path, code_first, is_same, plan_sync
from tenure.ingestion.resolving import Resolver
from tenure.ports.clock import Clock
from tenure.ports.records import FileState, LeftOut, Repository, RepositoryKind
from tenure.ports.repositories import Database
from tenure.ports.source_tree import GitHead, GitRepository
from tenure.ports.task_queue import TaskQueue

Prepare = Callable[[Sequence[PrepareRequest]], Awaitable[list[PreparedFile]]]
"""Parses files beside the event loop; results in the order of the requests."""
BATCHES_AHEAD = 8
"""Batches that are prepared while one is stored: as long as it takes to resolve the references of a large tree."""


@dataclass(frozen=True, slots=True)
class Look:
    """A tree beside its index: `states` are the files that the index knows, by path."""

    discovery: Discovery
    head: GitHead
    plan: SyncPlan
    states: Mapping[str, FileState]


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one sync did. `files` = `parsed` + `unchanged` + `left_out_late`; `removed` are gone from the tree.

    `problem`: why the index lacks its history, where the clone can't tell it; everything else is in.
    """

    files: int
    parsed: int
    unchanged: int
    removed: int
    left_out: int
    failed: int
    commits: int
    is_full: bool
    problem: str = ""


class Indexing:
    """Runs the first phase. Each batch is one transaction; a killed run goes on where the rows say."""

    def __init__(
        self,
        database: Database,
        git: GitRepository,
        prepare: Prepare,
        warm: Callable[[], None],
        just_stored: JustStored,
        queue: TaskQueue,
        clock: Clock,
        count_tokens: Callable[[str], int],
        history_commits: int,
        full_pass_rate: float,
    ) -> None:
        self._database = database
        self._git = git
        self._prepare = prepare
        self._warm = warm
        self._just_stored = just_stored
        self._queue = queue
        self._clock = clock
        self._full_pass_rate = full_pass_rate
        self._resolver = Resolver(database)
        self._episodes = Episodes(database, git, count_tokens, history_commits)

    async def look(self, repository: Repository, full: bool = False) -> Look:
        """What a sync would do now; reads only."""
        head = GitHead(None, None)
        if repository.kind is RepositoryKind.BARE:
            commit = await self._git.resolve_commit(repository.root, repository.tree or "HEAD")
            head = GitHead(commit, repository.tree)
        elif repository.kind is RepositoryKind.WORK_TREE:
            head = await self._git.head(repository.root)
        tree = head.commit if repository.kind is RepositoryKind.BARE else None
        discovery = await discover(repository.root, repository.kind, self._git, tree_commit=tree)
        async with self._database.reading(repository.workspace_id) as work:
            states = await work.files.states(repository.id)
            late = await work.files.left_out(repository.id, limit=1_000_000)
        known_left_out = {item.path: item for item in late}
        candidates, still_out = _without_left_out(discovery.candidates, known_left_out, full)
        plan = plan_sync(candidates, states, PARSER_VERSION, full, self._full_pass_rate)
        return Look(Discovery(candidates, [*discovery.left_out, *still_out]), head, plan, by_path(states))

    async def run(self, leased: LeasedJob) -> IndexReport:
        """Make the index equal the tree. Raises what discovery and the stores raise; committed batches stay."""
        workspace_id = leased.job.workspace_id
        async with self._database.reading(workspace_id) as work:
            repository = await work.repositories.get(leased.job.key)
        if repository.indexed_at is None:  # all of it is to be parsed: the parsers start while files are looked for
            self._warm()
        try:
            return await self._run(repository, leased)
        except BaseException:
            self._resolver.forget(repository.id)
            raise

    async def _run(self, repository: Repository, leased: LeasedJob) -> IndexReport:
        full = bool(leased.job.options.get("full"))
        look = await self.look(repository, full)
        discovery, head, plan, states = look.discovery, look.head, look.plan, look.states
        repository = replace(repository, revision=repository.revision + 1, is_stale=True)
        async with self._database.writing(repository.workspace_id) as work:
            await leased.keep(work, phase="structure", files=len(discovery.candidates), pending=len(plan.suspects))
            if plan.removed or any(candidate.path not in states for candidate in plan.suspects):
                repository = replace(repository, history_commit=None)
            await work.repositories.update(repository)
        left_out = list(discovery.left_out)
        parsed = failed = 0
        pending = len(plan.suspects)
        code, rest = code_first(plan.suspects)
        in_order = [*batches(code, FIRST_BATCH_FILES), *batches(rest)]
        async with aclosing(ahead(in_order, partial(self._prepared, repository), BATCHES_AHEAD)) as made:
            async for requests, prepared in made:
                pending -= len(requests)
                written = await self._store(repository, leased, states, prepared, pending)
                parsed += len(written)
                failed += sum(1 for p in written if p.file is not None and p.file.status is ParseStatus.FAILED)
                signatures = {request.candidate.path: request.candidate.signature for request in requests}
                left_out += [
                    replace(p.left_out, signature=signatures[p.path]) for p in prepared if p.left_out is not None
                ]
                # All code is in, and the documents are being prepared meanwhile. What removals change comes below, once.
                if 0 < pending == len(rest) and not plan.removed:
                    await self._resolver.run(repository, leased)
        await self._remove(repository, leased, plan)
        await self._resolver.run(repository, leased)
        commits, problem = 0, ""
        try:
            commits = await self._episodes.sync(repository, head, leased)
        except GitRefused as error:  # e.g. a clone without trees, which tells HEAD's files and no commit
            problem = f"its history is not in the index: {error}"
        await self._finish(repository, head, leased, left_out, problem)
        return IndexReport(
            files=len(discovery.candidates),
            parsed=parsed,
            unchanged=len(discovery.candidates) - parsed,
            removed=len(plan.removed),
            left_out=len(left_out),
            failed=failed,
            commits=commits,
            is_full=plan.is_full,
            problem=problem,
        )

    async def _prepared(
        self, repository: Repository, batch: Sequence[Candidate]
    ) -> tuple[list[PrepareRequest], list[PreparedFile]]:
        """What to prepare with what was made of it."""
        requests = await self._requests(repository, batch, time.time_ns())
        return requests, await self._prepare(requests)

    async def _requests(
        self, repository: Repository, batch: Sequence[Candidate], read_at_ns: int
    ) -> list[PrepareRequest]:
        """What to prepare. A file that may change again within the clock's grain gets no signature: it is read again
        at the next sync.
        """
        blobs = {}
        if repository.kind is RepositoryKind.BARE:
            blobs = dict(await self._git.read_blobs(repository.root, [c.object_id for c in batch]))
        return [
            PrepareRequest(
                repository.workspace_id,
                repository.id,
                replace(candidate, signature="") if is_racy(candidate.signature, read_at_ns) else candidate,
                repository.revision,
                blobs.get(candidate.object_id),
                self._clock.now(),
            )
            for candidate in batch
        ]

    async def _store(
        self,
        repository: Repository,
        leased: LeasedJob,
        states: Mapping[str, FileState],
        prepared: Sequence[PreparedFile],
        pending: int,
    ) -> list[PreparedFile]:
        """One transaction: write what changed, note what did not, remove what is left out after all."""
        written, touched, dropped = [], {}, []
        for item in prepared:
            state = states.get(item.path)
            if item.file is None:
                dropped += [state] if state else []
            elif is_same(state, item.file.content_hash, item.file.parser_version):
                touched[item.file.id] = item.file.signature
            else:
                written.append(item)
        async with self._database.writing(repository.workspace_id) as work:
            await leased.keep(work, has_advanced=bool(written), pending=pending)
            await work.files.touch(touched)
            await work.files.replace(
                [p.file for p in written if p.file is not None],
                [node for p in written for node in p.nodes],
                [chunk for p in written for chunk in p.chunks],
                [edge for p in written for edge in p.contains],
            )
            await work.files.remove([state.id for state in dropped])
            await self._resolver.note_changes(work, repository.id, written, [state.path for state in dropped])
        self._just_stored.add(written)
        await self._queue.send(Project(repository.workspace_id))
        return written

    async def _remove(self, repository: Repository, leased: LeasedJob, plan: SyncPlan) -> None:
        if not plan.removed:
            return
        async with self._database.writing(repository.workspace_id) as work:
            await leased.keep(work)
            await self._resolver.note_changes(work, repository.id, [], plan.removed_paths)
            await work.files.remove(plan.removed)
        await self._queue.send(Project(repository.workspace_id))

    async def _finish(
        self, repository: Repository, head: GitHead, leased: LeasedJob, left_out: Sequence[LeftOut], problem: str
    ) -> None:
        async with self._database.writing(repository.workspace_id) as work:
            await leased.keep(work, phase="done", pending=0)
            await work.files.set_left_out(repository.id, left_out)
            await work.repositories.update(
                replace(
                    await work.repositories.get(repository.id),
                    branch=head.branch,
                    commit=head.commit,
                    indexed_at=self._clock.now(),
                    is_stale=False,
                    detail=problem,
                )
            )
        await self._queue.send(Project(repository.workspace_id))


def _without_left_out(
    candidates: Sequence[Candidate], known: dict[str, LeftOut], full: bool
) -> tuple[list[Candidate], list[LeftOut]]:
    """Candidates but for those that parsing left out before and whose signature is the same."""
    if full:
        return list(candidates), []
    kept, out = [], []
    for candidate in candidates:
        item = known.get(candidate.path)
        if item is not None and item.signature and item.signature == candidate.signature:
            out.append(item)
        else:
            kept.append(candidate)
    return kept, out
