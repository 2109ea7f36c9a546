"""The retrieval service: from a question to a context bundle, a prompt, or what else changes."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from tenure.core import prompts, token_budget
from tenure.core.context import (
    BudgetReport,
    ContextBundle,
    ContextItem,
    Freshness,
    Omission,
    OmissionReason,
    RankedFile,
    RetrieveOptions,
)
from tenure.core.errors import RecordNotFound, StoreUnavailable
from tenure.core.fusion import Fused
from tenure.core.relevance import is_hit
from tenure.ports.clock import Clock
from tenure.ports.graph_store import GraphStore
from tenure.ports.models import TokenCounter
from tenure.ports.records import Repository
from tenure.ports.repositories import Database, UnitOfWork
from tenure.retrieval.admission import check_options, hints, in_tree, is_out_of_scope, omission, scope_hints, select
from tenure.retrieval.evidence import FileEvidence, gather, rank_files
from tenure.retrieval.expansion import Reached, expand, told, with_origins
from tenure.retrieval.freshness import FreshnessCheck
from tenure.retrieval.items import Candidate, Judge, Rows, build, in_order, load, owner_of, reasons
from tenure.retrieval.naming import AskedNames, NameEvidence, asked_names, name_evidence, wants_tests
from tenure.retrieval.query_log import QueryLogWriter
from tenure.retrieval.question import Masses, Question, understand
from tenure.retrieval.ranking import Ranked, nodes_to_place, rank_nodes, with_episodes
from tenure.retrieval.sources import Answers, Sources
from tenure.retrieval.statistics import Statistics, TermStatistics
from tenure.retrieval.together import both
from tenure.retrieval.tuning import Tuning

CONSIDERED = 2
"""Candidates whose rows are read, for each item asked for: some will be left out."""
LOGGED_HITS = 60
"""Hits of each source that the query log keeps: what tuning replays."""
OMISSIONS_SHOWN = 50
"""Left-out candidates that are listed; all are counted."""
RENDER_OVERHEAD_TOKENS = 70
"""Tokens of an item's fence with ids and title, beside its text; the exact count is taken on the rendered text."""


