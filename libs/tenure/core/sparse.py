"""Sparse term vectors: hashing of terms, BM25 term weights, and their packed form."""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

FILE_AVERAGE_LENGTH = 2000.0
"""Terms of a source file of a library, path included."""
CHUNK_AVERAGE_LENGTH = 120.0
"""Terms of a full chunk, header and path included."""
FILE_K1, CHUNK_K1, LENGTH_B = 2.0, 1.2, 0.75
"""How slowly repetition saturates, slower in whole files, and how much length counts (docs/benchmarks.md)."""

_BYTES_A_TERM = 8


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector: `indices` are unique unsigned 32-bit term hashes, `values` their weights."""

    indices: Sequence[int]
    values: Sequence[float]


@lru_cache(maxsize=1 << 17)
def term_index(term: str) -> int:
    """The dimension of a term: CRC-32 of its UTF-8, the same in every process and on every machine."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def bm25_weights(counts: Mapping[int, int], average_length: float, k1: float = CHUNK_K1) -> Sparse:
    """BM25's term-frequency part for one text, without the inverse document frequency, which the store applies.

    `counts` are by term index; terms that hash alike count as one. `average_length` is a constant of the space, so a
    text's vector never depends on the other texts.
    """
    numbers = counts.values()
    norm = k1 * (1.0 - LENGTH_B + LENGTH_B * sum(numbers) / average_length)
    top = k1 + 1.0
    weights = {count: count * top / (count + norm) for count in set(numbers)}
    return Sparse(list(counts), list(map(weights.__getitem__, numbers)))


def pack(vector: Sparse) -> bytes:
    """Little-endian uint32 indices, then float32 values."""
    number = len(vector.indices)
    return struct.pack(f"<{number}I{number}f", *vector.indices, *vector.values)


def packed_indices(data: bytes) -> tuple[int, ...]:
    """The indices of a packed vector, without its values."""
    number = len(data) // _BYTES_A_TERM
    return struct.unpack_from(f"<{number}I", data)


def unpack(data: bytes) -> Sparse:
    """The inverse of `pack`."""
    number = len(data) // _BYTES_A_TERM
    numbers = struct.unpack(f"<{number}I{number}f", data)
    return Sparse(numbers[:number], numbers[number:])
