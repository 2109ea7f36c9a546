"""Asks every source at once, each under a deadline: a slow or dead source makes a partial answer, not a late one."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TypeVar

from tenure.core.context import RetrieveOptions
from tenure.core.errors import TenureError
from tenure.core.memory import EdgeType, Node
from tenure.ports.graph_store import GraphStore
from tenure.ports.models import Embedder
from tenure.ports.repositories import Database
from tenure.ports.vector_store import Hit, Query, SearchFilter, Space, VectorStore
from tenure.retrieval.question import Idf, Question, sparse_query

OVER_FETCH = 3
"""Candidates per source for each item asked for."""
MIN_CANDIDATES = 200
"""Fewer candidates of one source lose answers of long questions (measured on the development data)."""
EPISODES = 60
"""Commits that lead to the files they touched."""
TOUCHED_PER_EPISODE = 50
"""Files of one commit that are followed; wider commits say little about each file."""
Found = TypeVar("Found")


class Source(StrEnum):
    """Where evidence for a file or node comes from; the names of the fusion weights."""

    FILE = "file"
    FILE_TITLE = "file_title"
    CHUNK = "chunk"
    CHUNK_TITLE = "chunk_title"
    PROFILE = "profile"
    PROFILE_TITLE = "profile_title"
    EPISODE = "episode"
    EPISODE_TITLE = "episode_title"
    DENSE = "dense"
    DENSE_TITLE = "dense_title"
    PATH = "path"
    FRAME = "frame"
    IDENTIFIER = "identifier"
    QUALIFIED = "qualified"
    PRIOR = "prior"
    COVERAGE = "coverage"
    COVERAGE_TITLE = "coverage_title"


_SPARSE: tuple[tuple[Space, Source, Source], ...] = (
    (Space.FILE, Source.FILE, Source.FILE_TITLE),
    (Space.CHUNK, Source.CHUNK, Source.CHUNK_TITLE),
    (Space.PROFILE, Source.PROFILE, Source.PROFILE_TITLE),
    (Space.EPISODE, Source.EPISODE, Source.EPISODE_TITLE),
)


@dataclass(slots=True)
class Named:
    """What the question names: definitions by simple name, and files whose last path part matches."""

    definitions: Mapping[str, Sequence[Node]] = field(default_factory=dict)
    files: Sequence[tuple[str, str, str, bool]] = ()


@dataclass(slots=True)
class Answers:
    """What the sources said. A source that failed is in `failed` with the reason and has no hits."""

    hits: dict[Source, list[Hit]] = field(default_factory=dict)
    named: Named = field(default_factory=Named)
    touched: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


class Sources:
    """The stores as sources of candidates."""

    def __init__(
        self,
        database: Database,
        vectors: VectorStore,
        graph: GraphStore,
        embedder: Embedder,
        deadline_seconds: float,
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._graph = graph
        self._embedder = embedder
        self._deadline = deadline_seconds

    async def ask(self, workspace_id: str, question: Question, options: RetrieveOptions, idf: Idf) -> Answers:
        """Everything that answers within the deadline."""
        answers = Answers()
        limit = max(MIN_CANDIDATES, OVER_FETCH * options.limit)
        scope = SearchFilter(
            repository_ids=options.repository_ids,
            paths=options.file_scope,
            directories=tuple(folder.strip("/") for folder in options.directory_scope),
            with_tests=question.wants_tests,
        )
        sparse, dense, named = await asyncio.gather(
            self._within("sparse", answers, self._sparse(workspace_id, question, scope, limit, idf), {}),
            self._within("dense", answers, self._dense(workspace_id, question, scope, limit), {}),
            self._within("mentions", answers, self._mentions(workspace_id, question), Named()),
        )
        answers.hits = {**sparse, **dense}
        answers.named = named
        episodes = {hit.node_id for s in (Source.EPISODE, Source.EPISODE_TITLE) for hit in answers.hits.get(s, ())}
        if episodes:
            touched = self._touched(workspace_id, sorted(episodes))
            answers.touched = await self._within("graph", answers, touched, {})
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
        self, workspace_id: str, question: Question, scope: SearchFilter, limit: int, idf: Idf
    ) -> dict[Source, list[Hit]]:
        full = sparse_query(question.full_terms, idf)
        title = full if question.is_one_line else sparse_query(question.title_terms, idf)
        anywhere = SearchFilter(repository_ids=scope.repository_ids)
        queries, sources = [], []
        for space, source, title_source in _SPARSE:
            where = anywhere if space is Space.EPISODE else scope
            wanted = EPISODES if space is Space.EPISODE else limit
            queries.append(Query(space, full, wanted, where))
            sources.append((source, title_source) if question.is_one_line else (source,))
            if not question.is_one_line:
                queries.append(Query(space, title, wanted, where))
                sources.append((title_source,))
        found = await self._vectors.search(workspace_id, queries)
        return {source: hits for names, hits in zip(sources, found, strict=True) for source in names}

    async def _dense(
        self, workspace_id: str, question: Question, scope: SearchFilter, limit: int
    ) -> dict[Source, list[Hit]]:
        vector = await self._embedder.embed_query(question.text)
        hits = (await self._vectors.search(workspace_id, [Query(Space.DENSE, vector, limit, scope)]))[0]
        return {Source.DENSE: hits}

    async def _mentions(self, workspace_id: str, question: Question) -> Named:
        named = question.mentions
        names = {part for name in (*named.identifiers, *named.modules) for part in split_name(name)}
        names.update(frame.function.rsplit(".", 1)[-1] for frame in named.frames if frame.function)
        if not names and question.is_one_line and " " not in question.text:
            names = {question.text}
        written = [mention.path for mention in named.paths] + [frame.path for frame in named.frames]
        basenames = {PurePosixPath(path).name for path in written}
        basenames.update(f"{name.rsplit('.', 1)[-1]}.py" for name in named.modules)
        async with self._database.reading(workspace_id) as work:
            definitions = await work.nodes.named(sorted(names))
            files = await work.files.find_paths(sorted(basenames))
        return Named(definitions, files)

    async def _touched(self, workspace_id: str, commits: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
        steps = await self._graph.neighbours(
            workspace_id, commits, [EdgeType.TOUCHED], fan_out=TOUCHED_PER_EPISODE, max_degree=1_000_000
        )
        touched: dict[str, list[tuple[str, float]]] = {}
        for step in steps:
            touched.setdefault(step.from_id, []).append((step.to_id, step.weight))
        return touched


def split_name(name: str) -> list[str]:
    """The parts of a dotted, `::` or `->` name."""
    return [part for part in name.replace("::", ".").replace("->", ".").split(".") if part]
