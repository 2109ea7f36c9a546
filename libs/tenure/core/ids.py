"""Stable identities: the same thing gets the same id on every run, and two things never share one."""

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from json.encoder import encode_basestring as _quoted

from tenure.core.memory import NodeType

_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""The digit that says by which rules an id is made, by the digit of the digest that stood there: its upper bits are set."""


def _uuid5(namespace: str, name: str) -> str:
    """What `uuid.uuid5` gives as text, in a tenth of the time: an index of a large repository asks 100,000 times."""
    seed = bytes.fromhex(namespace.replace("-", "")) + name.encode()
    text = hashlib.sha1(seed, usedforsecurity=False).hexdigest()
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:32]}"


def node_id(
    workspace_id: str, type: NodeType, repository_id: str, path: str, qualified_name: str, ordinal: int = 0
) -> str:
    """The id of a node: UUIDv5 in the workspace over [type, repository, path, qualified name, ordinal].

    `ordinal` counts nodes of equal (type, path, qualified name) in source order, from 0.
    """
    parts = ", ".join(map(_quoted, (type.value, repository_id, path, qualified_name)))
    name = f"[{parts}, {ordinal}]"
    return _uuid5(workspace_id, name.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))


@lru_cache(maxsize=1 << 16)
def file_id(workspace_id: str, repository_id: str, path: str) -> str:
    """The id of a file's node."""
    return node_id(workspace_id, NodeType.FILE, repository_id, path, path)


def commit_id(workspace_id: str, repository_id: str, sha: str) -> str:
    """The id of a commit's node."""
    return node_id(workspace_id, NodeType.COMMIT, repository_id, "", sha)


def chunk_id(node: str, number: int) -> str:
    """The id of the `number`-th chunk of a node, from 0."""
    return _uuid5(node, str(number))


def profile_id(file: str) -> str:
    """The id of the point that holds a file's profile."""
    return _uuid5(file, "profile")


def summary_id(workspace_id: str, source_ids: Iterable[str]) -> str:
    """The id of a summary: it depends on the set of its sources alone."""
    name = json.dumps(["summary", sorted(set(source_ids))])
    return _uuid5(workspace_id, name)


def content_hash(data: bytes) -> str:
    """SHA-256 of the raw bytes, in hex."""
    return hashlib.sha256(data).hexdigest()
