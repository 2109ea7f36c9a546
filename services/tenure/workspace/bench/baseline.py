"""The fixed baseline of `localize`: BM25 over whole files, computed from the same texts in the same run."""

import math
from collections.abc import Mapping

from tenure.code.identifiers import term_counts

K1, B = 1.2, 0.75


class FileBm25:
    """BM25 with k1 1.2 and b .75 over sub-tokens and whole identifiers, the path in the text."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[str, dict[int, int], int]] = {}

    def keep(self, hashes: Mapping[str, str]) -> list[str]:
        """Forget files that are gone or changed; returns the paths whose text is needed."""
        self._counts = {p: known for p, known in self._counts.items() if hashes.get(p) == known[0]}
        return [path for path in hashes if path not in self._counts]

    def add(self, path: str, content_hash: str, text: str) -> None:
        """Count a file."""
        counts = term_counts(f"{path}\n{text}")
        self._counts[path] = (content_hash, counts, sum(counts.values()))

    def rank(self, query: str) -> list[str]:
        """Paths by score, ties by path."""
        wanted = term_counts(query)
        total = len(self._counts)
        average = sum(length for _, _, length in self._counts.values()) / max(total, 1)
        frequency = {term: sum(term in counts for _, counts, _ in self._counts.values()) for term in wanted}
        idf = {term: math.log1p((total - df + 0.5) / (df + 0.5)) for term, df in frequency.items()}
        scores = {}
        for path, (_, counts, length) in self._counts.items():
            norm = K1 * (1 - B + B * length / average)
            scores[path] = math.fsum(
                idf[term] * times * counts[term] * (K1 + 1) / (counts[term] + norm)
                for term, times in wanted.items()
                if term in counts
            )
        return sorted(scores, key=lambda path: (-scores[path], path))
