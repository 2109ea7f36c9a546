"""Python's definitions: what tree-sitter's tree says of them, whatever Python the service runs on."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import tree_sitter
import tree_sitter_python

from tenure.code.languages.python_pieces import Cut, Definition, Piece, is_covered, recover, stitched
from tenure.code.languages.python_syntax import (
    CLAUSES,
    MAYBE_OLD,
    Indentation,
    invalid_indentation,
    old_syntax,
    syntax_problem,
)
from tenure.core.memory import NodeType

_BLOCKS = frozenset({"module", "block"})
"""Whose children are statements."""

_CONTAINERS = _BLOCKS | {
    "ERROR",
    "function_definition",
    "class_definition",
    "decorated_definition",
    "if_statement",
    "elif_clause",
    "else_clause",
    "for_statement",
    "while_statement",
    "try_statement",
    "except_clause",
    "except_group_clause",
    "finally_clause",
    "with_statement",
    "match_statement",
    "case_clause",
}
"""What can hold a definition; everything else is looked into only if it holds an error."""

_KEYWORD_LIST = """
False None True and as assert async await break class continue def del elif else except finally for from
global if import in is lambda nonlocal not or pass raise return try while with yield
"""
_KEYWORDS = frozenset(_KEYWORD_LIST.split())
_NAME = re.compile(r"[^\W\d]\w*")
_MAX_NAME = 255
_DECORATOR = re.compile(rb"^[ \t\f]*+@[ \t]*+([\w.]++)", re.MULTILINE)
_QUOTE = re.compile(rb"[rRuU]?(\"\"\"|'''|\"|')")
_BEFORE_MODULE_DOC = re.compile(rb"(?:[ \t\f]*+(?:#[^\n]*+)?\n)*+")
_FIRST_COMMENT = re.compile(rb"(?:[ \t\f]*+#[^\n]*+\n)++")

_SIGNATURE_CHARS = 200
_DOC_CHARS = 300
"""Bounds of what stands before every chunk of a symbol: more would leave no room for its text."""

_FORMS_BY_DECORATOR = {
    b"property": "property",
    b"cached_property": "property",
    b"staticmethod": "static method",
    b"classmethod": "class method",
    b"overload": "overload",
    b"setter": "setter",
    b"getter": "property",
    b"deleter": "deleter",
}


class ParsingTimedOut(Exception):
    """The time for one file is over; the text can still be searched."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The definitions of a file in source order, and {row: column} of its statements; one below a comment begins with it.

    `problem` is '' or says what is wrong with the syntax, and where. `is_wrecked` is set if an error spans so many
    pieces that a query over the tree would take quadratic time. `pieces` are what was read again on its own, for the tree
    says less, or wrong things, of these stretches.
    """

    tree: tree_sitter.Tree
    definitions: list[Definition]
    statements: Mapping[int, int]
    doc: str
    problem: str
    is_wrecked: bool
    pieces: Sequence[Piece] = ()


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_python.language())


class _Deadline:
    """Tells tree-sitter to stop; the clock here bounds work and enters no result but "timed out"."""

    __slots__ = ("_end", "is_over")

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.is_over = False

    def __call__(self, *_: object) -> bool:
        self.is_over = self.is_over or time.monotonic() > self._end
        return self.is_over


_READ_BYTES = 1 << 16


def read(source: bytes, seconds: float) -> Reading:
    """Definitions and syntax problems of a source, whatever is in it; no recursion on its depth.

    Raises `ParsingTimedOut` after `seconds`.
    """
    deadline = _Deadline(seconds)
    parser = tree_sitter.Parser(_language())
    try:
        tree = parser.parse(lambda offset, _: source[offset : offset + _READ_BYTES], progress_callback=deadline)
    except ValueError as error:
        raise ParsingTimedOut from error
    problem, bogus_from = syntax_problem(tree.root_node, source)
    found = _walk(tree.root_node, source)
    reading = Reading(
        tree=tree,
        definitions=_definitions(found, source, bogus_from),
        statements=found.cut_points(),
        doc=_doc_at(source, _end_of(_BEFORE_MODULE_DOC, source)) or _first_comment(source),
        problem=problem
        or old_syntax(found.maybe_old, found.definitions, tree.root_node, source)
        or invalid_indentation(found.indentation(), source),
        is_wrecked=found.is_wrecked,
    )
    return _mended(reading, source, deadline) if problem else reading


def _mended(reading: Reading, source: bytes, deadline: _Deadline) -> Reading:
    """The reading with what the whole tree lost behind its errors."""

    def read_piece(cut: Cut) -> Piece | None:
        return _piece(source, cut, deadline)

    pieces = recover(source, reading.definitions, reading.is_wrecked, read_piece)
    if not pieces:
        return reading
    statements = dict(reading.statements)
    for piece in pieces:
        for row in range(piece.cut.start_row, piece.cut.end_row):
            statements.pop(row, None)
        statements.update(piece.statements)
    known = {definition.name_row for definition in reading.definitions}
    read_again = sorted(definition.name_row for piece in pieces for definition in piece.definitions)
    first = next((row for row in read_again if row not in known), read_again[0])
    is_rest_wrecked = reading.is_wrecked and not is_covered(pieces, len(source))
    return replace(
        reading,
        definitions=stitched(source, reading.definitions, pieces),
        statements=dict(sorted(statements.items())),
        problem=f"{reading.problem}; read again in pieces from line {first + 1} on",
        is_wrecked=is_rest_wrecked or any(piece.is_wrecked for piece in pieces),
        pieces=pieces,
    )


def _piece(source: bytes, cut: Cut, deadline: _Deadline) -> Piece | None:
    parser = tree_sitter.Parser(_language())
    place = tree_sitter.Range((cut.start_row, 0), (cut.end_row, 0), cut.start, cut.end)
    parser.included_ranges = [place]
    try:
        tree = parser.parse(
            lambda offset, _: source[offset : min(cut.end, offset + _READ_BYTES)], progress_callback=deadline
        )
    except ValueError:
        return None
    _, bogus_from = syntax_problem(tree.root_node, source, cut.end)
    found = _walk(tree.root_node, source)
    definitions = _definitions(found, source, bogus_from)
    return Piece(cut, tree.root_node, definitions, found.cut_points(), found.is_wrecked)


@dataclass(slots=True)
class _Found:
    """What a walk met: definitions by kind, the decorated node by the start of what it decorates, old forms, blocks
    without statements, and statements in another column than the first of their block (None: than the module's);
    `entered` are those first ones, where a source mixes tabs and spaces.
    """

    definitions: list[tree_sitter.Node] = field(default_factory=list)
    decorated: dict[int, tree_sitter.Node] = field(default_factory=dict)
    statements: dict[int, int] = field(default_factory=dict)
    comments: set[int] = field(default_factory=set)
    maybe_old: list[tree_sitter.Node] = field(default_factory=list)
    askew: list[tuple[tree_sitter.Node, tree_sitter.Node | None]] = field(default_factory=list)
    empty: list[tree_sitter.Node] = field(default_factory=list)
    entered: list[tree_sitter.Node] = field(default_factory=list)
    clauses: list[tree_sitter.Node] = field(default_factory=list)
    is_wrecked: bool = False

    def indentation(self) -> Indentation:
        """What may be wrong with it."""
        return Indentation(self.empty, self.askew, self.entered, [*self.clauses, *self.decorated.values()])

    def cut_points(self) -> dict[int, int]:
        """{row: column} of the statements; one below a comment begins with it."""
        return {row: column for row, column in self.statements.items() if row - 1 not in self.comments}


_MAX_ERROR_WIDTH = 2_000
"""Children of an error node; tree-sitter's queries look at each pair of them."""


def _walk(root: tree_sitter.Node, source: bytes) -> _Found:
    """All that can be told from statements, without recursion and without a look into sound expressions.

    No query: those take quadratic time on wide errors, and their progress callback crashes in tree-sitter 0.26.
    """
    found = _Found()
    has_error, is_mixed = root.has_error, b"\n\t" in source and b"\n " in source
    stack = [(root, root.type)]
    while stack:
        node, parent_type = stack.pop()
        is_block = parent_type in _BLOCKS
        children = node.children
        first, margin = None, 0 if parent_type == "module" else -1
        found.is_wrecked |= has_error and len(children) > _MAX_ERROR_WIDTH and node.is_error
        for child in children:
            kind = child.type
            if is_block:
                row, column = child.start_point
                found.statements[row] = column
                if column != margin and kind != "comment":
                    if margin < 0:
                        first, margin = child, column
                    else:
                        found.askew.append((child, first))
            if kind in _CONTAINERS or (has_error and child.has_error):
                stack.append((child, kind))
            if kind in _NOTED:
                _note(found, child, kind)
        if is_block and margin < 0:
            found.empty.append(node)
        elif is_mixed and first is not None:
            found.entered.append(first)
    return found


def _note(found: _Found, node: tree_sitter.Node, kind: str) -> None:
    if kind in _DEFINITIONS:
        found.definitions.append(node)
    elif kind == "decorated_definition":
        inner = node.child_by_field_name("definition")
        if inner is not None:
            found.decorated[inner.start_byte] = node
    elif kind == "comment":
        found.comments.add(node.start_point[0])
    if kind in CLAUSES:
        found.clauses.append(node)
    if kind in MAYBE_OLD:
        found.maybe_old.append(node)


def _end_of(pattern: re.Pattern[bytes], source: bytes) -> int:
    match = pattern.match(source)
    return 0 if match is None else match.end()


def _definitions(found: _Found, source: bytes, bogus_from: int) -> list[Definition]:
    definitions = []
    for node in found.definitions:
        if node.start_byte >= bogus_from:
            continue
        definition = _DEFINITIONS[node.type](node, found.decorated.get(node.start_byte, node), source)
        if definition is not None:
            definitions.append(definition)
    definitions.sort(key=lambda one: (one.start_byte, -one.end_byte))
    return definitions


def _sane_name(node: tree_sitter.Node | None, source: bytes) -> str:
    """The name that a node spells, '' if that is none: the parser made it up while recovering from an error."""
    if node is None or node.is_missing:
        return ""
    name = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
    is_sane = len(name) <= _MAX_NAME and _NAME.fullmatch(name) is not None and name not in _KEYWORDS
    return name if is_sane else ""


def _function(node: tree_sitter.Node, outer: tree_sitter.Node, source: bytes) -> Definition | None:
    name_node = node.child_by_field_name("name")
    last = node.child_by_field_name("return_type") or node.child_by_field_name("parameters") or name_node
    form = "function"
    if outer is not node:
        for decorator in _DECORATOR.findall(source[outer.start_byte : node.start_byte]):
            form = _FORMS_BY_DECORATOR.get(decorator.rsplit(b".", 1)[-1], form)
    if form == "function" and source.startswith(b"async", node.start_byte):
        form = "async function"
    return _definition(NodeType.FUNCTION, form, node, outer, name_node, last, source)


def _class(node: tree_sitter.Node, outer: tree_sitter.Node, source: bytes) -> Definition | None:
    name_node = node.child_by_field_name("name")
    last = node.child_by_field_name("superclasses") or node.child_by_field_name("type_parameters") or name_node
    return _definition(NodeType.CLASS, "class", node, outer, name_node, last, source)


def _alias(node: tree_sitter.Node, outer: tree_sitter.Node, source: bytes) -> Definition | None:
    name_node = node.child_by_field_name("left")
    while name_node is not None and name_node.type != "identifier":
        name_node = name_node.named_child(0) if name_node.named_child_count else None
    return _definition(NodeType.CLASS, "type alias", node, outer, name_node, node, source)


_DEFINITIONS = {"function_definition": _function, "class_definition": _class, "type_alias_statement": _alias}
_NOTED = MAYBE_OLD.union(_DEFINITIONS, CLAUSES, ("decorated_definition", "comment"))
"""The kinds of node that a walk takes note of."""


def _definition(
    type: NodeType,
    form: str,
    node: tree_sitter.Node,
    outer: tree_sitter.Node,
    name_node: tree_sitter.Node | None,
    last: tree_sitter.Node | None,
    source: bytes,
) -> Definition | None:
    name = _sane_name(name_node, source)
    if not name or name_node is None or last is None:
        return None
    body = node.child_by_field_name("body")
    signature = source[node.start_byte : min(last.end_byte, node.start_byte + 4 * _SIGNATURE_CHARS)]
    return Definition(
        type=type,
        name=name,
        form=form,
        start_byte=outer.start_byte,
        end_byte=outer.end_byte,
        start_row=outer.start_point[0],
        end_row=_end_row(outer),
        name_row=name_node.start_point[0],
        signature=" ".join(signature.decode("utf-8", "ignore").split())[:_SIGNATURE_CHARS],
        doc="" if body is None else _doc_at(source, body.start_byte),
    )


def _end_row(node: tree_sitter.Node) -> int:
    """The last row that has a character of the node: its end may be the beginning of the next line."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point[0] else row


def _doc_at(source: bytes, offset: int) -> str:
    """The first paragraph of the string literal that begins here, on one line; '' if none does."""
    match = _QUOTE.match(source, offset)
    if match is None:
        return ""
    quote = match[1]
    end = source.find(quote, match.end())
    if end < 0:
        return ""
    text = source[match.end() : min(end, match.end() + 8 * _DOC_CHARS)].decode("utf-8", "ignore")
    if len(quote) == 1 and "\n" in text:
        return ""
    paragraph = re.split(r"\n[ \t]*\n", text.strip(), maxsplit=1)[0]
    return " ".join(paragraph.split())[:_DOC_CHARS]


def _first_comment(source: bytes) -> str:
    """The comment at the top of a file, without shebang, cookie and licence, on one line."""
    match = _FIRST_COMMENT.match(source)
    if match is None:
        return ""
    lines = [
        line.strip().lstrip("#!").strip() for line in match[0][: 8 * _DOC_CHARS].decode("utf-8", "ignore").split("\n")
    ]
    lines = [line for line in lines if not line.startswith("%%")]  # the cell marks of notebooks
    if lines and ("python" in lines[0] or "coding" in lines[0]):
        lines = lines[1:]
    text = " ".join(" ".join(lines).split())
    return "" if re.search(r"(?i)copyright|licen[sc]e", text) else text[:_DOC_CHARS]
