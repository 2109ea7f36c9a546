"""Questions that may depend on each other in circles, answered the same whatever was asked before.

An answer is remembered only if no circle, no limit of depth and no limit of cost cut anything off on the way: such an
answer does not depend on where the asking began. Others are remembered only as answers to a question that is asked
first, with none open. A remembered answer is charged the depth and cost of working it out, so limits bite at the same
place with and without memory.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

MAX_HOPS = 40
"""Questions open at once: longer chains of aliases, re-exports or base classes count as unknown. Real code needs six;
each takes about six frames of Python's stack of a thousand."""

MAX_COST = 1_000
"""Questions asked for the sake of one: against code made to explode. the dearest of Django costs 34, of SymPy 87."""

MAX_FILE_COST = 2_000_000
"""Questions asked for one file, remembered ones included: some ten seconds at worst, far beyond what real files
need."""

Answer = TypeVar("Answer")


class _Known(NamedTuple):
    answer: object
    keys: frozenset[str]
    height: int
    cost: int


class _Memory:
    """Answers that hold everywhere, and answers that hold for questions asked first."""

    __slots__ = ("anywhere", "first")

    def __init__(self) -> None:
        self.anywhere: dict[Hashable, _Known] = {}
        self.first: dict[Hashable, _Known] = {}

    def clear(self) -> None:
        self.anywhere.clear()
        self.first.clear()


class Questions:
    """The open questions, with the keys that they looked up, and the remembered answers."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self._shared = _Memory()
        self._own = _Memory()
        self._open: set[Hashable] = set()
        self._height = 0
        self._is_cut = False
        self._spent = 0
        self._spent_on_file = 0

    def forget(self) -> None:
        """Drop all answers: something that they rest on has changed."""
        self._shared.clear()
        self._own.clear()

    def begin(self) -> None:
        """Start on a file: nothing open, no keys yet, no answers that rest on another file's own definitions."""
        self.keys = set()
        self._own.clear()
        self._open.clear()
        self._height, self._is_cut = 0, False
        self._spent_on_file = 0

    def ask(self, question: Hashable, work: Callable[[], Answer], otherwise: Answer, *, is_own: bool) -> Answer:
        """The remembered answer, or that of `work`; `otherwise` if the question is open already, too deep or too dear.

        `is_own` marks questions about the file at hand, whose answers are dropped with it.
        """
        memory = self._own if is_own else self._shared
        if not self._open:
            return self._ask_first(question, work, otherwise, memory)
        known = memory.anywhere.get(question)
        if known is not None and len(self._open) + known.height <= MAX_HOPS and self._spent + known.cost <= MAX_COST:
            self.keys |= known.keys
            self._height = max(self._height, known.height)
            self._spent += known.cost
            return known.answer  # type: ignore[return-value]  # equal questions have answers of one type
        if question in self._open or len(self._open) >= MAX_HOPS or self._spent >= MAX_COST:
            self._is_cut = True
            return otherwise
        keys, height, is_cut = self.keys, self._height, self._is_cut
        fresh = self._work(question, work, memory)
        self.keys = keys | fresh.keys
        self._height, self._is_cut = max(height, fresh.height), is_cut or self._is_cut
        return fresh.answer  # type: ignore[return-value]  # it is what `work` returned

    def _ask_first(self, question: Hashable, work: Callable[[], Answer], otherwise: Answer, memory: _Memory) -> Answer:
        if self._spent_on_file >= MAX_FILE_COST:
            return otherwise
        known = memory.anywhere.get(question) or memory.first.get(question)
        if known is None:
            keys, self._spent = self.keys, 0
            known = self._work(question, work, memory)
            memory.first[question] = known
            self.keys = keys
        self.keys |= known.keys
        self._spent_on_file += known.cost
        return known.answer  # type: ignore[return-value]  # equal questions have answers of one type

    def _work(self, question: Hashable, work: Callable[[], Answer], memory: _Memory) -> _Known:
        """Work the answer out, with counts of its own; leaves in `_is_cut` whether anything was cut off."""
        self.keys, self._height, self._is_cut = set(), 0, False
        before = self._spent
        self._spent += 1
        self._open.add(question)
        answer = work()
        self._open.discard(question)
        known = _Known(answer, frozenset(self.keys), self._height + 1, self._spent - before)
        if not self._is_cut:
            memory.anywhere[question] = known
        return known
