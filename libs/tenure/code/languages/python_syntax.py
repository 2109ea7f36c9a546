"""Python's syntax problems: where a source is broken, and where it is Python 2 or ill indented, which the grammar takes
for sound.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import tree_sitter

MAYBE_OLD = frozenset({"print_statement", "exec_statement", "raise_statement", "except_clause"})
"""Statements that are, or may be, forms of Python 2."""

CLAUSES = frozenset({"elif_clause", "else_clause", "except_clause", "except_group_clause", "finally_clause"})
"""What continues a statement in that statement's own column."""

_OLD_TOKENS: tuple[tuple[bytes, re.Pattern[bytes]], ...] = (
    (b"`", re.compile(rb"`[^`]")),
    (b"<>", re.compile(rb"<>")),
    (b"0", re.compile(rb"0[0-9]*[1-9][0-9]*+(?![\w.])")),
    (b"L", re.compile(rb"L(?!\w)")),
    *((literal, re.compile(literal)) for literal in (b"ur'", b'ur"', b"Ur'", b'Ur"', b"uR'", b'uR"', b"UR'", b'UR"')),
)
"""Old tokens with what must be in the source: back quotes, `<>`, octal and long numbers, `ur''`."""

_OLD_TOKEN_TYPES = frozenset({"string_start", "<>", "integer"})
_MAX_OLD_TOKENS = 50
"""Candidates of one kind that are looked up in the tree; most are in doc strings, and Python 2 shows in many ways."""


def syntax_problem(root: tree_sitter.Node, source: bytes, end: int | None = None) -> tuple[str, int]:
    """(what is wrong and where, byte from which nothing is code: behind a quote that is not closed before `end`)."""
    bogus_from = len(source) + 1
    if not root.has_error:
        return "", bogus_from
    first = -1
    for error in _errors(root):
        row = error.start_point[0]
        first = row if first < 0 else min(first, row)
        for child in error.children[:_CHILDREN_LOOKED_AT]:
            if child.type == "string_start" and _is_never_closed(source, child, end):
                bogus_from = min(bogus_from, child.end_byte)
    if first < 0:
        return "", bogus_from
    line = source.split(b"\n", first + 1)[first]
    what = "merge conflict" if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>")) else "syntax error"
    return f"{what} at line {first + 1}", bogus_from


_MAX_ERRORS = 200
_CHILDREN_LOOKED_AT = 50
"""Bounds of the look at errors: files with more are broken throughout."""


def _errors(root: tree_sitter.Node) -> list[tree_sitter.Node]:
    """The outermost error and missing nodes in source order, without those that stand for syntax newer than the grammar."""
    found: list[tree_sitter.Node] = []
    stack = [(root, "")]
    while stack and len(found) < _MAX_ERRORS:
        node, parent_type = stack.pop()
        if node.is_error or node.is_missing:
            if parent_type not in _NEWER_THAN_GRAMMAR:
                found.append(node)
        elif node.has_error:
            stack += [(child, node.type) for child in reversed(node.children)]
    return found


_NEWER_THAN_GRAMMAR = frozenset({"type_parameter"})
"""Where the grammar reports valid code as an error: defaults of type parameters (PEP 696)."""


def _is_never_closed(source: bytes, start: tree_sitter.Node, end: int | None) -> bool:
    quote = source[start.end_byte - 3 : start.end_byte]
    return quote in (b'"""', b"'''") and source.find(quote, start.end_byte, end) < 0


def old_syntax(
    maybe_old: Iterable[tree_sitter.Node], functions: Iterable[tree_sitter.Node], root: tree_sitter.Node, source: bytes
) -> str:
    """'' or where the first form of Python 2 stands that the grammar takes without an error.

    `maybe_old` are the nodes of the types in `MAYBE_OLD`, `functions` the definitions of functions.
    """
    rows = [node.start_point[0] for node in maybe_old if _is_old(node, source)]
    rows += [node.start_point[0] for node in functions if _has_tuple_parameter(node, source)]
    for literal, pattern in _OLD_TOKENS:
        if literal in source:
            rows += _old_token(pattern, root, source)
    return f"Python 2 syntax at line {min(rows) + 1}" if rows else ""


