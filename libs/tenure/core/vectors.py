"""The packed form of dense vectors: little-endian float32."""

import array
import sys
from collections.abc import Sequence


def pack_dense(vector: Sequence[float]) -> bytes:
    """The vector as bytes, four a number."""
    values = array.array("f", vector)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def unpack_dense(data: bytes) -> Sequence[float]:
    """The inverse of `pack_dense`."""
    values = array.array("f", data)
    if sys.byteorder == "big":
        values.byteswap()
    return values
