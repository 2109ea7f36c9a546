"""The few kinds of node that references need, picked out of a syntax tree by one query."""

from collections.abc import Iterator, Sequence
from functools import cache

import tree_sitter
import tree_sitter_python

from tenure.code.languages.python_pieces import Piece, is_covered, outside

BLOCKS = "lambda list_comprehension set_comprehension dictionary_comprehension generator_expression"
CONDITIONS = "if_statement try_statement while_statement for_statement case_clause"
_OTHERS = (
    "function_definition class_definition decorated_definition call decorator import_statement import_from_statement "
    "assignment augmented_assignment named_expression for_in_clause as_pattern global_statement nonlocal_statement "
    "type_alias_statement"
)


@cache
def _query() -> tree_sitter.Query:
    kinds = " ".join(f"({kind})" for kind in f"{BLOCKS} {CONDITIONS} {_OTHERS}".split())
    bodies = "(function_definition body: (_) @body) (class_definition body: (_) @body)"
    return tree_sitter.Query(tree_sitter.Language(tree_sitter_python.language()), f"[{kinds}] @node {bodies}")


Event = tuple[int, int, int, tree_sitter.Node]


def events_of(root: tree_sitter.Node) -> list[Event]:
    """The nodes of interest from the outside in, each with its first byte, the negated end, and a number of its own: below
    0 for a body, which comes before an expression of the same extent.
    """
    captures = tree_sitter.QueryCursor(_query()).captures(root)
    bodies = captures.get("body", [])
    found = [(node.start_byte, -node.end_byte, n, node) for n, node in enumerate(bodies, -len(bodies))]
    found += [(node.start_byte, -node.end_byte, n, node) for n, node in enumerate(captures.get("node", []))]
    found.sort()
    return found


def stretches_of(root: tree_sitter.Node, pieces: Sequence[Piece], length: int) -> Iterator[Sequence[Event]]:
    """The events of the tree outside the pieces, and of the pieces, in source order."""
    whole = [] if pieces and is_covered(pieces, length) else events_of(root)
    if not pieces:
        yield whole
        return
    for first, end, piece in outside([event[0] for event in whole], pieces):
        yield whole[first:end]
        if piece is not None:
            yield events_of(piece.root)
