"""The retrieval service: from a question to a context bundle, a prompt, or what else changes."""

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from tenure.core import prompts, token_budget
from tenure.core.context import (
    MAX_GRAPH_DEPTH,
    MAX_LIMIT,
    MAX_MAX_TOKENS,
    MIN_LIMIT,
    BudgetReport,
    ContextBundle,
    ContextItem,
    Freshness,
    Omission,
    OmissionReason,
    RetrieveOptions,
)
from tenure.core.errors import InvalidInput, RecordNotFound, TenureError
from tenure.core.memory import MemoryKind, NodeState
from tenure.core.placement import place
from tenure.core.relevance import is_hit
from tenure.ports.clock import Clock
from tenure.ports.graph_store import GraphStore
from tenure.ports.models import TokenCounter
from tenure.ports.records import Repository
from tenure.ports.repositories import Database
from tenure.retrieval.evidence import FileEvidence, gather, node_scores, rank_files
from tenure.retrieval.expansion import describe, expand
from tenure.retrieval.freshness import FreshnessCheck
from tenure.retrieval.items import Judge, Ranked, build, load
from tenure.retrieval.naming import name_evidence
from tenure.retrieval.question import Question, understand
from tenure.retrieval.sources import Answers, Source, Sources
from tenure.retrieval.statistics import Statistics, TermStatistics
from tenure.retrieval.tuning import Tuning

_LOG = structlog.get_logger("tenure.retrieval")
CONSIDERED = 3
"""Candidates whose rows are read, for each item asked for: some will be left out."""
EPISODE_SHARE = 0.4
"""A commit that matches best stands at this share of the best file's score."""
OMISSIONS_SHOWN = 50
"""Left-out candidates that are listed; all are counted."""
RENDER_OVERHEAD_TOKENS = 70
"""Tokens of an item's fence with ids and title, beside its text; the exact count is taken on the rendered text."""


@dataclass(slots=True)
class _Trace:
    """One retrieve under way: what was found and how long each stage took."""

    started: float
    timings: dict[str, float]

    def mark(self, stage: str) -> None:
        """Note that a stage ended."""
        now = time.perf_counter()
        self.timings[stage] = round((now - self.started) * 1e3 - sum(self.timings.values()), 3)


