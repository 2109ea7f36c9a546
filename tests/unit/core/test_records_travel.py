"""Records come out of another process as they went in."""

import copy
import pickle
from datetime import UTC, datetime

import pytest

from tenure.core.memory import Chunk, Edge, EdgeType, MemoryKind, Node, NodeType, Record, Source, Trust

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SOURCE = Source("r", "a.py", "A.f", 1, 2, "hash")
NODE = Node(
    "n", "w", MemoryKind.SEMANTIC, NodeType.FUNCTION, "t", "", 7, NOON, NOON, SOURCE, {"doc": "x"}, Trust.CURATED
)
RECORDS = [SOURCE, NODE, Edge("n", "m", EdgeType.CALLS, "o", line=3), Chunk("c", "n", "o", 0, 1, 2, 0, 9, "h", 7, b"s")]


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_is_equal_after_pickling_and_copying(record: Record):
    assert pickle.loads(pickle.dumps(record)) == record
    assert copy.deepcopy(record) == record