WorkingMemoryOf = Callable[[str, str, str | None], Awaitable[prompts.WorkingMemory]]
"""(workspace id, session id, reader) to what the session is about; `RecordNotFound` for a session of somebody else."""


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """One question with everything that was found for it."""

    workspace_id: str
    question: Question
    masses: Masses
    options: RetrieveOptions
    asked: AskedNames
    names: NameEvidence
    found: FileEvidence
    files: Sequence[Fused]
    statistics: TermStatistics
    tuning: Tuning


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
        working_memory: WorkingMemoryOf,
    ) -> None:
        self._database = database
        self._graph = graph
        self._sources = sources
        self._freshness = freshness
        self._tokens = tokens
        self._clock = clock
        self._tuning = tuning
        self._working_memory = working_memory
        self._statistics = Statistics(database)
        self._log_writer = QueryLogWriter(database, clock)

    async def retrieve(
        self,
        workspace_id: str,
        query: str,
        options: RetrieveOptions,
        whole: bool = True,
        tuning: Tuning | None = None,
        reader: str | None = None,
    ) -> ContextBundle:
        """What a model should see for this query, within the budget, with reasons.

        Without `whole` the budget is not applied: the items are wanted as places, not as text. `tuning` answers with
        other weights than the service's own. `reader` is the principal who asks, None for the person at this machine.

        A source that fails makes the answer partial. Raises `InvalidInput` for a query or options that can't be
        served, `RecordNotFound` for a repository that is not in the workspace and for a session that the reader did not
        begin, `StoreUnavailable` when SQL or every source does not answer: never an empty bundle instead of an error.
        """
        check_options(options)
        await self.working_memory(workspace_id, options.session_id, reader)
        tuning = tuning or self._tuning
        trace = _Trace(time.perf_counter(), {})
        everything = await self._repositories(workspace_id)
        repositories = _wanted(everything, options)
        options = in_tree(options, [repository.root for repository in repositories])
        question = understand(query, options)
        statistics = await self._statistics.of(workspace_id, [(r.id, r.indexed_at) for r in everything])
        trace.mark("understand")
        asked = asked_names(question)
        answers, freshness = await both(
            self._sources.ask(
                workspace_id,
                question,
                options,
                asked.code_like,
                statistics.idf,
                lambda named: wants_tests(question, asked, named, options),
            ),
            self._freshness.of(repositories),
        )
        question = replace(question, wants_tests=answers.wants_tests)
        trace.mark("sources")
        if answers.are_silent:
            reasons_given = "; ".join(f"{name}: {reason}" for name, reason in answers.failed.items())
            raise StoreUnavailable(f"no source answered this question; ask again ({reasons_given})")
        masses = Masses.of(question, statistics.idf)
        names = name_evidence(question, asked, answers.named)
        found = gather(answers, names, masses.title)
        files = rank_files(found, tuning.weights, tuning.auxiliary_weight, options.fusion)
        inquiry = _Inquiry(workspace_id, question, masses, options, asked, names, found, files, statistics, tuning)
        async with self._database.reading(workspace_id) as work:
            ranked = await _rank(work, inquiry)
        # Not inside: the graph may need a connection of its own, and many questions at once would wait for each other.
        considered, ways = await self._considered(inquiry, ranked)
        trace.mark("rank")
        async with self._database.reading(workspace_id) as work:
            rows = await load(work, with_origins(considered, ways), found)
            candidates = self._candidates(inquiry, told(considered, ways, rows.nodes), rows, repositories)
            judge = Judge(masses, names, found, tuning.relevance)
            admitted, omitted = select(
                candidates, options, names.exact, lambda one: judge.relevance(one.node, rows.chunks.get(one.node.id))
            )
            shown = await build(work, admitted, rows, judge, self._tokens.count, options.explain)
        trace.mark("rows")
        kept, dropped, budget = self._fit(shown, options) if whole else (shown, [], BudgetReport(0, 0))
        trace.mark("budget")
        bundle = _bundle(question, shown, kept, omitted + dropped, budget, freshness, answers, trace)
        empty = scope_hints(options, len(shown), len(kept))
        bundle = replace(bundle, files=_ranked_files(files, found, options.limit), hints=(*bundle.hints, *empty))
        if options.explain:
            bundle = replace(bundle, explanation=_explain(inquiry, answers))
        self._log(workspace_id, bundle, answers)
        return bundle

    async def working_memory(
        self, workspace_id: str, session_id: str | None, reader: str | None
    ) -> prompts.WorkingMemory | None:
        """What the session of a question is about, None if it names none; `RecordNotFound` as in `retrieve`."""
        return None if session_id is None else await self._working_memory(workspace_id, session_id, reader)

    async def warm(self) -> None:
        """Load what the first question would wait for. `StoreUnavailable` if the embedder can't be loaded."""
        await self._sources.warm()

    async def close(self) -> None:
        """Finish query-log entries, end what else runs behind the answers."""
        await self._log_writer.close()
        await self._freshness.close()
        await self._statistics.close()

    async def drain(self) -> None:
        """Store the query-log entries that wait."""
        await self._log_writer.drain()

    async def _repositories(self, workspace_id: str) -> list[Repository]:
        async with self._database.reading(workspace_id) as work:
            return await work.repositories.list()

    async def _considered(self, inquiry: _Inquiry, ranked: Sequence[Ranked]) -> tuple[list[Ranked], dict[str, Reached]]:
        """Candidates in order, at their end what the graph led to, and how it did."""
        options = inquiry.options
        seeds = [(one.node_id, one.score) for one in ranked[: options.limit]]
        reached = await expand(self._graph, inquiry.workspace_id, seeds, options)
        if options.include_episodic:
            ranked = with_episodes(ranked, inquiry.found)
        best = ranked[: CONSIDERED * options.limit]
        known = {one.node_id for one in best}
        led_to = [Ranked(way.node_id, way.score) for way in reached[: options.limit] if way.node_id not in known]
        return [*best, *led_to], {way.node_id: way for way in reached}

    def _candidates(
        self, inquiry: _Inquiry, considered: Sequence[Ranked], rows: Rows, repositories: Sequence[Repository]
    ) -> list[Candidate]:
        """What is in scope, in order."""
        homes = {owner_of(node) or "": node.source.repository_id or "" for node in rows.nodes.values()}
        stale = self._freshness.stale_items({r.id: r for r in repositories}, rows.files, homes)
        languages = {state.path: state.language for state in rows.files.values()}
        options, wants_tests = inquiry.options, inquiry.question.wants_tests
        return [
            one
            for one in in_order(considered, rows, options, stale, self._clock.now())
            if not is_out_of_scope(one.node.source, languages.get(one.node.source.path or "", ""), options, wants_tests)
        ]

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
        dropped = [omission(item, OmissionReason.BUDGET) for item in items if item.id not in set(fitted.kept)]
        by_section: dict[str, int] = {}
        for item in kept:
            section = prompts.section_of(item).value
            by_section[section] = by_section.get(section, 0) + item.token_count + RENDER_OVERHEAD_TOKENS
        report = BudgetReport(options.max_tokens, fitted.used, by_section, self._tokens.is_estimate)
        return kept, dropped, report

    def _log(self, workspace_id: str, bundle: ContextBundle, answers: Answers) -> None:
        """Have the query log written behind the answer, and what it says of it made then."""
        self._log_writer.add(
            workspace_id,
            bundle.query,
            lambda: {
                "result": bundle.result,
                "items": [[item.id, round(item.score, 5), round(item.relevance, 4)] for item in bundle.items],
                "sources": {
                    source.value: [[hit.node_id, round(hit.score, 3)] for hit in hits[:LOGGED_HITS]]
                    for source, hits in answers.hits.items()
                },
                "failed": dict(answers.failed),
            },
        )