class RetrievalService:
    """Answers questions about one workspace. Reads only, but for the query log."""

    def __init__(
        self,
        database: Database,
        graph: GraphStore,
        sources: Sources,
        freshness: FreshnessCheck,
        tokens: TokenCounter,
        clock: Clock,
        tuning: Tuning,
    ) -> None:
        self._database = database
        self._graph = graph
        self._sources = sources
        self._freshness = freshness
        self._tokens = tokens
        self._clock = clock
        self._tuning = tuning
        self._statistics = Statistics(database)
        self._logging: set[asyncio.Task[None]] = set()

    async def retrieve(
        self, workspace_id: str, query: str, options: RetrieveOptions, whole: bool = True
    ) -> ContextBundle:
        """What a model should see for this query, within the budget, with reasons.

        Without `whole` the budget is not applied: the items are wanted as places, not as text.
        A source that fails makes the answer partial. Raises `InvalidInput` for a query or options that can't be
        served, `StoreUnavailable` when SQL does not answer: never an empty bundle instead of an error.
        """
        check_options(options)
        question = understand(query, options)
        trace = _Trace(time.perf_counter(), {})
        repositories = await self._repositories(workspace_id, options)
        statistics = await self._statistics.of(workspace_id, [(r.id, r.revision) for r in repositories])
        trace.mark("understand")
        answers, freshness = await asyncio.gather(
            self._sources.ask(workspace_id, question, options, statistics.idf), self._freshness.of(repositories)
        )
        trace.mark("sources")
        items, omitted = await self._items(workspace_id, question, options, answers, statistics, repositories, trace)
        kept, dropped, budget = self._fit(items, options) if whole else (items, [], BudgetReport(0, 0))
        trace.mark("budget")
        bundle = _bundle(question, kept, omitted + dropped, budget, freshness, answers, trace)
        if options.explain:
            bundle = replace(bundle, explanation=_explain(question, answers, statistics, self._tuning))
        self._log(workspace_id, bundle, answers)
        return bundle

    async def drain(self) -> None:
        """Wait for query-log entries that are still being written."""
        await asyncio.gather(*self._logging)

    async def _repositories(self, workspace_id: str, options: RetrieveOptions) -> list[Repository]:
        async with self._database.reading(workspace_id) as work:
            everything = await work.repositories.list()
        if not options.repository_ids:
            return everything
        wanted = set(options.repository_ids)
        missing = wanted - {repository.id for repository in everything}
        if missing:
            raise RecordNotFound(f"no repository {min(missing)!r} in this workspace")
        return [repository for repository in everything if repository.id in wanted]

    async def _items(
        self,
        workspace_id: str,
        question: Question,
        options: RetrieveOptions,
        answers: Answers,
        statistics: TermStatistics,
        repositories: Sequence[Repository],
        trace: _Trace,
    ) -> tuple[list[ContextItem], list[Omission]]:
        names = name_evidence(question, answers.named, question.wants_tests)
        found = gather(answers, names)
        async with self._database.reading(workspace_id) as work:
            files = sorted({file for scores in found.files.values() for file in scores})
            found.files[Source.PRIOR] = await work.chunks.prior(files)
            ranked = self._rank(found, options)
            seeds = [(one.node_id, one.score) for one in ranked[: options.limit]]
            reached = await expand(self._graph, workspace_id, seeds, options) if options.include_semantic else []
            considered = ranked[: CONSIDERED * options.limit]
            considered += [Ranked(way.node_id, way.score) for way in reached[: options.limit]]
            trace.mark("rank")
            rows = await load(work, considered, found)
        titles = {node.id: node.title for node in rows.nodes.values()}
        ways = {way.node_id: (describe(way, titles),) for way in reached}
        considered = [replace(one, ways=ways.get(one.node_id, ())) for one in considered]
        stale = self._freshness.stale_items({r.id: r for r in repositories}, rows.files)
        judge = Judge(question, statistics.idf, names, found, self._tuning.relevance)
        items = build(considered, rows, judge, options, stale, self._clock.now())
        trace.mark("rows")
        return select(items, options, names.exact)

    def _rank(self, found: FileEvidence, options: RetrieveOptions) -> list[Ranked]:
        files = rank_files(found, self._tuning.weights, options.fusion) if options.include_semantic else []
        scores = {file.key: file.score for file in files}
        parts = {file.key: file.parts for file in files}
        owner = {**found.owner}
        placed = place(scores, node_scores(found, self._tuning.weights), owner)
        ranked = [Ranked(one.node_id, one.score, parts[one.file_id]) for one in placed if one.score > 0]
        if options.include_episodic:
            best = max(scores.values(), default=1.0)
            share = EPISODE_SHARE * best
            ranked += [
                Ranked(commit, share * score, {Source.EPISODE.value: share * score})
                for commit, score in found.episodes.items()
            ]
        return sorted(ranked, key=lambda one: (-one.score, one.node_id))

    def _fit(
        self, items: Sequence[ContextItem], options: RetrieveOptions
    ) -> tuple[list[ContextItem], list[Omission], BudgetReport]:
        """Items that fit, in their order; sections share the budget, and what is used is counted as rendered."""
        by_id = {item.id: item for item in items}
        sections: dict[str, list[token_budget.Sized]] = {}
        for item in items:
            sized = token_budget.Sized(item.id, item.token_count + RENDER_OVERHEAD_TOKENS, item.relevance)
            sections.setdefault(prompts.section_of(item).value, []).append(sized)
        allocation = token_budget.allocate(sections, (), options.max_tokens)
        admitted = [item.id for item in items if item.id in set(allocation.admitted)]
        fitted = token_budget.fit_rendered(
            admitted,
            lambda keys: prompts.render_data([by_id[key] for key in keys]) if keys else "",
            self._tokens.count,
            options.max_tokens,
        )
        kept = [by_id[key] for key in fitted.kept]
        dropped = [_omission(item, OmissionReason.BUDGET) for item in items if item.id not in set(fitted.kept)]
        by_section: dict[str, int] = {}
        for item in kept:
            section = prompts.section_of(item).value
            by_section[section] = by_section.get(section, 0) + item.token_count + RENDER_OVERHEAD_TOKENS
        report = BudgetReport(options.max_tokens, fitted.used, by_section, self._tokens.is_estimate)
        return kept, dropped, report

    def _log(self, workspace_id: str, bundle: ContextBundle, answers: Answers) -> None:
        """Write the query log behind the answer."""
        record = {
            "result": bundle.result,
            "items": [[item.id, round(item.score, 5), round(item.relevance, 4)] for item in bundle.items],
            "sources": {
                source.value: [[hit.node_id, round(hit.score, 4)] for hit in hits]
                for source, hits in answers.hits.items()
            },
            "failed": dict(answers.failed),
        }
        task = asyncio.create_task(self._write_log(workspace_id, bundle.query, record))
        self._logging.add(task)
        task.add_done_callback(self._logging.discard)

    async def _write_log(self, workspace_id: str, query: str, record: Mapping[str, object]) -> None:
        try:
            async with self._database.writing(workspace_id) as work:
                await work.queries.add(str(uuid.uuid4()), self._clock.now(), query, record)
        except TenureError as error:
            _LOG.warning("the query log was not written", reason=str(error))


