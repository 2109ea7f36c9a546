"""Asks every source at once, each under a deadline: a slow or dead source makes a partial answer, not a late one."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TypeVar

from tenure.core.context import RetrieveOptions
from tenure.core.errors import TenureError
from tenure.ports.models import Embedder
from tenure.ports.records import NodePlace
from tenure.ports.repositories import Database
from tenure.ports.vector_store import Dense, Hit, Query, SearchFilter, Space, VectorStore
from tenure.retrieval.question import Idf, Question, sparse_query

OVER_FETCH = 3
"""Candidates per source for each item asked for."""
FILES, CHUNKS, EPISODES = 100, 200, 100
"""Least candidates of a search: fewer lose answers of long questions (docs/benchmarks.md)."""
EMBEDDED_CHARS = 400
"""Of a question so much is embedded: the model's cost grows with length, and the beginning says what is asked."""
MAX_NAMED_FILES = 5000
"""Files whose last path part a question names: `__init__.py` has many."""
NAMES_FIRST_SECONDS = 0.1
"""How long the searches wait for what the question names: some milliseconds, unless SQL is slow."""
DEFINITIONS_READ = 50
"""Definitions of one name that are looked at, the first ones by path."""
Found = TypeVar("Found")


class Source(StrEnum):
    """Where evidence for a file comes from; the names of the fusion weights."""

    FILE = "file"
    FILE_TITLE = "file_title"
    CHUNK = "chunk"
    CHUNK_TITLE = "chunk_title"
    BEST_CHUNK_TITLE = "best_chunk_title"
    COVERAGE_TITLE = "coverage_title"
    PROFILE = "profile"
    EPISODE_TITLE = "episode_title"
    DENSE = "dense"
    PATH = "path"
    DOTTED = "dotted"
    IDENTIFIER = "identifier"
    QUALIFIED = "qualified"


@dataclass(frozen=True, slots=True)
class _SparseQuery:
    """One search: the space, how many points are wanted, and whether the first line alone asks."""

    source: Source
    space: Space
    limit: int
    is_title: bool = False


_SPARSE = (
    _SparseQuery(Source.FILE, Space.FILE, FILES),
    _SparseQuery(Source.FILE_TITLE, Space.FILE, FILES, is_title=True),
    _SparseQuery(Source.CHUNK, Space.CHUNK, CHUNKS),
    _SparseQuery(Source.CHUNK_TITLE, Space.CHUNK, CHUNKS, is_title=True),
    _SparseQuery(Source.PROFILE, Space.PROFILE, FILES),
    _SparseQuery(Source.EPISODE_TITLE, Space.EPISODE, EPISODES, is_title=True),
)


@dataclass(slots=True)
class Named:
    """What the question names: definitions by simple name, and files whose last path part matches."""

    definitions: Mapping[str, Sequence[NodePlace]] = field(default_factory=dict)
    files: Sequence[tuple[str, str, str, bool]] = ()


@dataclass(slots=True)
class Answers:
    """What the sources said, and whether tests were searched. A source that failed is in `failed` with the reason and has
    no hits.
    """

    hits: dict[Source, list[Hit]] = field(default_factory=dict)
    named: Named = field(default_factory=Named)
    wants_tests: bool = False
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def are_silent(self) -> bool:
        """True if sources failed and the others have nothing: that is no empty answer."""
        return bool(self.failed) and not any(self.hits.values()) and not self.named.definitions and not self.named.files


class Sources:
    """The stores as sources of candidates."""

    def __init__(
        self,
        database: Database,
        vectors: VectorStore,
        embedder: Embedder,
        deadline_seconds: float,
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._embedder = embedder
        self._deadline = deadline_seconds

    async def warm(self) -> None:
        """Load the embedder."""
        await self._embedder.embed_query("warm")

    async def ask(
        self,
        workspace_id: str,
        question: Question,
        options: RetrieveOptions,
        names: Sequence[str],
        idf: Idf,
        wants_tests: Callable[[Named], bool],
    ) -> Answers:
        """Everything that answers within the deadline; `names` are looked up as definitions. What is named is known first, and
        `wants_tests` says from it whether tests are searched.
        """
        answers = Answers()
        embedding = asyncio.ensure_future(self._embedder.embed_query(question.text[:EMBEDDED_CHARS]))
        mentions = asyncio.create_task(
            self._within("mentions", answers, self._mentions(workspace_id, question, names), Named())
        )
        try:
            await asyncio.wait({mentions}, timeout=NAMES_FIRST_SECONDS)
            answers.wants_tests = wants_tests(mentions.result() if mentions.done() else Named())
            scope = SearchFilter(
                repository_ids=options.repository_ids,
                paths=options.file_scope,
                directories=options.directory_scope,
                languages=options.languages,
                with_tests=answers.wants_tests,
            )
            wanted = OVER_FETCH * options.limit
            sparse, dense, answers.named = await asyncio.gather(
                self._within("sparse", answers, self._sparse(workspace_id, question, scope, wanted, idf), {}),
                self._within("dense", answers, self._dense(workspace_id, embedding, scope, wanted), {}),
                mentions,
            )
        finally:
            embedding.cancel()
            mentions.cancel()
        answers.hits = {**sparse, **dense}
        return answers

    async def _within(self, name: str, answers: Answers, work: Awaitable[Found], default: Found) -> Found:
        try:
            async with asyncio.timeout(self._deadline):
                return await work
        except TimeoutError:
            answers.failed[name] = f"no answer within {self._deadline * 1000:.0f} ms"
        except TenureError as error:
            answers.failed[name] = str(error)
        return default

    async def _sparse(
        self, workspace_id: str, question: Question, scope: SearchFilter, wanted: int, idf: Idf
    ) -> dict[Source, list[Hit]]:
        """The hits of every sparse search; a question of one line is asked once per space."""
        full = sparse_query(question.full_terms, idf)
        title = sparse_query(question.title_terms, idf)
        anywhere = SearchFilter(repository_ids=scope.repository_ids)
        asked: dict[tuple[Space, bool], Query] = {}
        for one in _SPARSE:
            where = anywhere if one.space is Space.EPISODE else scope
            is_title = one.is_title or question.is_one_line
            asked[one.space, is_title] = Query(one.space, title if is_title else full, max(one.limit, wanted), where)
        found = dict(zip(asked, await self._vectors.search(workspace_id, list(asked.values())), strict=True))
        return {one.source: found[one.space, one.is_title or question.is_one_line] for one in _SPARSE}

    async def _dense(
        self, workspace_id: str, embedding: Awaitable[Dense], scope: SearchFilter, wanted: int
    ) -> dict[Source, list[Hit]]:
        query = Query(Space.DENSE, await embedding, max(FILES, wanted), scope)
        return {Source.DENSE: (await self._vectors.search(workspace_id, [query]))[0]}

    async def _mentions(self, workspace_id: str, question: Question, names: Sequence[str]) -> Named:
        written = [mention.path for mention in question.mentions.paths]
        written += [frame.path for frame in question.mentions.frames]
        basenames = {PurePosixPath(path).name for path in written}
        for dotted in question.mentions.modules + question.mentions.identifiers:
            parts = dotted.split(".")
            basenames.update(f"{part}.py" for part in parts if len(parts) > 1)
            basenames.update(["__init__.py"] if len(parts) > 1 else [])
        async with self._database.reading(workspace_id) as work:
            definitions = await work.nodes.named(names, limit_per_name=DEFINITIONS_READ)
            files = await work.files.find_paths(sorted(basenames), limit=MAX_NAMED_FILES)
        return Named(definitions, files)
