"""Commits as memory: their nodes, the edges to the files that they touched, and their sparse vectors."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from tenure.code.history import Change, Commit
from tenure.code.identifiers import term_counts
from tenure.core.ids import commit_id, file_id
from tenure.core.memory import Edge, EdgeType, MemoryKind, Node, NodeType, Source
from tenure.core.sparse import bm25_weights, pack

SHORT_SHA_LENGTH = 12
"""Characters of a commit id that are shown."""

MAX_SHOWN_PATHS = 50
"""Paths of a commit that are shown and searched, in git's order."""

MAX_TITLE_CHARS = 200
"""Characters of a subject that become the node's title."""

NO_SUBJECT = "(no message)"
"""Title of a commit without a message."""

EPISODE_AVERAGE_TERMS = 42.0
"""Terms of an average commit, message and paths together: the mean over the newest 5,000 of django."""

_PATH_CACHE_SIZE = 65_536


def commit_nodes(
    workspace_id: str, repository_id: str, commits: Sequence[Commit], count_tokens: Callable[[str], int]
) -> list[Node]:
    """One node per commit, in order. Metadata holds all that `commit_of` needs to give the commit back."""
    return [_node(workspace_id, repository_id, commit, count_tokens) for commit in commits]


def _node(workspace_id: str, repository_id: str, commit: Commit, count_tokens: Callable[[str], int]) -> Node:
    return Node(
        id=commit_id(workspace_id, repository_id, commit.sha),
        workspace_id=workspace_id,
        kind=MemoryKind.EPISODIC,
        type=NodeType.COMMIT,
        title=commit.subject[:MAX_TITLE_CHARS] or NO_SUBJECT,
        content=commit.message,
        token_count=count_tokens(commit.message),
        created_at=commit.authored_at,
        updated_at=commit.authored_at,
        source=Source(repository_id=repository_id, commit=commit.sha),
        metadata={
            "sha": commit.sha[:SHORT_SHA_LENGTH],
            "author": commit.author,
            "files": commit.files,
            "paths": shown_paths(commit),
            "parents": list(commit.parents),
            "changes": [
                [change.status, change.path, *([change.previous] if change.previous else [])]
                for change in commit.changes
            ],
        },
    )


def commit_of(node: Node) -> Commit:
    """The commit that a stored commit node (with its content) was made of."""
    metadata = node.metadata
    return Commit(
        sha=node.source.commit or "",
        parents=tuple(metadata["parents"]),
        authored_at=node.created_at,
        author=metadata["author"],
        message=node.content,
        files=metadata["files"],
        changes=tuple(Change(*fields) for fields in metadata["changes"]),
    )


def shown_paths(commit: Commit) -> list[str]:
    """The first `MAX_SHOWN_PATHS` paths that the commit changed, as they were called then."""
    return [change.path for change in commit.changes[:MAX_SHOWN_PATHS]]


def touched_edges(
    workspace_id: str, repository_id: str, commits: Sequence[Commit], present: Mapping[str, Sequence[str]]
) -> list[Edge]:
    """An edge from each commit to each file that it touched and that is still there, weight 1/√(files of the commit).

    `present` is what `present_paths` gives for all indexed commits.
    """
    return [
        Edge(
            source_id=owner,
            target_id=file_id(workspace_id, repository_id, path),
            type=EdgeType.TOUCHED,
            owner_id=owner,
            weight=1.0 / math.sqrt(commit.files),
        )
        for commit in commits
        for owner in (commit_id(workspace_id, repository_id, commit.sha),)
        for path in present.get(commit.sha, ())
    ]


def episode_sparse(commit: Commit) -> bytes:
    """The packed BM25 vector of the message's terms and of the terms of the paths that it changed."""
    counts = Counter(term_counts(commit.message))
    for path in shown_paths(commit):
        counts.update(_path_terms(path))
    return pack(bm25_weights(counts, EPISODE_AVERAGE_TERMS))


@lru_cache(maxsize=_PATH_CACHE_SIZE)
def _path_terms(path: str) -> Mapping[int, int]:
    return term_counts(path)