def _wanted(everything: list[Repository], options: RetrieveOptions) -> list[Repository]:
    """The repositories that are asked; `RecordNotFound` for one that is not among them."""
    if not options.repository_ids:
        return everything
    wanted = set(options.repository_ids)
    missing = wanted - {repository.id for repository in everything}
    if missing:
        raise RecordNotFound(f"no repository {min(missing)!r} in this workspace")
    return [repository for repository in everything if repository.id in wanted]


async def _rank(work: UnitOfWork, inquiry: _Inquiry) -> list[Ranked]:
    """The nodes that may stand in the answer, in order."""
    found, names = inquiry.found, inquiry.names
    placed = nodes_to_place(inquiry.files, found, names) if inquiry.options.include_semantic else []
    places = (await work.nodes.places(placed)).values()
    return rank_nodes(places, inquiry.files, found, names, inquiry.asked, inquiry.question, inquiry.masses)


def _bundle(
    question: Question,
    shown: Sequence[ContextItem],
    items: Sequence[ContextItem],
    omitted: Sequence[Omission],
    budget: BudgetReport,
    freshness: Sequence[Freshness],
    answers: Answers,
    trace: _Trace,
) -> ContextBundle:
    # What was found decides, not how much of it fitted.
    best = max((item.relevance for item in shown), default=0.0)
    result = "hit" if is_hit(best) else "miss"
    behind = {item.repository_id for item in shown if item.is_stale}
    freshness = [replace(one, is_stale=one.is_stale or one.repository_id in behind) for one in freshness]
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
        hints=tuple(hints(result, items, freshness)),
        timings_ms=trace.timings,
    )


def _explain(inquiry: _Inquiry, answers: Answers) -> dict[str, object]:
    return {
        "title": inquiry.question.title,
        "names": list(inquiry.asked.code_like),
        "paths": [mention.path for mention in inquiry.question.mentions.paths],
        "hits": {source.value: len(hits) for source, hits in answers.hits.items()},
        "documents": inquiry.statistics.documents,
        "weights": dict(inquiry.tuning.weights),
        "weights_version": inquiry.tuning.version,
        "relevance_model": inquiry.tuning.relevance.version,
    }


def _ranked_files(files: Sequence[Fused], found: FileEvidence, limit: int) -> tuple[RankedFile, ...]:
    return tuple(
        RankedFile(file.key, found.paths.get(file.key, ""), file.score, file.parts, reasons(file.parts))
        for file in files[:limit]
        if file.score > 0
    )
