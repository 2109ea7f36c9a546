"""What a repository's history says about files that change together (SPEC section 5, `impact`).

Ages count commits, not days: a quiet year takes nothing away from what was learned before it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

TOGETHER_HALF_AGE = 50
"""Commits after which a common change counts half; hyperbolic, so that old evidence never vanishes."""
RECENT_HALF_AGE = 5
"""Commits after which a change counts half as a sign that a file is being worked on."""
WALK_RESTART = 0.5
"""Share of the walk that starts anew at each step: the walk stays near the given files."""
WALK_STEPS = 8
"""Steps of the walk; with half of it starting anew, what is further away weighs less than one in 256."""


@dataclass(frozen=True, slots=True)
class PastChange:
    """One commit. `files` are those it touched that are still there, each once, under their present names; `size` counts
    its files as they were, those that are gone included.
    """

    files: Sequence[str]
    size: int


class ChangeHistory:
    """The commits of one repository, newest first, prepared for questions. Files without a commit have no evidence."""

    def __init__(self, changes: Sequence[PastChange]) -> None:
        kept = [(age, change) for age, change in enumerate(changes) if change.files]
        names = list(dict.fromkeys(chain.from_iterable(change.files for _, change in kept)))
        number = {name: index for index, name in enumerate(names)}
        self._names = names
        self._number = number
        self._ages = [age for age, _ in kept]
        self._files = [[number[name] for name in change.files] for _, change in kept]
        self._shares = [_share(age, change) for age, change in kept]
        self._commits: list[list[int]] = [[] for _ in names]
        for commit, files in enumerate(self._files):
            for file in files:
                self._commits[file].append(commit)
        self._recent = self._recency()
        self._paths = _Paths(self._files, self._shares, len(names))

    def __contains__(self, name: object) -> bool:
        return name in self._number

    def together(self, seeds: Iterable[str]) -> dict[str, float]:
        """How strongly each file changed with one of the seeds: new and small commits say most. Seeds are left out."""
        total: dict[int, float] = {}
        given = self._given(seeds)
        for seed in given:
            for commit in self._commits[seed]:
                share = self._shares[commit]
                for file in self._files[commit]:
                    total[file] = total.get(file, 0.0) + share
        return {self._names[file]: score for file, score in total.items() if file not in given}

    def walk(self, seeds: Iterable[str]) -> dict[str, float]:
        """How often a random walk from the seeds, along common changes, is at each file: reaches what changed with what
        changed with them. Seeds are left out; all values are positive and sum up to at most 1.
        """
        given = self._given(seeds)
        if not given:
            return {}
        mass = self._paths.walk(given)
        return {self._names[file]: share for file, share in enumerate(mass) if share > 0 and file not in given}

    def recent(self) -> dict[str, float]:
        """How much each file was changed lately, whatever is asked about."""
        return dict(zip(self._names, self._recent, strict=True))

    def times_together(self, seeds: Iterable[str]) -> Counter[str]:
        """In how many commits each file changed with at least one of the seeds. Seeds are left out."""
        given = self._given(seeds)
        commits = {commit for seed in given for commit in self._commits[seed]}
        counts = Counter(file for commit in commits for file in self._files[commit])
        return Counter({self._names[file]: times for file, times in counts.items() if file not in given})

    def last_together(self, seeds: Iterable[str], file: str) -> int | None:
        """The place in the history (0 is the newest commit) of the last common change, None if there was none."""
        if file not in self._number:
            return None
        commits = {commit for seed in self._given(seeds) for commit in self._commits[seed]}
        common = commits.intersection(self._commits[self._number[file]])
        return self._ages[min(common)] if common else None

    def _given(self, seeds: Iterable[str]) -> set[int]:
        return {self._number[seed] for seed in seeds if seed in self._number}

    def _recency(self) -> list[float]:
        weights = [1.0 / (1.0 + age / RECENT_HALF_AGE) for age in self._ages]
        return [sum(weights[commit] for commit in commits) for commits in self._commits]


class _Paths:
    """Common changes as paths between files. Commits of the same files are one path; those of one file are none."""

    def __init__(self, commits: Sequence[Sequence[int]], shares: Sequence[float], files: int) -> None:
        joined: dict[tuple[int, ...], float] = {}
        for members, share in zip(commits, shares, strict=True):
            if len(members) > 1:
                key = tuple(sorted(members))
                joined[key] = joined.get(key, 0.0) + share
        self._members = list(joined)
        self._shares = list(joined.values())
        self._through: list[list[int]] = [[] for _ in range(files)]
        for path, members in enumerate(self._members):
            for file in members:
                self._through[file].append(path)
        self._own = [sum([self._shares[path] for path in paths]) for paths in self._through]
        self._degree = [
            sum([self._shares[path] * (len(self._members[path]) - 1) for path in paths]) for paths in self._through
        ]

    def walk(self, seeds: Collection[int]) -> list[float]:
        """Where a walk that starts at the seeds, each as often, is after `WALK_STEPS` steps, by file."""
        start = [0.0] * len(self._through)
        for seed in seeds:
            start[seed] = 1.0 / len(seeds)
        mass = start
        for _ in range(WALK_STEPS):
            mass = self._step(mass, start)
        return mass

    def _step(self, mass: Sequence[float], start: Sequence[float]) -> list[float]:
        """One step for all files. A commit hands what flows into it to all its files, so a step costs the size of the
        history and not of all pairs; what a file would hand to itself is taken off again.
        """
        flow = [held / degree if degree else 0.0 for held, degree in zip(mass, self._degree, strict=True)]
        pools = [
            share * sum([flow[file] for file in members])
            for share, members in zip(self._shares, self._members, strict=True)
        ]
        return [
            WALK_RESTART * begun
            + (max(0.0, sum([pools[path] for path in paths]) - own * out) * (1.0 - WALK_RESTART) if paths else 0.0)
            for begun, paths, own, out in zip(start, self._through, self._own, flow, strict=True)
        ]


def _share(age: int, change: PastChange) -> float:
    """What one commit says about a pair of its files: a commit of many files says little about any two of them."""
    others = max(len(change.files), change.size) - 1
    return 1.0 / (1.0 + age / TOGETHER_HALF_AGE) / max(1, others)
