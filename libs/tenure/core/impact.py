"""What else changes with a file: clues from history, names, imports and content, summed with fixed weights.

The weights come from a softmax regression over 1,564 questions of four repositories, each left out in turn
(`docs/benchmarks.md`); `tenure bench impact` measures them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tenure.core.cochange import ChangeHistory
from tenure.core.likeness import ContentIndex, PathNames


class Clue(StrEnum):
    """A sign that a file changes with the given ones."""

    TOGETHER = "together"
    NEARBY = "nearby"
    RECENT = "recent"
    NAME = "name"
    IMPORT = "import"
    CONTENT = "content"


WEIGHTS: Mapping[Clue, float] = {
    Clue.TOGETHER: 0.85,
    Clue.NEARBY: 2.3,
    Clue.RECENT: 1.1,
    Clue.NAME: 0.8,
    Clue.IMPORT: 0.6,
    Clue.CONTENT: 2.0,
}
"""What a clue counts when it is as strong as it is for any candidate."""

_ROOTED = frozenset({Clue.TOGETHER, Clue.NEARBY, Clue.RECENT})
"""Clues whose values spread over orders of magnitude: their square root is taken, or one file would hide all others."""

SHORTLIST = 200
"""Candidates, best first by all other clues, whose content is compared: enough for any list that is shown, and a bound
on the time of one question.
"""


class Scored(NamedTuple):
    """A candidate; `score` in [0, 1] is the sum of `parts`, the clues that spoke for it."""

    path: str
    score: float
    parts: Mapping[str, float]


class ImportGraph:
    """Which files of a repository import which, as (importer, imported) pairs; a file's import of itself is passed over."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._imported: dict[str, set[str]] = {}
        self._importers: dict[str, set[str]] = {}
        for importer, imported in pairs:
            if importer != imported:
                self._imported.setdefault(importer, set()).add(imported)
                self._importers.setdefault(imported, set()).add(importer)

    def imports(self, path: str, others: Iterable[str]) -> bool:
        """Whether the file imports one of the others."""
        return not self._imported.get(path, set()).isdisjoint(others)

    def closeness(self, seeds: Iterable[str]) -> dict[str, float]:
        """For each file that imports a seed or is imported by one: 1 over the root of the product of both files' numbers of
        neighbours, summed over the seeds. What everything imports is close to nothing. Seeds are left out.
        """
        given = set(seeds)
        close: dict[str, float] = {}
        for seed in sorted(given):
            mine = self._neighbours(seed)
            for path in mine - given:
                close[path] = close.get(path, 0.0) + 1.0 / math.sqrt(len(mine) * len(self._neighbours(path)))
        return close

    def _neighbours(self, path: str) -> set[str]:
        return self._imported.get(path, set()) | self._importers.get(path, set())


@dataclass(frozen=True, slots=True)
class Ties:
    """What links the files of one repository and language. `names` holds the paths of all candidates."""

    history: ChangeHistory
    names: PathNames
    imports: ImportGraph
    contents: ContentIndex


def rank(ties: Ties, seeds: Sequence[str]) -> list[Scored]:
    """Every candidate but the seeds, best first, ties by path. Equal ties and seeds give equal answers."""
    given = set(seeds)
    candidates = [path for path in ties.names.paths() if path not in given]
    clues: dict[Clue, Mapping[str, float]] = {
        Clue.TOGETHER: ties.history.together(given),
        Clue.NEARBY: ties.history.walk(given),
        Clue.RECENT: ties.history.recent(),
        Clue.NAME: ties.names.likeness(given),
        Clue.IMPORT: ties.imports.closeness(given),
    }
    scored = combine(clues, candidates)
    shortlist, others = scored[:SHORTLIST], scored[SHORTLIST:]
    alike = ties.contents.likeness(sorted(given), [one.path for one in shortlist])
    # More can only lift the shortlist further above the others, so their order stands.
    content = {one.path: one for one in combine({Clue.CONTENT: alike}, [one.path for one in shortlist])}
    return _ordered([_sum(one, content[one.path]) for one in shortlist]) + others


def strength(scored: Scored, clue: Clue) -> float:
    """How much a clue spoke for a candidate, in [0, 1], 1 for the one for which it spoke most."""
    return scored.parts.get(clue.value, 0.0) * sum(WEIGHTS.values()) / WEIGHTS[clue]


def combine(clues: Mapping[Clue, Mapping[str, float]], candidates: Sequence[str]) -> list[Scored]:
    """Each clue divided by its maximum over the candidates, weighted and summed; best first, ties by path.

    A clue that speaks for no candidate counts nothing; what it says about others than the candidates is passed over.
    """
    whole = sum(WEIGHTS.values())
    parts: dict[str, dict[str, float]] = {path: {} for path in candidates}
    for clue, values in clues.items():
        best = max((values.get(path, 0.0) for path in candidates), default=0.0)
        if best <= 0:
            continue
        weight = WEIGHTS[clue] / whole
        for path, value in values.items():
            if value > 0 and path in parts:
                share = math.sqrt(value / best) if clue in _ROOTED else value / best
                parts[path][clue.value] = weight * share
    return _ordered([Scored(path, math.fsum(found.values()), found) for path, found in parts.items()])


def _sum(one: Scored, more: Scored) -> Scored:
    return Scored(one.path, one.score + more.score, {**one.parts, **more.parts})


def _ordered(scored: Iterable[Scored]) -> list[Scored]:
    return sorted(scored, key=lambda one: (-one.score, one.path))
