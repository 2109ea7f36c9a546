"""What is asked: the query understood without a model. Pure."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tenure.code.identifiers import Mentions, mentions, term_counts
from tenure.code.masking import mask_free_text
from tenure.code.roles import is_test_path
from tenure.core.context import MAX_QUERY_CHARS, IncludeTests, RetrieveOptions
from tenure.core.errors import InvalidInput
from tenure.core.sparse import Sparse
from tenure.core.surrogates import REFUSAL, has_unpaired_surrogate
from tenure.retrieval.segments import Segments, segments, term_mass

MAX_QUERY_TERMS = 64
"""Distinct terms of one sparse query, the most telling ones: more cost time and change no answer."""
_TEST_WORDS = re.compile(
    r"\b(?:unit ?tests?|test (?:case|file|suite|class|module)s?|tests? for|conftest|fixtures?)\b", re.IGNORECASE
)
_KEYWORD = r"(?:class|def|async\s+def|function|method)\s+"
_ONE_NAME = re.compile(rf"(?:{_KEYWORD})?[`'\"“]?([^\W\d]\w*(?:\.[^\W\d]\w*)*)(?:\(\))?[`'\"”]?[?:]?")

Idf = Callable[[int], float]
"""Inverse document frequency of a term by its index."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query and its first line, as term weights, with what they name.

    `full_terms` weigh `ln(1 + mass)`, where later and pasted text counts less (`segments`); `title_terms` weigh
    `ln(1 + occurrences)` in the first line, a query of its own. `one_name`: the name that the question is, dotted or not,
    without quotes and call; `one_path`: the path that it is, with or without a line; each empty if it is anything else.
    """

    text: str
    parts: Segments
    full_terms: Mapping[int, float]
    title_terms: Mapping[int, float]
    mentions: Mentions
    wants_tests: bool
    one_name: str
    one_path: str

    @property
    def title(self) -> str:
        """The first line."""
        return self.parts.title

    @property
    def is_one_line(self) -> bool:
        """True if title and text are the same question."""
        return not self.parts.prose.strip() and not self.parts.code.strip()


def understand(query: str, options: RetrieveOptions) -> Question:
    """The question of a query. `InvalidInput` for one that says nothing, is too long or is no valid Unicode."""
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidInput(
            f"the query has {len(query)} characters, at most {MAX_QUERY_CHARS} are answered; send the part that asks"
        )
    if has_unpaired_surrogate(query):
        raise InvalidInput(f"the query {REFUSAL}")
    text = mask_free_text("".join(c if c.isprintable() or c in "\n\t" else " " for c in query)).strip()
    if not text:
        raise InvalidInput("the query is empty; say what you are looking for")
    parts = segments(text)
    full = {index: math.log1p(mass) for index, mass in term_mass(parts).items()}
    title = {index: math.log1p(count) for index, count in term_counts(parts.title).items()}
    named = mentions(text)
    name = _ONE_NAME.fullmatch(text)
    return Question(
        text=text,
        parts=parts,
        full_terms=full,
        title_terms=title or full,
        mentions=named,
        wants_tests=_wants_tests(parts.title, options),
        one_name=name[1] if name else "",
        one_path=named.paths[0].path if len(named.paths) == 1 and len(text.split()) == 1 else "",
    )


def sparse_query(weights: Mapping[int, float], idf: Idf) -> Sparse:
    """The query's vector of one space: its most telling terms. The store multiplies by its own idf."""
    heaviest = sorted(weights.items(), key=lambda item: (-item[1] * idf(item[0]), item[0]))[:MAX_QUERY_TERMS]
    return Sparse([index for index, _ in heaviest], [weight for _, weight in heaviest])


class IdfMass:
    """How the weighted idf mass of a query is spread over its terms."""

    def __init__(self, weights: Mapping[int, float], idf: Idf) -> None:
        self._mass = {index: weight * idf(index) for index, weight in weights.items()}
        self._whole = math.fsum(self._mass.values())

    def share(self, present: Iterable[int]) -> float:
        """The share of the mass whose terms are among these, in [0, 1]."""
        if not self._whole:
            return 0.0
        return math.fsum(map(self._mass.__getitem__, self._mass.keys() & present)) / self._whole


@dataclass(frozen=True, slots=True)
class Masses:
    """The idf mass of a question and of its first line, and the terms of both."""

    full: IdfMass
    title: IdfMass
    terms: frozenset[int]

    @classmethod
    def of(cls, question: Question, idf: Idf) -> "Masses":
        """The masses of a question under a workspace's frequencies."""
        full, title = IdfMass(question.full_terms, idf), IdfMass(question.title_terms, idf)
        return cls(full, title, frozenset(question.full_terms).union(question.title_terms))

    def shares(self, present: Iterable[int]) -> tuple[float, float]:
        """The shares of both whose terms are among these. Of the many terms of a text few are asked for."""
        asked = self.terms.intersection(present)
        return self.full.share(asked), self.title.share(asked)


@lru_cache(maxsize=1 << 13)
def term_indices(text: str) -> frozenset[int]:
    """The terms of a text, by index; names recur from question to question."""
    return frozenset(term_counts(text))


def _wants_tests(title: str, options: RetrieveOptions) -> bool:
    if options.include_tests is not IncludeTests.AUTO:
        return options.include_tests is IncludeTests.YES
    scoped = (*options.file_scope, *(f"{folder}/x" for folder in options.directory_scope))
    if any(is_test_path(path) for path in scoped):
        return True
    return _TEST_WORDS.search(title) is not None
