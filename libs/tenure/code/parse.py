"""Source text to symbols, by language: identities, nesting and syntax status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import tree_sitter

from tenure.code.languages import python
from tenure.code.languages.python_pieces import Definition, Piece
from tenure.code.model import Symbol
from tenure.core.ids import node_id
from tenure.core.memory import NodeType, ParseStatus

MAX_NESTING = 100
"""Definitions inside one another; Python itself takes no deeper indentation."""

_BASE_SECONDS = 5.0
_SECONDS_PER_BYTE = 5e-6
"""Time for one file: a sound file of 1 MB takes a quarter of a second, only hostile ones come near."""

_METHOD_FORMS = {"function": "method", "async function": "async method"}


@dataclass(frozen=True, slots=True)
class Owner:
    """The file whose symbols are named."""

    workspace_id: str
    repository_id: str
    path: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """A file's symbols in source order. `tree` is None if parsing failed; `name_rows` are those of the symbols' names;
    `pieces` are read on their own, and go before the tree.
    """

    status: ParseStatus
    reason: str
    symbols: list[Symbol] = field(default_factory=list)
    statements: Mapping[int, int] = field(default_factory=dict)
    name_rows: list[int] = field(default_factory=list)
    tree: tree_sitter.Tree | None = None
    doc: str = ""
    is_wrecked: bool = False
    pieces: Sequence[Piece] = ()


class SymbolNames:
    """Hands out node ids: equal (type, qualified name) are numbered in the order of asking."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._seen: dict[tuple[NodeType, str], int] = {}

    def next(self, type: NodeType, qualified_name: str) -> tuple[str, int]:
        """(node id, ordinal)."""
        key = (type, qualified_name)
        ordinal = self._seen.get(key, 0)
        self._seen[key] = ordinal + 1
        owner = self._owner
        return node_id(owner.workspace_id, type, owner.repository_id, owner.path, qualified_name, ordinal), ordinal


def parse_python(source: bytes, owner: Owner) -> Parsed:
    """The symbols of a Python source; any input gives a result with its status, none an error."""
    try:
        reading = python.read(source, _BASE_SECONDS + _SECONDS_PER_BYTE * len(source))
    except python.ParsingTimedOut:
        return Parsed(ParseStatus.FAILED, "parsing took too long: the text is searchable, its symbols are not known")
    symbols, kept, too_deep = _symbols(reading.definitions, SymbolNames(owner))
    problems = [reading.problem] if reading.problem else []
    if too_deep:
        problems.append(f"definitions nested deeper than {MAX_NESTING} at line {too_deep}")
    if reading.is_wrecked:
        problems.append("broken throughout: references are not known")
    return Parsed(
        status=ParseStatus.PARTIAL if problems else ParseStatus.OK,
        reason="; ".join(problems),
        symbols=symbols,
        statements=reading.statements,
        name_rows=[definition.name_row for definition in kept],
        tree=reading.tree,
        doc=reading.doc,
        is_wrecked=reading.is_wrecked,
        pieces=reading.pieces,
    )


def _symbols(definitions: Sequence[Definition], names: SymbolNames) -> tuple[list[Symbol], list[Definition], int]:
    """(symbols, their definitions, line of the first one that is nested too deep or 0)."""
    symbols: list[Symbol] = []
    kept: list[Definition] = []
    open_ones: list[int] = []
    too_deep = 0
    for definition in definitions:
        while open_ones and kept[open_ones[-1]].end_byte <= definition.start_byte:
            open_ones.pop()
        if len(open_ones) >= MAX_NESTING:
            too_deep = too_deep or definition.start_row + 1
            continue
        parent = open_ones[-1] if open_ones else -1
        qualified_name, form = definition.name, definition.form
        if parent >= 0:
            qualified_name = f"{symbols[parent].qualified_name}.{qualified_name}"
            if symbols[parent].type is NodeType.CLASS:
                form = _METHOD_FORMS.get(form, form)
        identity, ordinal = names.next(definition.type, qualified_name)
        open_ones.append(len(symbols))
        kept.append(definition)
        symbols.append(
            Symbol(
                node_id=identity,
                type=definition.type,
                form=form,
                name=definition.name,
                qualified_name=qualified_name,
                ordinal=ordinal,
                parent=parent,
                start_line=definition.start_row + 1,
                end_line=definition.end_row + 1,
                start_byte=definition.start_byte,
                end_byte=definition.end_byte,
                signature=definition.signature,
                doc=definition.doc,
            )
        )
    return symbols, kept, too_deep
