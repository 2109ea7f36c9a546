"""Python expressions read as dotted chains: `a.b().c[0]` is the root `a` with the steps `b () c []`.

Shared by extraction (which reads them from syntax trees) and resolution (which evaluates them).
Nothing here recurses on the depth of the input.
"""

import keyword
import re
from functools import lru_cache
from typing import Final, NamedTuple

import tree_sitter

CALL = "()"
ITEM = "[]"
UNREADABLE = "?"
"""Stands in a written name for a receiver that is not a chain of names."""

MAX_STEPS = 32
"""Longer chains lose their beginning: a builder of ten thousand calls costs linear, not quadratic, time."""

_LITERAL_KINDS = (
    "string concatenated_string integer float true false list dictionary set tuple list_comprehension "
    "dictionary_comprehension set_comprehension generator_expression"
)
_LITERALS = frozenset(_LITERAL_KINDS.split())
_WRAPPERS = frozenset(("parenthesized_expression", "await", "type", "expression_statement"))


class Root:
    """What a chain starts with. Plain words: an enumeration's hash would cost more than the rest of a look-up."""

    NAME: Final = "name"
    SUPER: Final = "super"
    LITERAL: Final = "literal"
    NONE: Final = "none"
    UNKNOWN: Final = "unknown"


class Chain(NamedTuple):
    """An expression as written. `name` is the root's identifier for `Root.NAME`, for `Root.SUPER` the first argument."""

    root: str
    name: str
    steps: tuple[str, ...]

    @property
    def written(self) -> str:
        """The chain as a reader would write it, with `?` for what is not a name."""
        return _written(self)

    def then(self, *steps: str) -> "Chain":
        """The same chain with further steps."""
        return Chain(self.root, self.name, self.steps + steps)


_CACHED_CHAINS = 1 << 14


@lru_cache(maxsize=_CACHED_CHAINS)
def _written(chain: Chain) -> str:
    start = chain.name if chain.root == Root.NAME else "super()" if chain.root == Root.SUPER else UNREADABLE
    return start + "".join(step if step in (CALL, ITEM) else "." + step for step in chain.steps)


UNKNOWN_CHAIN = Chain(Root.UNKNOWN, "", ())


def text_of(node: tree_sitter.Node, source: bytes) -> str:
    """The node's source text; bytes that are not UTF-8 are replaced."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


field = tree_sitter.Node.child_by_field_name
"""The child of a node in the field of that name, or None."""

_DOTTED = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*+(?:\.[A-Za-z_][A-Za-z0-9_]*+)*+")


def chain_of(node: tree_sitter.Node, source: bytes) -> Chain:
    """What `read_chain` gives, in a fifth of the time where the text alone tells: most chains are dotted names."""
    text = source[node.start_byte : node.end_byte]
    if _DOTTED.fullmatch(text) is None:
        return read_chain(node, source)
    name, *steps = text.decode("ascii").split(".")
    if len(steps) >= MAX_STEPS or keyword.iskeyword(name):
        return read_chain(node, source)
    return Chain(Root.NAME, name, tuple(steps))


def read_chain(node: tree_sitter.Node | None, source: bytes) -> Chain:
    """The expression as a chain; anything that is not one gives a chain with an unknown root."""
    steps: list[str] = []
    while node is not None and len(steps) <= MAX_STEPS:
        kind = node.type
        if kind == "identifier":
            return Chain(Root.NAME, text_of(node, source), tuple(reversed(steps)))
        if kind == "attribute":
            attribute = field(node, "attribute")
            steps.append(text_of(attribute, source) if attribute is not None else UNREADABLE)
            node = field(node, "object")
        elif kind == "call":
            function = field(node, "function")
            if function is not None and function.type == "identifier" and text_of(function, source) == "super":
                return Chain(Root.SUPER, _first_argument(node, source), tuple(reversed(steps)))
            steps.append(CALL)
            node = function
        elif kind == "subscript":
            steps.append(ITEM)
            node = field(node, "value")
        elif kind in _WRAPPERS:
            node = next((child for child in node.named_children if child.type != "comment"), None)
        else:
            return Chain(_root_of(kind), "", tuple(reversed(steps)))
    return Chain(Root.UNKNOWN, "", tuple(reversed(steps[:MAX_STEPS])))


def _root_of(kind: str) -> str:
    if kind == "none":
        return Root.NONE
    return Root.LITERAL if kind in _LITERALS else Root.UNKNOWN


def _first_argument(call: tree_sitter.Node, source: bytes) -> str:
    arguments = field(call, "arguments")
    first = arguments.named_children[0] if arguments is not None and arguments.named_child_count else None
    return text_of(first, source) if first is not None else ""


def read_annotation(node: tree_sitter.Node | None, source: bytes) -> Chain:
    """The class that an annotation names, as the chain of an instance of it.

    `Engine`, `mod.Engine`, `"Engine"`, `Engine | None` and `Optional[Engine]` name one; all else is unknown.
    """
    while node is not None and node.type == "type":
        node = node.named_children[0] if node.named_child_count else None
    if node is None:
        return UNKNOWN_CHAIN
    if node.type == "string":
        return _quoted(text_of(node, source))
    if node.type == "binary_operator":
        node = _not_none(node)
    elif node.type in {"generic_type", "subscript"}:
        node = _optional(node, source)
    if node is None or node.type not in {"identifier", "attribute"}:
        return UNKNOWN_CHAIN
    chain = read_chain(node, source)
    return chain.then(CALL) if chain.root == Root.NAME else UNKNOWN_CHAIN


def _quoted(literal: str) -> Chain:
    """A forward reference: only a plain dotted name, alone or with `| None`."""
    inner = literal.strip("\"'").removesuffix("| None").strip()
    parts = inner.split(".")
    if not all(part.isidentifier() for part in parts) or len(parts) > MAX_STEPS:
        return UNKNOWN_CHAIN
    return Chain(Root.NAME, parts[0], (*parts[1:], CALL))


def _not_none(union: tree_sitter.Node) -> tree_sitter.Node | None:
    sides = [side for side in union.named_children if side.type != "none"]
    return sides[0] if len(sides) == 1 and union.named_child_count == 2 else None


def _optional(node: tree_sitter.Node, source: bytes) -> tree_sitter.Node | None:
    head = node.named_children[0]
    if text_of(head, source).rpartition(".")[2] != "Optional" or node.named_child_count != 2:
        return None
    inner = node.named_children[1]
    while inner is not None and inner.type in {"type_parameter", "type"}:
        if inner.named_child_count != 1:
            return None
        inner = inner.named_children[0]
    return inner
