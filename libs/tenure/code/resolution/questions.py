"""Questions that may depend on each other in circles, answered the same whatever was asked before.

An answer is remembered only if neither a circle nor the limit of depth cut anything off on the way: such an answer
does not depend on where the asking began. All others are worked out afresh each time.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

MAX_HOPS = 40
"""Questions open at once: longer chains of aliases, re-exports or base classes count as unknown. Real code needs six;
each takes about six frames of Python's stack of a thousand."""

Answer = TypeVar("Answer")


class _Known(NamedTuple):
    answer: object
    keys: frozenset[str]
    height: int


class Questions:
    """The open questions, with the keys that they looked up, and the remembered answers."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self._known: dict[Hashable, _Known] = {}
        self._own: dict[Hashable, _Known] = {}
        self._open: set[Hashable] = set()
        self._height = 0
        self._is_cut = False

    def forget(self) -> None:
        """Drop all answers: something that they rest on has changed."""
        self._known.clear()
        self._own.clear()

    def begin(self) -> None:
        """Start on a file: nothing open, no keys yet, no answers that rest on another file's own definitions."""
        self.keys = set()
        self._open.clear()
        self._height, self._is_cut = 0, False
        self._own.clear()

    def ask(self, question: Hashable, work: Callable[[], Answer], otherwise: Answer, *, is_own: bool) -> Answer:
        """The remembered answer, or that of `work`; `otherwise` if the question is open already or too deep.

        `is_own` marks questions about the file at hand, whose answers are dropped with it.
        """
        memory = self._own if is_own else self._known
        known = memory.get(question)
        if known is not None and len(self._open) + known.height <= MAX_HOPS:
            self.keys |= known.keys
            self._height = max(self._height, known.height)
            return known.answer  # type: ignore[return-value]  # equal questions have answers of one type
        if question in self._open or len(self._open) >= MAX_HOPS:
            self._is_cut = True
            return otherwise
        keys, height, is_cut = self.keys, self._height, self._is_cut
        self.keys, self._height, self._is_cut = set(), 0, False
        self._open.add(question)
        answer = work()
        self._open.discard(question)
        if not self._is_cut:
            memory[question] = _Known(answer, frozenset(self.keys), self._height + 1)
        self.keys, self._height, self._is_cut = keys | self.keys, max(height, self._height + 1), is_cut or self._is_cut
        return answer