def check_options(options: RetrieveOptions) -> None:
    """`InvalidInput` for options outside their bounds, and for a scope that would silently mean everything."""
    if not MIN_LIMIT <= options.limit <= MAX_LIMIT:
        raise InvalidInput(f"limit must be between {MIN_LIMIT} and {MAX_LIMIT}, not {options.limit}")
    if not 0 <= options.max_tokens <= MAX_MAX_TOKENS:
        raise InvalidInput(f"max_tokens must be between 0 and {MAX_MAX_TOKENS}, not {options.max_tokens}")
    if not 0 <= options.graph_depth <= MAX_GRAPH_DEPTH:
        raise InvalidInput(f"graph_depth must be between 0 and {MAX_GRAPH_DEPTH}, not {options.graph_depth}")
    if not 0 <= options.relevance_threshold <= 1:
        raise InvalidInput(f"relevance_threshold must be between 0 and 1, not {options.relevance_threshold}")
    if any(not entry.strip() for entry in (*options.file_scope, *options.repository_ids)):
        raise InvalidInput("an empty entry in a scope never means everything; leave the scope out instead")


def select(
    items: Sequence[ContextItem], options: RetrieveOptions, exact: Mapping[str, float]
) -> tuple[list[ContextItem], list[Omission]]:
    """The items that may be shown, and why the others may not."""
    shown: list[ContextItem] = []
    omitted: list[Omission] = []
    for item in items:
        reason = _refusal(item, options, exact)
        if reason is None and len(shown) >= options.limit:
            reason = OmissionReason.LIMIT
        if reason is None:
            shown.append(item)
        else:
            omitted.append(_omission(item, reason))
    return shown, omitted


def _refusal(item: ContextItem, options: RetrieveOptions, exact: Mapping[str, float]) -> OmissionReason | None:
    if item.state is NodeState.QUARANTINED:
        return OmissionReason.QUARANTINE
    if item.state is NodeState.ARCHIVED and exact.get(item.id, 0.0) < 1.0:
        return OmissionReason.SCOPE
    if not options.include_procedural and item.kind is MemoryKind.PROCEDURAL:
        return OmissionReason.SCOPE
    if item.relevance < options.relevance_threshold:
        return OmissionReason.THRESHOLD
    return None


def _omission(item: ContextItem, reason: OmissionReason) -> Omission:
    return Omission(item.id, item.title, reason, item.score)


def _bundle(
    question: Question,
    items: Sequence[ContextItem],
    omitted: Sequence[Omission],
    budget: BudgetReport,
    freshness: Sequence[Freshness],
    answers: Answers,
    trace: _Trace,
) -> ContextBundle:
    best = max((item.relevance for item in items), default=0.0)
    result = "hit" if is_hit(best) else "miss"
    trace.timings["total"] = round((time.perf_counter() - trace.started) * 1e3, 3)
    return ContextBundle(
        query=question.text,
        items=tuple(items),
        result=result,
        budget=budget,
        freshness=tuple(freshness),
        omitted=tuple(omitted[:OMISSIONS_SHOWN]),
        omitted_count=len(omitted),
        failed_sources=dict(answers.failed),
        is_partial=bool(answers.failed),
        hints=tuple(_hints(result, items, freshness)),
        timings_ms=trace.timings,
    )


def _hints(result: str, items: Sequence[ContextItem], freshness: Sequence[Freshness]) -> list[str]:
    """What a reader of this answer has to know before concluding from it."""
    hints = []
    if not freshness:
        hints.append("no repository is indexed in this workspace yet")
    left_out = sum(entry.files_left_out for entry in freshness)
    if result == "miss" and left_out:
        hints.append(f"{left_out} paths are left out of the index; `tenure status` names them with reasons")
    for entry in freshness:
        if entry.is_stale:
            hints.append(f"{entry.name}: {entry.detail or 'the index is behind the tree'}")
        if entry.files_pending:
            hints.append(f"{entry.name}: {entry.files_pending} files are still to be indexed")
    if any(item.is_stale for item in items):
        hints.append("items marked stale changed on disk since they were indexed")
    return hints


def _explain(question: Question, answers: Answers, statistics: TermStatistics, tuning: Tuning) -> dict[str, object]:
    return {
        "title": question.title,
        "identifiers": list(question.mentions.identifiers),
        "paths": [mention.path for mention in question.mentions.paths],
        "hits": {source.value: len(hits) for source, hits in answers.hits.items()},
        "documents": statistics.documents,
        "weights": dict(tuning.weights),
        "weights_version": tuning.version,
        "relevance_model": tuning.relevance.version,
    }
