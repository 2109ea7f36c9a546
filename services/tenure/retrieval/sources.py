"""Asks every source at once, each under a deadline: a slow or dead source makes a partial answer, not a late one."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, TypeAlias, TypeVar

from tenure.core.context import RetrieveOptions
from tenure.core.errors import TenureError
from tenure.ports.models import Embedder
from tenure.ports.records import NodePlace
from tenure.ports.repositories import Database
from tenure.ports.vector_store import Dense, Hit, Query, SearchFilter, Space, VectorStore
from tenure.retrieval.question import Idf, Question, sparse_query
from tenure.retrieval.scope import has_paths, is_in_paths

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
SCOPED_DEFINITIONS_READ = 2_000
"""The same where only some files or folders are asked for: the others are left out before any are counted."""
COVERED_CHUNKS = 100
"""Best chunks of the first line whose terms are compared with it."""
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


_HitsBySource: TypeAlias = dict[Source, list[Hit]]


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

    `touched` are the (file, weight) of each commit that is like the question, `terms` the (file, terms) of the chunks that
    match the first line best.
    """

    hits: dict[Source, list[Hit]] = field(default_factory=dict)
    touched: Mapping[str, Sequence[tuple[str, float]]] = field(default_factory=dict)
    terms: Sequence[tuple[str, Sequence[int]]] = ()
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
        under_way: list[asyncio.Future[Any]] = []

        def begin(work: Awaitable[Found]) -> asyncio.Future[Found]:
            under_way.append(task := asyncio.ensure_future(work))
            return task

        embedding = begin(self._embedder.embed_query(question.text[:EMBEDDED_CHARS]))
        mentions = begin(
            self._within("mentions", answers, self._mentions(workspace_id, question, names, options), Named())
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
            sparse = begin(
                self._within("sparse", answers, self._sparse(workspace_id, question, scope, wanted, idf), {})
            )
            dense = begin(self._within("dense", answers, self._dense(workspace_id, embedding, scope, wanted), {}))
            # Read while the dense search is still under way.
            answers.touched, answers.terms = await asyncio.gather(
                begin(self._touched(workspace_id, sparse)), begin(self._terms(workspace_id, sparse))
            )
            answers.named = await mentions
            answers.hits = {**await sparse, **await dense}
        finally:
            for one in under_way:
                one.cancel()
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
    ) -> _HitsBySource:
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
    ) -> _HitsBySource:
        query = Query(Space.DENSE, await embedding, max(FILES, wanted), scope)
        return {Source.DENSE: (await self._vectors.search(workspace_id, [query]))[0]}

    async def _touched(
        self, workspace_id: str, sparse: Awaitable[_HitsBySource]
    ) -> Mapping[str, Sequence[tuple[str, float]]]:
        """What the commits touched that are like the question."""
        commits = [hit.node_id for hit in (await sparse).get(Source.EPISODE_TITLE, ())]
        async with self._database.reading(workspace_id) as work:
            return await work.edges.touched_by(commits)

    async def _terms(self, workspace_id: str, sparse: Awaitable[_HitsBySource]) -> Sequence[tuple[str, Sequence[int]]]:
        """The terms of the chunks that match the first line best."""
        hits = (await sparse).get(Source.CHUNK_TITLE, ())
        async with self._database.reading(workspace_id) as work:
            return await work.chunks.terms([hit.point_id for hit in hits[:COVERED_CHUNKS]])

    async def _mentions(
        self, workspace_id: str, question: Question, names: Sequence[str], options: RetrieveOptions
    ) -> Named:
        written = [mention.path for mention in question.mentions.paths]
        written += [frame.path for frame in question.mentions.frames]
        basenames = {PurePosixPath(path).name for path in written}
        for dotted in question.mentions.modules + question.mentions.identifiers:
            parts = dotted.split(".")
            basenames.update(f"{part}.py" for part in parts if len(parts) > 1)
            basenames.update(["__init__.py"] if len(parts) > 1 else [])
        async with self._database.reading(workspace_id) as work:
            read = SCOPED_DEFINITIONS_READ if has_paths(options) else DEFINITIONS_READ
            definitions = await work.nodes.named(names, limit_per_name=read)
            files = await work.files.find_paths(sorted(basenames), limit=MAX_NAMED_FILES)
        if has_paths(options):
            definitions = {
                name: inside[:DEFINITIONS_READ]
                for name, places in definitions.items()
                if (inside := [place for place in places if is_in_paths(place.path or "", options)])
            }
        return Named(definitions, files)
