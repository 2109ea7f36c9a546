"""What a sync has to do: the difference between a discovered tree and the index. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tenure.code.languages.registry import NOTEBOOK, PYTHON, language_of
from tenure.code.model import Candidate
from tenure.ports.records import FileState

BATCH_FILES = 500
"""Files of one transaction: large enough to amortise its cost, small enough that a kill loses a few seconds of work."""
FIRST_BATCH_FILES = 50
"""Files of the first transaction of a large sync, each further one twice as large: storing begins while most is to be
parsed.
"""
BATCH_BYTES = 8 * 1024 * 1024
"""Source bytes of one transaction, for the same reason."""
_CODE = frozenset({PYTHON, NOTEBOOK})
"""Languages whose references are resolved."""


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """`suspects` have to be read: their signature, parser version or presence differs. `removed` are ids of files
    that are no longer there, `removed_paths` their paths. `is_full` says that the whole tree is read again.
    """

    suspects: list[Candidate]
    removed: list[str]
    removed_paths: list[str]
    unchanged: int
    is_full: bool

    @property
    def is_empty(self) -> bool:
        """True if the index already is what the tree is, as far as signatures tell."""
        return not self.suspects and not self.removed


def plan_sync(
    candidates: Sequence[Candidate],
    states: Sequence[FileState],
    parser_version: str,
    full: bool = False,
    full_pass_rate: float = 1.0,
) -> SyncPlan:
    """The plan that makes the index equal the tree.

    More changed files than `full_pass_rate` of the tree make
    a full pass: everything is read again, hashes decide what is written.
    """
    known = {state.path: state for state in states}
    suspects = [c for c in candidates if full or _differs(c, known.get(c.path), parser_version)]
    present = {candidate.path for candidate in candidates}
    removed = [state for state in states if state.path not in present]
    changed = len(suspects) + len(removed)
    is_full = full or (bool(states) and changed > full_pass_rate * max(len(candidates), 1))
    if is_full:
        suspects = list(candidates)
    return SyncPlan(
        suspects=suspects,
        removed=[state.id for state in removed],
        removed_paths=[state.path for state in removed],
        unchanged=len(candidates) - len(suspects),
        is_full=is_full,
    )


def code_first(candidates: Iterable[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """(what looks like source code by its name, all else), each in order: references can be resolved while the rest is
    prepared. Code that only its first line tells comes with the rest, and is resolved later.
    """
    code: list[Candidate] = []
    rest: list[Candidate] = []
    for candidate in candidates:
        (code if language_of(candidate.path) in _CODE else rest).append(candidate)
    return code, rest


def batches(candidates: Iterable[Candidate], first: int = BATCH_FILES) -> Iterator[list[Candidate]]:
    """Candidates in order, cut into batches bounded by number (`first` for the first one, twice as many for each further
    one) and bytes; no batch is empty.
    """
    batch: list[Candidate] = []
    size, most = 0, first
    for candidate in candidates:
        if batch and (len(batch) >= most or size + candidate.size > BATCH_BYTES):
            yield batch
            batch, size, most = [], 0, min(2 * most, BATCH_FILES)
        batch.append(candidate)
        size += candidate.size
    if batch:
        yield batch


def is_same(state: FileState | None, content_hash: str, parser_version: str) -> bool:
    """True if the content was parsed by this parser already, so only the signature has to be noted."""
    return state is not None and state.content_hash == content_hash and state.parser_version == parser_version


def by_path(states: Iterable[FileState]) -> Mapping[str, FileState]:
    """States by path."""
    return {state.path: state for state in states}


def _differs(candidate: Candidate, state: FileState | None, parser_version: str) -> bool:
    return state is None or state.signature != candidate.signature or state.parser_version != parser_version
