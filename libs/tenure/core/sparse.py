"""Sparse term vectors: hashing of terms, BM25 term weights, and their packed form."""

import array
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

FILE_AVERAGE_LENGTH = 1000.0
"""Terms of a whole file, path included: 770 is the mean of all texts of Django, source files of libraries are longer."""
CHUNK_AVERAGE_LENGTH = 64.0
"""Terms of a chunk, header and path included: 62 is the mean of Django's."""

_BIG_ENDIAN = sys.byteorder == "big"


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector: `indices` are unique unsigned 32-bit term hashes, `values` their weights."""

    indices: Sequence[int]
    values: Sequence[float]


@lru_cache(maxsize=1 << 17)
def term_index(term: str) -> int:
    """The dimension of a term: CRC-32 of its UTF-8, the same in every process and on every machine."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def bm25_weights(counts: Mapping[str, int], average_length: float, k1: float = 1.2, b: float = 0.75) -> Sparse:
    """BM25's term-frequency part for one text, without the inverse document frequency, which the store applies.

    `average_length` is a constant of the space, so a text's vector never depends on the other texts.
    Terms that hash alike add up.
    """
    length = sum(counts.values())
    norm = k1 * (1.0 - b + b * length / average_length)
    weights: dict[int, float] = {}
    for term, count in counts.items():
        index = term_index(term)
        weights[index] = weights.get(index, 0.0) + count * (k1 + 1.0) / (count + norm)
    return Sparse(list(weights), list(weights.values()))


def bm25_of_indices(counts: Mapping[int, int], average_length: float, k1: float = 1.2, b: float = 0.75) -> Sparse:
    """`bm25_weights` where terms are counted by their index already; terms that hash alike count as one."""
    norm = k1 * (1.0 - b + b * sum(counts.values()) / average_length)
    top = k1 + 1.0
    return Sparse(list(counts), [count * top / (count + norm) for count in counts.values()])


def query_weights(terms: Iterable[str]) -> Sparse:
    """A query's vector: every distinct term weighs 1, the store multiplies by its inverse document frequency."""
    indices = list(dict.fromkeys(term_index(term) for term in terms))
    return Sparse(indices, [1.0] * len(indices))


def pack(vector: Sparse) -> bytes:
    """Little-endian uint32 indices, then float32 values."""
    indices, values = array.array("I", vector.indices), array.array("f", vector.values)
    if _BIG_ENDIAN:
        indices.byteswap()
        values.byteswap()
    return indices.tobytes() + values.tobytes()


def unpack(data: bytes) -> Sparse:
    """The inverse of `pack`."""
    half = len(data) // 2
    indices, values = array.array("I", data[:half]), array.array("f", data[half:])
    if _BIG_ENDIAN:
        indices.byteswap()
        values.byteswap()
    return Sparse(indices, values)
