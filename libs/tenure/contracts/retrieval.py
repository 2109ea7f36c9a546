"""Questions and context bundles on the wire."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from tenure.contracts.wire import Chosen, Listed, Shown, Wire, WireRequest
from tenure.core import context
from tenure.core.context import FusionMethod, IncludeTests, OmissionReason, RecencyDecay
from tenure.core.memory import EdgeType, MemoryKind, NodeState, NodeType, Trust


class RetrieveRequest(WireRequest):
    """A question with its options; each default is that of SPEC section 4."""

    query: str = Field(max_length=context.MAX_QUERY_CHARS)
    limit: int = Field(default=context.DEFAULT_LIMIT, ge=context.MIN_LIMIT, le=context.MAX_LIMIT)
    include_semantic: bool = True
    include_episodic: bool = True
    include_procedural: bool = True
    max_tokens: int = Field(default=context.DEFAULT_MAX_TOKENS, ge=0, le=context.MAX_MAX_TOKENS)
    relevance_threshold: float = Field(default=0.0, ge=0, le=1)
    recency_decay: Chosen[RecencyDecay] = RecencyDecay.EXPONENTIAL
    file_scope: Listed[str] = Field(default=(), max_length=1000)
    directory_scope: Listed[str] = Field(default=(), max_length=1000)
    repository_ids: Listed[str] = Field(default=(), max_length=100)
    languages: Listed[str] = Field(default=(), max_length=100)
    session_id: str | None = None
    graph_depth: int = Field(default=1, ge=0, le=context.MAX_GRAPH_DEPTH)
    preferred_edges: Listed[Chosen[EdgeType]] = ()
    include_tests: Chosen[IncludeTests] = IncludeTests.AUTO
    fusion: Chosen[FusionMethod] | None = None
    explain: bool = False

    def options(self, default_fusion: FusionMethod) -> context.RetrieveOptions:
        """The options as the service takes them."""
        values = {name: getattr(self, name) for name in RetrieveRequest.model_fields if name not in {"query", "fusion"}}
        return context.RetrieveOptions(**values, fusion=self.fusion or default_fusion)


class ItemOut(Wire):
    """One memory of the answer."""

    id: str
    type: NodeType
    kind: MemoryKind
    title: Shown
    text: Shown
    token_count: int
    score: float
    relevance: float
    parts: Mapping[str, float]
    why: tuple[Shown, ...]
    trust: Trust
    state: NodeState
    age_days: float
    repository_id: str | None
    path: Shown | None
    qualified_name: Shown | None
    line: int | None
    start_line: int | None
    end_line: int | None
    content_hash: str | None
    commit: str | None
    is_stale: bool
    warning: Shown | None


class OmissionOut(Wire):
    """A candidate that was left out, and why."""

    id: str
    title: Shown
    reason: OmissionReason
    score: float


class FreshnessOut(Wire):
    """How far one repository's index is behind."""

    repository_id: str
    name: Shown
    branch: Shown | None
    commit: str | None
    is_stale: bool
    files_pending: int
    files_left_out: int
    chunks_without_vector: int
    detail: Shown


class BudgetOut(Wire):
    """Tokens asked for and used."""

    max_tokens: int
    used: int
    by_section: Mapping[str, int]
    is_estimated: bool


class RankedFileOut(Wire):
    """A file in the order of the files."""

    id: str
    path: Shown
    score: float
    parts: Mapping[str, float]
    why: tuple[Shown, ...]


class BundleOut(Wire):
    """The answer of `retrieve`. `result` is `hit` if the best item's relevance is above one half, else `miss`."""

    query: Shown
    result: str
    items: tuple[ItemOut, ...]
    files: tuple[RankedFileOut, ...]
    budget: BudgetOut
    freshness: tuple[FreshnessOut, ...]
    omitted: tuple[OmissionOut, ...]
    omitted_count: int
    is_partial: bool
    failed_sources: Mapping[str, Shown]
    hints: tuple[Shown, ...]
    timings_ms: Mapping[str, float]
    explanation: Mapping[str, Any] | None


class SearchHit(Wire, extra="ignore"):
    """A hit of `search`: where, what and how sure, without the text."""

    id: str
    type: NodeType
    title: Shown
    repository_id: str | None
    path: Shown | None
    line: int | None
    start_line: int | None
    end_line: int | None
    score: float
    relevance: float
    why: tuple[Shown, ...]
    commit: str | None
    is_stale: bool


class SearchOut(Wire):
    """The hits of `search`, best first, with what is needed to judge an empty list."""

    result: str
    hits: tuple[SearchHit, ...]
    freshness: tuple[FreshnessOut, ...]
    is_partial: bool
    failed_sources: Mapping[str, Shown]
    hints: tuple[Shown, ...]


class PromptRequest(RetrieveRequest):
    """A question whose context is to be rendered; `history_tokens` and `tool_tokens` are charged first."""

    history_tokens: int = Field(default=0, ge=0)
    tool_tokens: int = Field(default=0, ge=0)


class MessageOut(Wire):
    """A chat message."""

    role: str
    content: Shown


class PromptOut(Wire):
    """A rendered prompt with the bundle it was made of."""

    messages: tuple[MessageOut, ...]
    token_count: int
    bundle: BundleOut


class ImpactRequest(WireRequest):
    """Files of one repository, by path; what else changes with them is asked."""

    repository_id: str
    paths: Listed[str] = Field(min_length=1, max_length=50)
    limit: int = Field(default=context.DEFAULT_LIMIT, ge=context.MIN_LIMIT, le=context.MAX_LIMIT)


class ImpactItemOut(Wire):
    """A file that changes with the given ones, and the evidence."""

    file_id: str
    path: Shown
    score: float
    parts: Mapping[str, float]
    why: tuple[Shown, ...]


class ImpactOut(Wire):
    """Files by score; `unresolved` counts references to the given files' names that could not be resolved, so that a
    short list is not read as proof that nothing else depends on them.
    """

    items: tuple[ImpactItemOut, ...]
    unresolved: int
    hints: tuple[Shown, ...]
