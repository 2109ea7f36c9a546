"""How many tokens the embedding model sees in a text: a cheap estimate on the safe side.

The real tokenizer (WordPiece) belongs to the model's adapter and reads 1 MB/s. What it does can be told from the
outside: every punctuation mark is a token, a short word mostly one, a long or odd word one per two to four letters.
"""

import re

from tenure.code.words import only_marks, only_words

MODEL_TOKENS = 256
"""Tokens that the embedding model reads of one text, its two marks at the ends included."""

SAFETY = 1.3
"""Most that the real count exceeds the estimate: of 10,000 chunks of Python and prose 99.9 % stay below; the rest are
cut at the end by the model, by a few tokens."""

CHUNK_COST = (MODEL_TOKENS - 2) / SAFETY
"""What the text of one chunk, headers included, may cost."""

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^\sA-Za-z0-9]")

_MEAN_COST = (0.0, 1.0, 1.06, 1.17, 1.16, 1.3, 1.4, 1.42, 1.6, 1.76, 2.05, 2.4, 2.7, 2.95, 3.6)
"""Tokens of an ASCII word by its length, up to 14 letters; measured."""

_PER_FURTHER_LETTER = 0.45
_PER_DIGIT = 0.5
_PER_LETTER = 0.75
"""A letter of an alphabet other than the Latin one, or a Latin one with an accent."""
_PER_WIDE_LETTER = 1.05
"""A Han or kana character is a token of its own."""
_PER_HANGUL = 2.6
"""A Hangul syllable falls apart into its two or three letters."""

_MAX_CACHED = 200_000


class _Costs(dict[str, float]):
    """Cost by word or piece, computed once; emptied when full, so that blobs can't fill the memory."""

    def __missing__(self, word: str) -> float:
        if len(self) >= _MAX_CACHED:
            self.clear()
        cost = self[word] = sum(map(_piece_cost, _PIECE.findall(word)))
        return cost


def _piece_cost(piece: str) -> float:
    first = piece[0]
    if not first.isascii():
        return _foreign_cost(ord(first)) if first.isalnum() else 1.0
    if first.isdigit():
        return max(1.0, _PER_DIGIT * len(piece))
    if not first.isalpha():
        return 1.0
    known = len(_MEAN_COST) - 1
    return _MEAN_COST[min(len(piece), known)] + _PER_FURTHER_LETTER * max(0, len(piece) - known)


def _foreign_cost(code: int) -> float:
    if 0xAC00 <= code <= 0xD7A3:
        return _PER_HANGUL
    return _PER_WIDE_LETTER if code >= 0x2E80 else _PER_LETTER


_cost_of = _Costs().__getitem__


def cost(text: str) -> float:
    """The mean number of embedding tokens of texts like this one; additive over lines. Compare with `CHUNK_COST`."""
    if not text.isascii():
        return sum(map(_cost_of, _PIECE.findall(text)))
    return sum(map(_cost_of, only_words(text).split())) + len(only_marks(text)) - text.count("\n")


def is_within(text: str, room: float) -> bool:
    """Whether the `cost` of the text is at most `room`; a short text is not even counted."""
    return (len(text) <= room and text.isascii()) or cost(text) <= room


def row_costs(text: str) -> list[float]:
    """The `cost` of each line of a text; lines in ASCII take a fifth of the time."""
    rows = zip(only_words(text).split("\n"), only_marks(text).split(b"\n"), strict=True)
    costs = [sum(map(_cost_of, words.split())) + len(marks) for words, marks in rows]
    if not text.isascii():
        for row, line in enumerate(text.split("\n")):
            if not line.isascii():
                costs[row] = cost(line)
    return costs
