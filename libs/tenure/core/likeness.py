"""How alike two files are by name and by content, without looking at their history."""

import math
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from tenure.core.sparse import unpack

_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_EVERYWHERE = frozenset({"src", "test", "tests", "testing", "init"})
"""Parts of paths that tell what a file is for and not what it is about: a test and its source are alike without them."""
_PATHS_REMEMBERED = 65_536


class PathNames:
    """The paths of one repository; a part that few of them have says more than one that all have."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._parts = {path: path_parts(path) for path in paths}
        frequencies = Counter(part for parts in self._parts.values() for part in parts)
        self._rarity = {part: math.log1p(len(self._parts) / count) for part, count in frequencies.items()}
        self._having: dict[str, list[str]] = {}
        for path, parts in self._parts.items():
            for part in parts:
                self._having.setdefault(part, []).append(path)
        self._total = {path: self._sum(parts) for path, parts in self._parts.items()}

    def __contains__(self, path: object) -> bool:
        return path in self._parts

    def paths(self) -> list[str]:
        """All paths, in the order in which they were given."""
        return list(self._parts)

    def likeness(self, seeds: Iterable[str]) -> dict[str, float]:
        """The likeness in (0, 1] of each path to the seed that is most like it: the weight of common parts over the
        weight of all parts of both. Seeds, and paths that have nothing in common with them, are left out.
        """
        given = {seed for seed in seeds if seed in self._parts}
        best: dict[str, float] = {}
        for seed in given:
            for path, common in self._common(seed).items():
                share = common / (self._total[seed] + self._total[path] - common)
                if share > best.get(path, 0.0):
                    best[path] = share
        return {path: share for path, share in best.items() if path not in given}

    def _common(self, seed: str) -> dict[str, float]:
        common: dict[str, float] = {}
        for part in self._parts[seed]:
            rarity = self._rarity[part]
            for path in self._having[part]:
                common[path] = common.get(path, 0.0) + rarity
        return common

    def _sum(self, parts: Iterable[str]) -> float:
        return math.fsum(self._rarity[part] for part in parts)


@lru_cache(maxsize=_PATHS_REMEMBERED)
def path_parts(path: str) -> frozenset[str]:
    """The words of a path in lower case, suffix left out: `src/flask/jsonTag.py` gives flask, json, tag."""
    stem = posixpath.splitext(path)[0]
    return frozenset(part.lower() for part in _PART.findall(stem)) - _EVERYWHERE


class ContentIndex:
    """The packed sparse vectors (`tenure.core.sparse`) of one repository's files, kept up to date file by file."""

    def __init__(self) -> None:
        self._vectors: dict[str, bytes] = {}
        self._frequencies: Counter[int] = Counter()
        self._lengths: dict[str, float] = {}

    def __contains__(self, path: object) -> bool:
        return path in self._vectors

    def put(self, path: str, vector: bytes) -> None:
        """Take in a file, or its new content."""
        self.drop(path)
        self._vectors[path] = vector
        self._frequencies.update(unpack(vector).indices)
        self._lengths.clear()

    def drop(self, path: str) -> None:
        """Take out a file; one that is not there is passed over."""
        vector = self._vectors.pop(path, None)
        if vector is not None:
            indices = unpack(vector).indices
            self._frequencies.subtract(indices)
            for index in indices:
                if not self._frequencies[index]:
                    del self._frequencies[index]
            self._lengths.clear()

    def likeness(self, seeds: Iterable[str], candidates: Iterable[str]) -> dict[str, float]:
        """The cosine, above 0 and at most the number of seeds, of each candidate with the seeds' vectors added up; each
        term counts by its weight in the file times ln(files / files that have it). Seeds are left out.
        """
        given = [seed for seed in dict.fromkeys(seeds) if seed in self._vectors]
        wanted = self._sum(given)
        found: dict[str, float] = {}
        for path in candidates:
            if path not in self._vectors or path in given:
                continue
            vector, length = unpack(self._vectors[path]), self._length(path)
            pairs = zip(vector.indices, vector.values, strict=True)
            product = sum([wanted[index] * value for index, value in pairs if index in wanted])
            if product > 0 and length > 0:
                found[path] = product / length
        return found

    def _sum(self, seeds: Iterable[str]) -> Mapping[int, float]:
        """The seeds' unit vectors added up, times the rarity once more: a candidate's bare weights are multiplied with it."""
        total: dict[int, float] = {}
        for seed in seeds:
            vector, length = unpack(self._vectors[seed]), self._length(seed)
            if length == 0:
                continue
            for index, value in zip(vector.indices, vector.values, strict=True):
                total[index] = total.get(index, 0.0) + value * self._rarity(index) ** 2 / length
        return total

    def _length(self, path: str) -> float:
        known = self._lengths.get(path)
        if known is None:
            vector = unpack(self._vectors[path])
            pairs = zip(vector.indices, vector.values, strict=True)
            known = math.sqrt(sum([(value * self._rarity(index)) ** 2 for index, value in pairs]))
            self._lengths[path] = known
        return known

    def _rarity(self, index: int) -> float:
        return math.log(len(self._vectors) / self._frequencies[index])
