"""Edits of a work tree, and how long until search sees them."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from string import ascii_lowercase

from tenure.code.languages.registry import PYTHON
from tenure.core.commands import JobState
from tenure.core.context import IncludeTests, RetrieveOptions
from tenure.core.errors import StoreUnavailable
from tenure.core.memory import FileRole
from tenure.ports.records import FileState, Job, Repository
from tenure.workspace.facade import Tenure

POLL_SECONDS = 0.1
"""Rarely enough that searching takes little from what is measured."""
ROW_POLL_SECONDS = 0.02
GIVE_UP_SECONDS = 600.0
"""After which something that should have become visible is a fault and no figure."""
_ENDED = frozenset({JobState.DONE, JobState.DONE_WITH_ERRORS})
_BROKEN = frozenset({JobState.FAILED, JobState.PARKED})


def choose(states: Sequence[FileState], number: int) -> list[FileState]:
    """`number` files to edit, spread evenly over the tree: Python sources where there are enough, else any code or text.

    Empty if the tree has fewer files that can take another line.
    """
    source = [s for s in states if s.language == PYTHON and s.role is FileRole.CODE and s.path.endswith(".py")]
    text = [state for state in states if state.role in {FileRole.CODE, FileRole.DOCUMENT}]
    files = source if len(source) >= number else text
    return [files[place * len(files) // number] for place in range(number)] if len(files) >= number else []


def edit(root: str, state: FileState, word: str) -> None:
    """Append a definition of a new name to a Python file, or a line with it to any other."""
    line = f"\n\ndef {word}():\n    return 1\n" if state.language == PYTHON else f"\n{word}\n"
    with (Path(root) / state.path).open("ab") as file:
        file.write(line.encode())


async def visible_after_ms(tenure: Tenure, repository: Repository, files: Sequence[FileState], word: str) -> float:
    """Edit the files, ask for a sync, and return the milliseconds until search finds each new name in its file; the rest
    of the sync (references of other files to these) is waited for, but not counted.

    A name that the first question finds was there before it was asked: after the first name such questions are not
    counted. Each file gets a name of its own, `word` with letters behind it: letters alone, for a search for a name takes its parts
    as well, and those of all these files would be alike. Raises `StoreUnavailable` if the sync fails, or if any of
    the names is not found in its file.
    """
    names = [f"{word}{letters(place)}" for place in range(len(files))]
    for state, name in zip(files, names, strict=True):
        edit(repository.root, state, name)
    started = time.perf_counter()
    job = await tenure.ingestion.request_index(repository.workspace_id, repository.id)
    after = 0.0
    for place, (state, name) in enumerate(zip(files, names, strict=True)):
        asked = time.perf_counter()
        tries = await until_found(tenure, repository, state, name)
        if place and tries == 1:
            after += time.perf_counter() - asked
    taken = (time.perf_counter() - started - after) * 1e3
    await ended(tenure, job)
    return taken


def letters(number: int) -> str:
    """The number in letters, each number another word: a, b, … z, ba, bb …"""
    tens, last = divmod(number, len(ascii_lowercase))
    return (letters(tens) if tens else "") + ascii_lowercase[last]


async def until_found(tenure: Tenure, repository: Repository, state: FileState, name: str) -> int:
    """Wait until a search for the name has an item of that file; returns how many looks that took.

    A definition is searched for once its row is there, which is cheap to see: searches all the while would take their time
    from what is measured.
    """
    path = state.path
    options = RetrieveOptions(limit=5, include_tests=IncludeTests.YES, repository_ids=(repository.id,))
    async with _deadline(f"{name} in {path} to be found"):
        tries = 1
        while state.language == PYTHON and not await _is_stored(tenure, repository, name):
            tries += 1
            await asyncio.sleep(ROW_POLL_SECONDS)
        while not await _finds(tenure, repository, path, name, options):
            tries += 1
            await asyncio.sleep(POLL_SECONDS)
    return tries


async def _is_stored(tenure: Tenure, repository: Repository, name: str) -> bool:
    async with tenure.infrastructure.database.reading(repository.workspace_id) as work:
        return bool(await work.nodes.named([name]))


async def _finds(tenure: Tenure, repository: Repository, path: str, name: str, options: RetrieveOptions) -> bool:
    bundle = await tenure.retrieval.retrieve(repository.workspace_id, name, options, whole=False)
    return any(item.path == path for item in bundle.items)


async def ended(tenure: Tenure, job: Job, within: float | None = GIVE_UP_SECONDS) -> Job:
    """The job when it has ended well and its projections are done; `StoreUnavailable` if it fails, or takes longer."""
    async with _deadline(f"the {job.kind} job to end", within):
        while True:
            async with tenure.infrastructure.database.reading(job.workspace_id) as work:
                job = await work.jobs.get(job.id)
                waiting = await work.outbox.count()
            if job.state in _BROKEN:
                raise StoreUnavailable(f"the {job.kind} job {job.state}: {job.error}")
            if job.state in _ENDED and not waiting:
                return job
            await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def _deadline(what: str, seconds: float | None = GIVE_UP_SECONDS) -> AsyncIterator[None]:
    """Turns a wait that does not end into an error that says what was waited for."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as late:
        raise StoreUnavailable(f"waited {seconds:.0f} s for {what}; see the log") from late
