"""The packed form of dense vectors: little-endian float32."""

import struct
from collections.abc import Sequence

_BYTES_A_NUMBER = 4


def pack_dense(vector: Sequence[float]) -> bytes:
    """The vector as bytes, four a number."""
    return struct.pack(f"<{len(vector)}f", *vector)


def unpack_dense(data: bytes) -> Sequence[float]:
    """The inverse of `pack_dense`."""
    return struct.unpack(f"<{len(data) // _BYTES_A_NUMBER}f", data)
