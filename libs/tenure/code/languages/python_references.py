"""Python's exports and references: what other files may need of a file, and what it needs of them.

Both are compact JSON, opaque to every store. `exports` is two lines: the interface, and the definitions' first lines;
so moving code never changes the interface. Keys of the interface:

- `f` the file's node id
- `d` definitions that other files can reach (in the module or in classes), in source order:
  [name, qualified name, node id, form, kind, payload]; kind and payload see `Kind`
- `m` bindings of the module, flat: name, 1 if conditional, expression, name, …
- `s` star imports: [level, module]
- `a` the literal `__all__`, or null

`references` holds `o` owners (node ids), `d` definitions inside functions (indices go on after those of the exports),
`r` uses, flat: kind, owner, line, as written, expression; and `i` imports, flat: owner, line, level, module, name.
Expressions are described in `tenure.code.languages.python_scopes`. Here one is a string, its parts joined by tabs;
alternatives are [[expression, …], step, …]. Strings and flat lists are what the garbage collector passes over: a third
of the time to resolve a repository.
"""

import json
from collections.abc import Sequence
from enum import IntEnum
from itertools import chain
from typing import Any

import tree_sitter

from tenure.code.languages.python_pieces import Piece
from tenure.code.languages.python_scopes import (
    Binding,
    Definition,
    Expression,
    Scope,
    ScopeKind,
    Tag,
    is_none,
    reduce_binding,
    reduce_chain,
    returned_by,
)
from tenure.code.languages.python_sweep import Sweep, sweep
from tenure.code.model import Symbol

_INDEXED = frozenset({Tag.DEFINITION, Tag.INSTANCE, Tag.CLASS, Tag.SUPER, Tag.NAME})

MAX_WRITTEN = 200
"""Characters kept of a reference as written; the end is what look-ups by name need."""


class Kind(IntEnum):
    """What a definition is, with its payload."""

    FUNCTION = 0
    """The expression of what it returns, if annotated with a class or known to be what it was called on; else null."""
    CLASS = 1
    """[bases, bindings, attributes]: expressions, bindings as in `m`, expressions by name of `self.name`."""
    PROPERTY = 2
    """As for a function."""


def extract(
    root: tree_sitter.Node,
    source: bytes,
    path: str,  # noqa: ARG001 - of every language's contract; Python's references don't depend on the path
    symbols: Sequence[Symbol],
    file_id: str,
    pieces: Sequence[Piece] = (),
) -> tuple[bytes, bytes]:
    """(exports, references) of a parsed file, also of one with syntax errors; equal input gives equal bytes.

    `source` are the bytes that were parsed; `symbols` are the file's definitions in source order, whose spans start
    where the syntax nodes start (with decorators); `pieces` go before the tree for their stretches of the source.
    """
    found = sweep(root, source, symbols, file_id, pieces)
    visible = _number(found.definitions)
    exports = {
        "f": file_id,
        "d": [_definition(definition, visible) for definition in found.definitions[:visible]],
        "m": _bindings(found.module, visible),
        "s": [star.expression[1:] for star in found.module.stars if star.expression is not None],
        "a": None if found.is_export_computed else found.exported,
    }
    lines = [definition.symbol.start_line for definition in found.definitions[:visible]]
    return _encode(exports) + b"\n" + _encode(lines), _encode(_references(found, visible, file_id))


def _encode(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _number(definitions: list[Definition]) -> int:
    """Order definitions so that those visible to other files come first, number them, and return how many these are."""
    definitions.sort(key=lambda definition: (not _is_visible(definition.scope), definition.position))
    for index, definition in enumerate(definitions):
        definition.index = index
    return sum(_is_visible(definition.scope) for definition in definitions)


def _is_visible(scope: Scope | None) -> bool:
    while scope is not None:
        if scope.kind not in {ScopeKind.MODULE, ScopeKind.CLASS}:
            return False
        scope = scope.parent
    return True


def _definition(definition: Definition, limit: int) -> list[Any]:
    symbol = definition.symbol
    kind = Kind.CLASS if definition.is_class else Kind.PROPERTY if definition.is_property else Kind.FUNCTION
    payload: Any = None
    if definition.is_class:
        bases = [reduce_chain(base, definition.scope, definition.position) for base in definition.bases]
        bindings = _bindings(definition.body, limit) if definition.body is not None else []
        payload = [[_text(_closed(base, limit)) for base in bases], bindings, _attributes(definition, limit)]
    else:
        returned = returned_by(definition)
        payload = None if returned is None else _text(_closed(returned, limit))
    return [symbol.name, symbol.qualified_name, symbol.node_id, symbol.form, int(kind), payload]


def _text(expression: Expression) -> str | list[Any]:
    """The expression as it is stored."""
    if expression[0] == Tag.ANY:
        return [[_text(part) for part in expression[1]], *expression[2:]]
    return "\t".join(map(str, expression))


def _bindings(scope: Scope, limit: int) -> list[Any]:
    flat: list[Any] = []
    for name, bindings in scope.bindings.items():
        for binding in bindings:
            value = [Tag.UNKNOWN] if is_none(binding) else _closed(reduce_binding(binding), limit)
            flat += (name, int(binding.is_conditional), _text(value))
    return flat


def _attributes(definition: Definition, limit: int) -> dict[str, str | list[Any]]:
    """Instance attributes on whose class all assignments agree."""
    known: dict[str, str | list[Any]] = {}
    for name, bindings in definition.attributes.items():
        value = _agreed(bindings)
        if value[0] != Tag.UNKNOWN:
            known[name] = _text(_closed(value, limit))
    return known


def _agreed(bindings: list[Binding]) -> Expression:
    annotated = next((binding for binding in bindings if binding.is_annotated), None)
    if annotated is not None:
        return reduce_binding(annotated)
    values = [reduce_binding(binding) for binding in bindings if not is_none(binding)]
    if not values or any(value != values[0] for value in values):
        return [Tag.UNKNOWN]
    return values[0]


def _closed(expression: Expression, limit: int) -> Expression:
    """The expression, or unknown if it needs a definition that others cannot see (index `limit` and above)."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if part[0] == Tag.ANY:
            waiting.extend(part[1])
        elif part[0] in _INDEXED and part[1] >= limit:
            return [Tag.UNKNOWN]
    return expression


def _references(found: Sweep, visible: int, file_id: str) -> dict[str, Any]:
    every = len(found.definitions)
    owners = {file_id: 0}
    uses: dict[tuple[str, str, str], tuple[Any, ...]] = {}
    for reference in found.references:
        expression = reduce_chain(reference.chain, reference.scope, reference.position)
        if expression[0] == Tag.LITERAL:
            continue
        stored = _text(expression)
        key = (reference.kind + reference.written, reference.owner, str(stored))
        owner = owners.setdefault(reference.owner, len(owners))
        uses.setdefault(key, (reference.kind, owner, reference.line, reference.written[-MAX_WRITTEN:], stored))
    imports: dict[tuple[str, int, str, str], tuple[Any, ...]] = {}
    for item in found.imports:
        owner = owners.setdefault(item.owner, len(owners))
        row = (owner, item.line, item.level, item.module, item.name)
        imports.setdefault((item.owner, item.level, item.module, item.name), row)
    return {
        "o": list(owners),
        "d": [_definition(definition, every) for definition in found.definitions[visible:]],
        "r": list(chain.from_iterable(uses.values())),
        "i": list(chain.from_iterable(imports.values())),
    }
