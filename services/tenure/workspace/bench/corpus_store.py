"""A made tree as a real index: written to disk with a history, indexed by the pipeline, kept for the next run.

    <cache>/<key>/tree    the work tree with its commits
    <cache>/<key>/home    SQL and vectors
    <cache>/<key>/done    stands there once both are complete
    <cache>/vectors-<seed>-<model>.npy    vectors of texts that were really embedded, for every size

The key names seed, size, parser and a hash of the harvested words: other installed packages make another tree. A folder that is not complete is made again.
"""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tenure.code.prepare import PARSER_VERSION
from tenure.core.commands import JobState
from tenure.core.errors import StoreUnavailable
from tenure.core.ids import content_hash
from tenure.core.vectors import pack_dense
from tenure.ingestion.embedding import chunk_texts
from tenure.ports.records import OutboxKind, Repository
from tenure.runtime.auth import LOCAL_CALLER
from tenure.runtime.settings import load_settings
from tenure.workspace.bench.corpus import MadeTree, Words, harvest, make_tree
from tenure.workspace.facade import Tenure, open_tenure

COMMITS = 5_000
FILES_OF_COMMIT = 3.5
"""Mean of Django's commits."""
EMBEDDED_TEXTS = 2_000
"""Texts that are really embedded; the other vectors lie around these."""
COSINE = 0.8
"""Between a made vector and the real one that it lies around."""
_DIGEST_CHARS = 8
"""Of a hash, to tell the words of one machine from those of another."""
_VECTORS_AT_ONCE = 2_000
_ALL = 10_000_000
_FIRST_COMMIT = 1_500_000_000
_SECONDS_BETWEEN_COMMITS = 20_000
Notice = Callable[[str], None]
"""Told what is being made."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """An open index of a made tree, and what questions about it are made from."""

    tenure: Tenure
    repository: Repository
    words: Words
    tree: MadeTree


@asynccontextmanager
async def open_corpus(
    profile: str, flags: Mapping[str, Any], cache: Path, nodes: int, seed: int, notice: Notice
) -> AsyncIterator[Corpus]:
    """The corpus of this seed and size, made first if the cache has none such."""
    notice("harvesting words")
    words = await asyncio.to_thread(harvest, seed)
    digest = content_hash(repr(words).encode("utf-8", "surrogatepass"))[:_DIGEST_CHARS]
    folder = cache.expanduser() / f"{seed}-{nodes}-{PARSER_VERSION}-{digest}"
    tree = await asyncio.to_thread(make_tree, words, nodes, seed)
    # A database of the environment is never written to: the bench has a home of its own.
    own = {"home": str(folder / "home"), "database.url": "", "indexing.dense": False}
    settings = load_settings(profile, {**flags, **own})
    done = folder / "done"
    if not done.exists():
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        folder.mkdir(parents=True)
        notice(f"writing {len(tree.files)} files and {COMMITS} commits")
        await write_history(folder / "tree", words, tree, seed)
    async with open_tenure(settings, works=False) as tenure:
        if not done.exists():
            await _fill(
                tenure,
                folder / "tree",
                folder.parent / f"vectors-{seed}-{tenure.infrastructure.embedder.name}.npy",
                seed,
                notice,
            )
            done.touch()
        workspace = (await tenure.directory.visible(LOCAL_CALLER))[0]
        repository = (await tenure.ingestion.repositories(workspace.id))[0]
        yield Corpus(tenure, repository, words, tree)


async def write_history(root: Path, words: Words, tree: MadeTree, seed: int) -> None:
    """A work tree with these files and `COMMITS` commits that each touch a few files of one folder."""
    root.mkdir(parents=True)
    await _git(root, "init", "--quiet", "--initial-branch=main")
    stream = b"".join(_commits(words, tree, random.Random(seed)))  # noqa: S311  repeatable, no secret
    await _git(root, "fast-import", "--quiet", given=stream)
    await _git(root, "reset", "--quiet", "--hard", "main")


async def _git(root: Path, *arguments: str, given: bytes = b"") -> None:
    process = await asyncio.create_subprocess_exec(
        "git", "-C", str(root), *arguments, stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, error = await process.communicate(given)
    if process.returncode:
        raise StoreUnavailable(f"git {arguments[0]} failed in {root}: {error.decode('utf-8', 'replace').strip()}")


def _commits(words: Words, tree: MadeTree, chance: random.Random) -> Iterator[bytes]:
    """The stream of `git fast-import`: all files first, then changes of one line."""
    paths = list(tree.files)
    yield _commit(0, "Begin", [(path, tree.files[path]) for path in paths])
    for number in range(1, COMMITS):
        topic = chance.choice(words.topics)
        first = chance.randrange(len(paths))
        size = max(1, round(chance.expovariate(1 / FILES_OF_COMMIT)))
        near = [paths[(first + step) % len(paths)] for step in range(min(size, len(paths)))]
        told = [chance.choice(topic.sentences) for _ in range(2)]
        # Only the newest such line stands in a file: the tree stays what the generator made.
        changed = [(path, f"{tree.files[path]}# {number}\n") for path in near]
        yield _commit(number, f"Fixed #{number} -- {told[0]}\n\n{told[1]}", changed)


def _commit(number: int, message: str, files: Sequence[tuple[str, str]]) -> bytes:
    when = _FIRST_COMMIT + number * _SECONDS_BETWEEN_COMMITS
    head = f"commit refs/heads/main\ncommitter Tenure <bench@localhost> {when} +0000\n".encode()
    parts = [head, _data(message)]
    for path, text in files:
        parts += [f"M 100644 inline {path}\n".encode(), _data(text)]
    return b"".join(parts)


def _data(text: str) -> bytes:
    data = text.encode()
    return b"data %d\n%s\n" % (len(data), data)


async def _fill(tenure: Tenure, root: Path, stored: Path, seed: int, notice: Notice) -> None:
    workspace = await tenure.directory.create(LOCAL_CALLER, "bench")
    repository = await tenure.ingestion.add_repository(workspace.id, str(root))
    notice("indexing")
    job = await tenure.ingestion.request_index(workspace.id, repository.id)
    state = await tenure.ingestion.run_job(workspace.id, job.id)
    if state is not JobState.DONE:
        ended = (await tenure.ingestion.status(workspace.id, repository.id)).job
        raise StoreUnavailable(f"indexing the made tree ended as {state}: {ended.error if ended else ''}")
    await _embed(tenure, repository, stored, seed, notice)
    notice("writing vectors")
    await tenure.ingestion.project(workspace.id)


async def _embed(tenure: Tenure, repository: Repository, stored: Path, seed: int, notice: Notice) -> None:
    """A vector for every chunk, around the ones that were really embedded."""
    database, embedder = tenure.infrastructure.database, tenure.infrastructure.embedder
    name, dimension = embedder.name, embedder.dimension
    async with database.reading(repository.workspace_id) as work:
        chunks = await work.chunks.without_embedding(repository.id, name, dimension, _ALL)
        real = chunks[:: max(1, len(chunks) // EMBEDDED_TEXTS)][:EMBEDDED_TEXTS]
        texts = await chunk_texts(work, real)
    if not stored.exists():
        notice(f"embedding {len(texts)} texts")
        await asyncio.to_thread(np.save, stored, np.array(await embedder.embed(list(texts.values())), np.float32))
    around = around_vectors(np.load(stored), len(chunks), seed)
    for start in range(0, len(chunks), _VECTORS_AT_ONCE):
        part = chunks[start : start + _VECTORS_AT_ONCE]
        made = around[start : start + _VECTORS_AT_ONCE].tolist()
        packed = {chunk.content_hash: pack_dense(vector) for chunk, vector in zip(part, made, strict=True)}
        async with database.writing(repository.workspace_id) as work:
            await work.chunks.put_embeddings(name, dimension, packed)
    async with database.writing(repository.workspace_id) as work:
        # The entries of the files are still there and bring the vectors along.
        due = [entry.position for entry in await work.outbox.take(_ALL) if entry.kind is OutboxKind.DENSE]
        await work.outbox.done(due)


def around_vectors(vectors: NDArray[np.float32], number: int, seed: int) -> NDArray[np.float32]:
    """`number` unit vectors, each at a cosine of about `COSINE` to one of these unit vectors."""
    chance = np.random.default_rng(seed)
    noise = chance.standard_normal((number, vectors.shape[1]), np.float32)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    # A random direction of hundreds of dimensions is nearly at right angles to any other.
    mixed = COSINE * vectors[chance.integers(len(vectors), size=number)] + (1 - COSINE**2) ** 0.5 * noise
    unit: NDArray[np.float32] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return unit