_INSIDE = (b".", b"_", b"`")
"""What stands before the rest of a number, name or quotation."""


def _old_token(pattern: re.Pattern[bytes], root: tree_sitter.Node, source: bytes) -> list[int]:
    """The row of the first such token that stands in code, not in a string or a comment."""
    for match in islice(pattern.finditer(source), _MAX_OLD_TOKENS):
        before = source[max(0, match.start() - 1) : match.start()]
        if before.isdigit() != (match[0] == b"L") or before.isalpha() or before in _INSIDE:
            continue
        node = root.descendant_for_byte_range(match.start(), match.start() + 1)
        if node is not None and node.type in _OLD_TOKEN_TYPES and match.start() in (node.start_byte, node.end_byte - 1):
            return [node.start_point[0]]
    return []


def _is_old(node: tree_sitter.Node, source: bytes) -> bool:
    if node.type == "raise_statement":
        return node.named_child_count > 0 and node.named_children[0].type == "expression_list"
    if node.type == "except_clause":
        values = node.children_by_field_name("value")
        # `except A, B:` is valid again since Python 3.14, but no class is named like a variable.
        is_pair = len(values) == _PAIR and values[1].type == "identifier"
        return is_pair and source[values[1].start_byte : values[1].start_byte + 1].islower()
    return True


_PAIR = 2


def _has_tuple_parameter(node: tree_sitter.Node, source: bytes) -> bool:
    parameters = node.child_by_field_name("parameters")
    if parameters is None or source.find(b"(", parameters.start_byte + 1, parameters.end_byte) < 0:
        return False
    return any(child.type == "tuple_pattern" for child in parameters.named_children)


@dataclass(frozen=True, slots=True)
class Indentation:
    """The nodes that show ill indentation, if any does: blocks without statements; statements in another column than the
    first of their block, with that one (None: the module's column); first statements of blocks; clauses and decorated
    definitions.
    """

    empty: Sequence[tree_sitter.Node]
    askew: Sequence[tuple[tree_sitter.Node, tree_sitter.Node | None]]
    entered: Sequence[tree_sitter.Node]
    continued: Sequence[tree_sitter.Node]


def invalid_indentation(found: Indentation, source: bytes) -> str:
    """'' or where the first line stands whose indentation Python refuses and the grammar takes."""
    rows = [node.start_point[0] for node in found.empty]
    rows += [node.start_point[0] for node, first in found.askew if _is_out_of_line(node, first, source)]
    rows += [node.start_point[0] for node in found.entered if _is_too_shallow(node, source)]
    for node in found.continued:
        is_decorated = node.type == "decorated_definition"
        first, second = (node, node.child_by_field_name("definition")) if is_decorated else (node.parent, node)
        if first is not None and second is not None and first.start_point[1] != second.start_point[1]:
            rows += [second.start_point[0]] if _is_out_of_line(second, first, source) else []
    return f"invalid indentation at line {min(rows) + 1}" if rows else ""


def _is_too_shallow(first: tree_sitter.Node, source: bytes) -> bool:
    """Whether a block is indented by no more characters than what it belongs to: Python refuses what only wide tabs indent."""
    owner = None if first.parent is None else first.parent.parent
    if owner is None:
        return False
    before = _before(first, source)
    return not before.strip() and len(_indentation(before)) <= len(_indentation(_before(owner, source)))


def _is_out_of_line(node: tree_sitter.Node, first: tree_sitter.Node | None, source: bytes) -> bool:
    """Whether a node begins a line of code, indented unlike the line of `first`."""
    begin = node.start_byte - node.start_point[1]
    before = source[begin : node.start_byte]
    if before.strip() or source[max(0, begin - 3) : begin].rstrip(b"\r\n").endswith(b"\\"):
        return False  # behind a semicolon or a colon, or on a continued line
    return _indentation(before) != (b"" if first is None else _indentation(_before(first, source)))


def _before(node: tree_sitter.Node, source: bytes) -> bytes:
    return source[node.start_byte - node.start_point[1] : node.start_byte]


def _indentation(before: bytes) -> bytes:
    """What counts of a line's white space: a form feed sets the column back to 0."""
    return before.rpartition(b"\f")[2]
