"""What may be asked and what may be shown: bounds of options, scopes, reasons of omission, hints. Pure."""

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tenure.code.roles import is_test_path
from tenure.core.context import (
    MAX_GRAPH_DEPTH,
    MAX_LIMIT,
    MAX_MAX_TOKENS,
    MIN_LIMIT,
    ContextItem,
    Freshness,
    Omission,
    OmissionReason,
    RetrieveOptions,
)
from tenure.core.errors import InvalidInput
from tenure.core.memory import MemoryKind, Node, NodeState, Source
from tenure.retrieval.items import Candidate
from tenure.retrieval.scope import is_in_paths


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
    scopes = (*options.file_scope, *options.directory_scope, *options.repository_ids, *options.languages)
    if any(not entry.strip(" /") for entry in scopes):
        raise InvalidInput("an empty entry in a scope never means everything; leave the scope out instead")


def in_tree(options: RetrieveOptions, roots: Sequence[str]) -> RetrieveOptions:
    """The options with the paths of their scopes as the index spells them: relative to their repository's root (one of
    `roots`), without `.` and doubled slashes; `.` itself is the whole tree. Languages are lower-case.
    """
    return replace(
        options,
        file_scope=tuple(_in_tree(path, roots) for path in options.file_scope),
        directory_scope=tuple(_in_tree(path, roots) for path in options.directory_scope),
        languages=tuple(language.lower() for language in options.languages),
    )


def _in_tree(path: str, roots: Sequence[str]) -> str:
    tidy = posixpath.normpath(path)
    root = next((root for root in roots if tidy == root or tidy.startswith(f"{root.rstrip('/')}/")), None)
    inside = tidy.lstrip("/") if root is None else posixpath.relpath(tidy, root)
    return "" if inside == "." else inside


def scope_hints(options: RetrieveOptions, found: int, shown: int) -> list[str]:
    """Why an answer is empty, where the options are the reason."""
    if shown:
        return []
    if found:
        return [f"max_tokens {options.max_tokens} holds none of the {found} items that were found; raise it"]
    if options.file_scope or options.directory_scope or options.languages:
        return ["nothing was found in this scope; paths are relative to the repository's root, as in `src/app.py`"]
    return []


def select(
    candidates: Sequence[Candidate],
    options: RetrieveOptions,
    exact: Mapping[str, float],
    relevance: Callable[[Candidate], float],
) -> tuple[list[Candidate], list[Omission]]:
    """The candidates that may be shown, and why the others may not. `relevance` is asked only where a threshold is set."""
    shown: list[Candidate] = []
    omitted: list[Omission] = []
    for one in candidates:
        reason = _refusal(one.node, options, exact)
        if reason is None and options.relevance_threshold > 0 and relevance(one) < options.relevance_threshold:
            reason = OmissionReason.THRESHOLD
        if reason is None and len(shown) >= options.limit:
            reason = OmissionReason.LIMIT
        if reason is None:
            shown.append(one)
        else:
            omitted.append(Omission(one.node.id, one.node.title, reason, one.score))
    return shown, omitted


def _refusal(node: Node, options: RetrieveOptions, exact: Mapping[str, float]) -> OmissionReason | None:
    if node.state is NodeState.QUARANTINED:
        return OmissionReason.QUARANTINE
    if node.state is NodeState.ARCHIVED and exact.get(node.id, 0.0) < 1.0:
        return OmissionReason.SCOPE
    if not options.include_procedural and node.kind is MemoryKind.PROCEDURAL:
        return OmissionReason.SCOPE
    return None


def omission(item: ContextItem, reason: OmissionReason) -> Omission:
    """The note that a candidate was left out."""
    return Omission(item.id, item.title, reason, item.score)


def is_out_of_scope(source: Source, language: str, options: RetrieveOptions, wants_tests: bool) -> bool:
    """What names or the graph led to outside the scope that was asked for; the searches are scoped in the store."""
    if source.path is None:
        return False
    if not is_in_paths(source.path, options):
        return True
    if options.languages and language not in options.languages:
        return True
    if options.repository_ids and source.repository_id not in options.repository_ids:
        return True
    return is_test_path(source.path) and not wants_tests


def hints(result: str, items: Sequence[ContextItem], freshness: Sequence[Freshness]) -> list[str]:
    """What a reader of this answer has to know before concluding from it."""
    found = []
    if not freshness:
        found.append("no repository is indexed in this workspace yet")
    left_out = sum(entry.files_left_out for entry in freshness)
    if result == "miss" and left_out:
        paths = "1 path is" if left_out == 1 else f"{left_out} paths are"
        found.append(f"{paths} left out of the index; `tenure status` names them with reasons")
    waiting = sum(entry.chunks_without_vector for entry in freshness)
    if result == "miss" and waiting:
        found.append(
            f"{waiting} passages have no dense vector yet: a question in other words than the code's is found by them"
        )
    for entry in freshness:
        if entry.is_stale or entry.detail:
            found.append(f"{entry.name}: {entry.detail or 'the index is behind the tree'}")
        if entry.files_pending:
            found.append(f"{entry.name}: {entry.files_pending} files are still to be indexed")
    if any(item.is_stale for item in items):
        found.append("items marked stale changed on disk since they were indexed")
    return found
