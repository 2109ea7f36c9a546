"""What history says about each file: the words of the commits that touched it, and how much it is worked on."""

import math
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from heapq import nlargest

from tenure.code.history import Commit, present_paths
from tenure.code.identifiers import term_counts
from tenure.core.sparse import Sparse, pack

DECAY_PER_COMMIT = 0.9995
"""What a commit's words weigh per later commit: half after 1,386 commits."""

MAX_PROFILE_TERMS = 400
"""The heaviest terms of a profile; lighter ones are dropped."""


def profiles(commits: Sequence[Commit], present: AbstractSet[str]) -> tuple[dict[str, bytes], dict[str, float]]:
    """(profile, prior) of every file of `present` that one of `commits` (newest first) touched.

    A profile is a packed sparse vector of length 1: each commit adds its terms' counts × `DECAY_PER_COMMIT`^age / √files.
    Age is counted from the newest commit of that file, so commits elsewhere leave a profile as it is, byte for byte. A
    file whose commits say nothing has none. The prior is the sum of `DECAY_PER_COMMIT`^(commits since).
    """
    names = present_paths(commits, present)
    newest: dict[str, int] = {}
    words: defaultdict[str, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    priors: defaultdict[str, float] = defaultdict(float)
    for age, commit in enumerate(commits):
        touched = names[commit.sha]
        counts = _counts(commit.message) if touched else ()
        for path in touched:
            priors[path] += DECAY_PER_COMMIT**age
            weight = DECAY_PER_COMMIT ** (age - newest.setdefault(path, age)) / math.sqrt(commit.files)
            profile = words[path]
            for index, count in counts:
                profile[index] += weight * count
    return {path: _packed(profile) for path, profile in words.items() if profile}, dict(priors)


def _counts(message: str) -> Sequence[tuple[int, int]]:
    return list(term_counts(message).items())


def _packed(profile: dict[int, float]) -> bytes:
    """The heaviest terms in order of their index, scaled to length 1."""
    heaviest = sorted(nlargest(MAX_PROFILE_TERMS, profile.items(), key=lambda item: (item[1], item[0])))
    length = math.sqrt(math.fsum(value * value for _, value in heaviest))
    return pack(Sparse([index for index, _ in heaviest], [value / length for _, value in heaviest]))
