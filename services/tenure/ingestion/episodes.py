"""Keeps the git log as episodic memory: commits, which files they touched, and what history says about each file."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from tenure.code import episodes as code_episodes
from tenure.code import history
from tenure.code.history import Commit
from tenure.code.profiles import profiles
from tenure.core import ids
from tenure.core.memory import Edge, EdgeType
from tenure.core.pages import pages
from tenure.ingestion.lease import LeasedJob
from tenure.ports.records import Repository
from tenure.ports.repositories import Database
from tenure.ports.source_tree import GitHead, GitRepository

COMMITS_PER_TRANSACTION = 1000
EDGES_PER_TRANSACTION = 20_000
"""Bounds of one transaction of a first history, so that other writers get their turn."""
T = TypeVar("T")


class Episodes:
    """Makes the stored history equal the log of HEAD and the files that are there now.

    What is stored is compared with what should be, so a first run, new commits, a rebase, another branch and renamed
    files are one case, and a run that was killed is simply done again.
    """

    def __init__(self, database: Database, git: GitRepository, count_tokens: Callable[[str], int], limit: int) -> None:
        self._database = database
        self._git = git
        self._count_tokens = count_tokens
        self._limit = limit

    async def sync(self, repository: Repository, head: GitHead, leased: LeasedJob) -> int:
        """Bring history up to `head`; returns how many commits were brought in line, 0 if it was there already."""
        async with self._database.reading(repository.workspace_id) as work:
            repository = await work.repositories.get(repository.id)
            # A branch without commits: what is stored has to go, even if the files asked for history to be read anew.
            has_left_over = head.commit is None and bool(await work.nodes.commits(repository.id))
        if head.commit == repository.history_commit and not has_left_over:
            return int(leased.progress.get("commits", 0))
        commits = await self._commits(repository, head, leased)
        await self._files(repository, commits, leased)
        async with self._database.writing(repository.workspace_id) as work:
            await leased.keep(work, commits=len(commits))
            current = await work.repositories.get(repository.id)
            await work.repositories.update(replace(current, history_commit=head.commit))
        return len(commits)

    async def _commits(self, repository: Repository, head: GitHead, leased: LeasedJob) -> list[Commit]:
        """The newest commits of HEAD in the log's order; new ones are stored, ones that left it are removed."""
        order: list[str] = []
        if head.commit is not None and self._limit:
            order = await self._git.newest_commits(repository.root, head.commit, self._limit)
        async with self._database.reading(repository.workspace_id) as work:
            stored = {node.source.commit or "": node for node in await work.nodes.commits(repository.id)}
        commits = {sha: code_episodes.commit_of(node) for sha, node in stored.items()}
        unknown = [sha for sha in order if sha not in stored]
        fresh = [history.parse_record(record) async for record in self._git.log_of(repository.root, unknown)]
        for part in pages(fresh, COMMITS_PER_TRANSACTION):
            nodes = code_episodes.commit_nodes(repository.workspace_id, repository.id, part, self._count_tokens)
            async with self._database.writing(repository.workspace_id) as work:
                await leased.keep(work, phase="history")
                await work.nodes.put(nodes)
        commits.update((commit.sha, commit) for commit in fresh)
        listed = set(order)
        gone = [node.id for sha, node in stored.items() if sha not in listed]
        async with self._database.writing(repository.workspace_id) as work:
            await leased.keep(work)
            await work.nodes.remove(gone)
        return [commits[sha] for sha in order if sha in commits]

    async def _files(self, repository: Repository, commits: Sequence[Commit], leased: LeasedJob) -> None:
        """Touched edges, profiles and priors of the files as they are called now; only differences are written."""
        workspace_id = repository.workspace_id
        async with self._database.reading(workspace_id) as work:
            present = {state.path for state in await work.files.states(repository.id)}
            stored = {_key(edge): edge async for edge in work.edges.export(repository.id, (EdgeType.TOUCHED,))}
            old_profiles = await work.chunks.profiles([ids.file_id(workspace_id, repository.id, p) for p in present])
        names = history.present_paths(commits, present)
        due = {_key(e): e for e in code_episodes.touched_edges(workspace_id, repository.id, commits, names)}
        by_path, priors = profiles(commits, present)
        by_file = {ids.file_id(workspace_id, repository.id, path): packed for path, packed in by_path.items()}
        changed = {file: packed for file, packed in by_file.items() if old_profiles.get(file) != packed}
        emptied = {file: b"" for file in old_profiles if file not in by_file}
        async with self._database.writing(workspace_id) as work:
            await leased.keep(work, phase="history")
            await work.edges.remove([edge for key, edge in stored.items() if key not in due])
        for part in pages([edge for key, edge in due.items() if key not in stored], EDGES_PER_TRANSACTION):
            async with self._database.writing(workspace_id) as work:
                await leased.keep(work)
                await work.edges.put(part)
        async with self._database.writing(workspace_id) as work:
            await leased.keep(work)
            await work.chunks.put_profiles({**changed, **emptied})
            await work.chunks.put_priors({ids.file_id(workspace_id, repository.id, p): v for p, v in priors.items()})


def _key(edge: Edge) -> tuple[str, str]:
    return edge.source_id, edge.target_id
