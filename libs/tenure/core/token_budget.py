"""Which items fit: reserves first, working memory next, then sections by what they are worth (SPEC section 4, token budget).

Whole items only, admitted by their precomputed counts; what is really used is counted on the rendered text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tenure.core.errors import InvalidInput

WORKING_SHARE = 0.25
"""Working memory takes at most this share of the context."""
SCORE_SHARE, FLOOR_SHARE = 0.8, 0.2
"""A section's weight: its score times the first, plus the second, so that a section with any content gets something."""
BEST_ITEMS = 5
"""A section's score is the mean relevance of so many of its best items."""


@dataclass(frozen=True, slots=True)
class Reserves:
    """Tokens that are charged before any context: the request, the session's history, the tool definitions."""

    request: int = 0
    history: int = 0
    tools: int = 0

    def total(self) -> int:
        """The sum. Raises InvalidInput when one is negative."""
        if min(self.request, self.history, self.tools) < 0:
            raise InvalidInput("Token reserves can't be negative; count the request, history and tools again.")
        return self.request + self.history + self.tools


@dataclass(frozen=True, slots=True)
class Sized:
    """A thing to admit: its key, the tokens of its rendering, and how relevant it is in [0, 1]."""

    key: str
    token_count: int
    relevance: float = 0.0


@dataclass(frozen=True, slots=True)
class Allocation:
    """What was admitted, in the order of admission (the last is the first to go), and what was left out.

    `by_section` counts the precomputed tokens of the admitted items; working memory is not a section.
    """

    working: tuple[str, ...]
    admitted: tuple[str, ...]
    left_out: tuple[str, ...]
    by_section: Mapping[str, int] = field(default_factory=dict)
    working_tokens: int = 0


def context_tokens(window: int, reserves: Reserves) -> int:
    """Tokens left for context in a window after the reserves. Raises InvalidInput when the reserves alone don't fit."""
    left = window - reserves.total()
    if left < 0:
        raise InvalidInput(
            f"Request, history and tool definitions take {reserves.total()} of {window} tokens; shorten the history or take a larger window."
        )
    return left


def section_weight(relevances: Sequence[float]) -> float:
    """A section's weight for sharing the budget, 0 when it has no items."""
    best = sorted(relevances, reverse=True)[:BEST_ITEMS]
    return SCORE_SHARE * sum(best) / len(best) + FLOOR_SHARE if best else 0.0


def _check(items: Sequence[Sized]) -> None:
    for item in items:
        if item.token_count < 0:
            raise InvalidInput(f"Item `{item.key}` has a negative token count; count it again.")
        if not 0.0 <= item.relevance <= 1.0:
            raise InvalidInput(f"Item `{item.key}` has relevance {item.relevance}; give a number from 0 to 1.")


def _working(items: Sequence[Sized], limit: int) -> tuple[list[str], int]:
    """Newest first; what doesn't fit is passed over."""
    taken, used = [], 0
    for item in items:
        if used + item.token_count <= limit:
            taken.append(item.key)
            used += item.token_count
    return taken, used


def _leading(items: Sequence[Sized], share: float) -> list[Sized]:
    """The items from the first on that fit into a section's own share; the first that doesn't ends it."""
    taken, used = [], 0
    for item in items:
        used += item.token_count
        if used > share:
            break
        taken.append(item)
    return taken


def allocate(sections: Mapping[str, Sequence[Sized]], working: Sequence[Sized], max_tokens: int) -> Allocation:
    """The items that fit into `max_tokens`, the same for the same arguments.

    `sections` hold their items best first, `working` newest first. Each section is filled from its best item on up to its
    share; then what is left over goes, by relevance, to the items of any section that fit. Keys are unique over all.
    Raises InvalidInput for a negative budget or count.
    """
    if max_tokens < 0:
        raise InvalidInput(f"`max_tokens` is {max_tokens}; give at least 0.")
    _check([*working, *(item for items in sections.values() for item in items)])
    taken_working, working_tokens = _working(working, int(max_tokens * WORKING_SHARE))
    left = max_tokens - working_tokens
    weights = {name: section_weight([item.relevance for item in items]) for name, items in sections.items()}
    whole = sum(weights.values())
    by_section = dict.fromkeys(sections, 0)
    admitted: list[str] = []
    waiting: list[tuple[float, int, int, str, Sized]] = []
    total = left
    for place, (name, items) in enumerate(sections.items()):
        leading = _leading(items, total * weights[name] / whole if whole else 0.0)
        for item in leading:
            admitted.append(item.key)
            by_section[name] += item.token_count
            left -= item.token_count
        waiting += [(-item.relevance, place, n, name, item) for n, item in enumerate(items) if n >= len(leading)]
    left_out: list[str] = []
    for _, _, _, name, item in sorted(waiting, key=lambda entry: entry[:3]):
        if item.token_count <= left:
            admitted.append(item.key)
            by_section[name] += item.token_count
            left -= item.token_count
        else:
            left_out.append(item.key)
    return Allocation(tuple(taken_working), tuple(admitted), tuple(left_out), by_section, working_tokens)


@dataclass(frozen=True, slots=True)
class Fitted:
    """The keys whose rendering fits, what had to go after all, the rendered text and its exact token count."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    text: str
    used: int


def fit_rendered(
    keys: Sequence[str], render: Callable[[Sequence[str]], str], count: Callable[[str], int], max_tokens: int
) -> Fitted:
    """The longest beginning of `keys` whose rendered text is within `max_tokens`, counted on that text.

    `render` makes the text of any beginning of `keys`; headings and fences are its own and count. When even the text
    without items is over, no item is kept and `used` says how much that is.
    """
    kept, dropped = list(keys), []
    text = render(kept)
    used = count(text)
    while used > max_tokens and kept:
        dropped.append(kept.pop())
        text = render(kept)
        used = count(text)
    return Fitted(tuple(kept), tuple(reversed(dropped)), text, used)
