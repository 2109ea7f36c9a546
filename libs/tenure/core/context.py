"""What `retrieve` is asked and what it answers (SPEC section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from tenure.core.memory import EdgeType, MemoryKind, NodeState, NodeType, Trust

MIN_LIMIT, DEFAULT_LIMIT, MAX_LIMIT = 1, 20, 200
"""Items in one bundle."""
DEFAULT_MAX_TOKENS, MAX_MAX_TOKENS = 8_000, 89_600
"""Tokens for context after reserves; the upper bound is 128,000 - 12,800 - 25,600."""
MAX_QUERY_CHARS = 100_000
"""A longer query is refused: it is a file, not a question."""
MAX_GRAPH_DEPTH = 3


class RecencyDecay(StrEnum):
    """How age lowers an item's order."""

    NONE = "none"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"


class IncludeTests(StrEnum):
    """Whether tests may be answers; `auto` leaves them out unless the query or the scope names them."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"


class FusionMethod(StrEnum):
    """How the sources' scores become one."""

    RELATIVE_SCORE = "relative_score"
    RRF = "rrf"


class OmissionReason(StrEnum):
    """Why a candidate is not in the bundle."""

    BUDGET = "budget"
    THRESHOLD = "threshold"
    SCOPE = "scope"
    QUARANTINE = "quarantine"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class RetrieveOptions:
    """The options of one retrieve; see SPEC section 4 for each default."""

    limit: int = DEFAULT_LIMIT
    include_semantic: bool = True
    include_episodic: bool = True
    include_procedural: bool = True
    max_tokens: int = DEFAULT_MAX_TOKENS
    relevance_threshold: float = 0.0
    recency_decay: RecencyDecay = RecencyDecay.EXPONENTIAL
    file_scope: tuple[str, ...] = ()
    directory_scope: tuple[str, ...] = ()
    repository_ids: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    session_id: str | None = None
    graph_depth: int = 1
    preferred_edges: tuple[EdgeType, ...] = ()
    include_tests: IncludeTests = IncludeTests.AUTO
    fusion: FusionMethod = FusionMethod.RELATIVE_SCORE
    explain: bool = False


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One memory of the answer, with everything that says why it is here and how far to trust it.

    `line` is where the symbol is defined; `start_line` to `end_line` are the lines of `text`.
    """

    id: str
    type: NodeType
    kind: MemoryKind
    title: str
    text: str
    token_count: int
    score: float
    relevance: float
    parts: Mapping[str, float]
    why: tuple[str, ...]
    trust: Trust
    state: NodeState
    age_days: float
    repository_id: str | None = None
    path: str | None = None
    qualified_name: str | None = None
    line: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    content_hash: str | None = None
    commit: str | None = None
    is_stale: bool = False
    warning: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file in the order of the files: where to look first, whatever part of it is shown as an item."""

    id: str
    path: str
    score: float
    parts: Mapping[str, float]
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Omission:
    """A candidate that was left out."""

    id: str
    title: str
    reason: OmissionReason
    score: float


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far the index of one repository is behind what is on disk, as far as known; `detail` also says what it lacks."""

    repository_id: str
    name: str
    branch: str | None
    commit: str | None
    is_stale: bool
    files_pending: int
    files_left_out: int
    chunks_without_vector: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """Tokens asked for, charged first, and used by the rendered items."""

    max_tokens: int
    used: int
    by_section: Mapping[str, int] = field(default_factory=dict)
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class ContextBundle:
    """The answer of `retrieve`. `is_partial` is set when a source did not answer; `failed_sources` says which and why."""

    query: str
    items: tuple[ContextItem, ...]
    result: str
    budget: BudgetReport
    freshness: tuple[Freshness, ...]
    files: tuple[RankedFile, ...] = ()
    omitted: tuple[Omission, ...] = ()
    omitted_count: int = 0
    failed_sources: Mapping[str, str] = field(default_factory=dict)
    is_partial: bool = False
    hints: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    explanation: Mapping[str, Any] | None = None
