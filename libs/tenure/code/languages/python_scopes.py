"""Python's scopes: which binding a name means at a place, by the language's own rules.

Local names are reduced while a file is extracted, so that resolution only has to know module and class scopes.
An *expression* is a list: a tag, the tag's arguments, then the steps of a chain (`tenure.code.languages
.python_expressions`). The tags are described at `Tag`.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from tenure.code.languages.python_expressions import CALL, Chain, Root
from tenure.code.model import Symbol

MAX_LOCAL_HOPS = 8
"""A local name may be defined by another one this many times over; beyond, it is unknown."""

ALL_BINDINGS: Final = -1
"""In a name expression: every binding of the name counts, because the code runs after the scope is complete."""

MODULE_SCOPE: Final = -1

Expression = list[Any]


class Tag:
    """What an expression starts with; arguments in brackets."""

    NAME: Final = "n"
    """[scope, k, name]: a name of the module (-1) or of the class with that index; only its first k bindings count."""
    DEFINITION: Final = "d"
    """[index] of a definition of this file."""
    INSTANCE: Final = "s"
    """[index] of a class: an instance of it (`self`)."""
    CLASS: Final = "c"
    """[index] of a class, as a value (`cls`)."""
    SUPER: Final = "p"
    """[index] of a class: its bases, as `super()` sees them."""
    MODULE: Final = "i"
    """[dotted] name of a module."""
    MEMBER: Final = "f"
    """[level, module, name]: what `from module import name` binds."""
    ANY: Final = "|"
    """[expressions]: the first that can be resolved."""
    LITERAL: Final = "l"
    """[]: a value of a built-in type."""
    UNKNOWN: Final = "u"
    """[]: nothing certain."""
    RECEIVER: Final = "r"
    """[]: only as what a method returns: what it was called on."""
    STAR: Final = "*"
    """[level, module]: only as a binding: all public names of a module."""


class ScopeKind(StrEnum):
    """What a name looked up in a scope may see. A block is a lambda or a comprehension."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    BLOCK = "block"


@dataclass(slots=True, eq=False)
class Definition:
    """A class or function on its way to becoming exports. `index` is its place in the file's list, -1 until given.

    `gives_back` is the name that every return of a method gives back, as far as that was looked at.
    """

    symbol: Symbol
    scope: "Scope"
    is_class: bool
    is_property: bool = False
    returns: Chain | None = None
    gives_back: str = ""
    bases: list[Chain] = field(default_factory=list)
    attributes: dict[str, list["Binding"]] = field(default_factory=dict)
    body: "Scope | None" = None
    position: int = 0
    index: int = -1
    parent: int = -1


@dataclass(slots=True, eq=False)
class Binding:
    """One place that gives a name its value. It counts from byte `at` on. Exactly one of the payloads is set:
    a `definition`, a ready `expression`, a `chain` to be read in `scope`, or the class of which a method's first
    parameter is the instance (`receiver`; the class itself if `receiver_tag` says so).
    """

    name: str
    at: int
    is_conditional: bool = False
    is_annotated: bool = False
    definition: Definition | None = None
    expression: Expression | None = None
    chain: Chain | None = None
    scope: "Scope | None" = None
    receiver: Definition | None = None
    receiver_tag: str = Tag.INSTANCE


@dataclass(slots=True, eq=False)
class Scope:
    """A scope with its bindings by name, in the order in which they take effect."""

    kind: ScopeKind
    parent: "Scope | None"
    definition: Definition | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[Binding] = field(default_factory=list)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    is_late: bool = field(init=False)
    """Whether its code runs after the scopes around it are complete."""

    def __post_init__(self) -> None:
        self.is_late = self.kind is ScopeKind.FUNCTION or self.kind is ScopeKind.BLOCK

    def bind(self, binding: Binding) -> None:
        """Add the binding here, or where `global` and `nonlocal` send it."""
        scope = self
        if binding.name in self.globals:
            scope, binding.is_conditional = self.module(), True
        elif binding.name in self.nonlocals and self.parent is not None:
            scope = self.parent
        scope.bindings.setdefault(binding.name, []).append(binding)

    def module(self) -> "Scope":
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def outside_blocks(self) -> "Scope":
        """The scope that a walrus binds in."""
        scope = self
        while scope.kind is ScopeKind.BLOCK and scope.parent is not None:
            scope = scope.parent
        return scope

    def enclosing_class(self) -> Definition | None:
        """The class whose method this scope belongs to."""
        scope: Scope | None = self
        while scope is not None and scope.kind is not ScopeKind.CLASS:
            scope = scope.parent
        return scope.definition if scope is not None else None


def returned_by(definition: Definition) -> Expression | None:
    """What the function returns, None if nothing certain is known of it."""
    body, owner = definition.body, definition.scope.definition
    if definition.gives_back and body is not None and owner is not None:
        given = reduce_chain(Chain(Root.NAME, definition.gives_back, ()), body, definition.position)
        if given == [Tag.INSTANCE, owner.index] and definition.gives_back in body.bindings:
            return [Tag.RECEIVER]
    if definition.returns is None or definition.returns.root != Root.NAME:
        return None
    return reduce_chain(definition.returns, definition.scope, definition.position)


def kind_of_body(is_class: bool, has_symbol: bool) -> ScopeKind:
    """The kind of a definition's scope. A class that is not known as a symbol hides its names like a block."""
    if not is_class:
        return ScopeKind.FUNCTION
    return ScopeKind.CLASS if has_symbol else ScopeKind.BLOCK


def reduce_chain(chain: Chain, scope: Scope, position: int, hops: int = 0) -> Expression:
    """The chain at that byte as an expression over module and class scopes."""
    if chain.root == Root.NAME:
        head = _reduce_name(chain.name, scope, position, hops)
    elif chain.root == Root.SUPER:
        head = _reduce_super(chain.name, scope)
    else:
        head = [Tag.LITERAL if chain.root in (Root.LITERAL, Root.NONE) else Tag.UNKNOWN]
    if head[0] == Tag.UNKNOWN:
        return head
    return [*head, *chain.steps]


def _reduce_super(first_argument: str, scope: Scope) -> Expression:
    owner = scope.enclosing_class()
    if owner is None or owner.index < 0 or first_argument not in {"", owner.symbol.name}:
        return [Tag.UNKNOWN]
    return [Tag.SUPER, owner.index]


def _reduce_name(name: str, start: Scope, position: int, hops: int) -> Expression:
    scope: Scope | None = start
    runs_later = False
    while scope is not None:
        is_late = scope.is_late
        runs_later = runs_later or is_late
        if name in scope.globals:
            return [Tag.NAME, MODULE_SCOPE, ALL_BINDINGS, name]
        found = scope.bindings.get(name) if scope.kind is not ScopeKind.CLASS or scope is start else None
        if found and is_late:
            return _reduce_local(found, hops)
        if found:
            count = ALL_BINDINGS if runs_later else _bound_before(found, position)
            index = scope.definition.index if scope.definition is not None else MODULE_SCOPE
            if count != 0 or scope.kind is ScopeKind.MODULE:
                return [Tag.NAME, index, count, name]
        scope = scope.parent
    return [Tag.NAME, MODULE_SCOPE, ALL_BINDINGS, name]


def _bound_before(bindings: list[Binding], position: int) -> int:
    count = sum(binding.at <= position for binding in bindings)
    return ALL_BINDINGS if count == len(bindings) else count


def _reduce_local(bindings: list[Binding], hops: int) -> Expression:
    """A function's name. It is certain if it is annotated, imported or defined, or assigned one and the same value."""
    if hops >= MAX_LOCAL_HOPS:
        return [Tag.UNKNOWN]
    annotated = next((binding for binding in bindings if binding.is_annotated), None)
    if annotated is not None:
        return reduce_binding(annotated, hops + 1)
    told = [binding for binding in bindings if not is_none(binding)]
    if not told:
        return [Tag.LITERAL]
    if all(binding.chain is None for binding in told):
        values = [reduce_binding(binding, hops + 1) for binding in told]
        if any(value[0] == Tag.UNKNOWN for value in values):
            return [Tag.UNKNOWN]
        return values[0] if len(values) == 1 else [Tag.ANY, values]
    if any(binding.chain != told[0].chain for binding in told):
        return [Tag.UNKNOWN]
    return reduce_binding(told[0], hops + 1)


def is_none(binding: Binding) -> bool:
    """Whether the binding assigns `None`."""
    return binding.chain is not None and binding.chain.root == Root.NONE


def reduce_binding(binding: Binding, hops: int = 0) -> Expression:
    """The value of a binding as an expression."""
    if binding.definition is not None:
        return [Tag.DEFINITION, binding.definition.index] if binding.definition.index >= 0 else [Tag.UNKNOWN]
    if binding.receiver is not None:
        return [binding.receiver_tag, binding.receiver.index]
    if binding.expression is not None:
        return binding.expression
    if binding.chain is None or binding.scope is None or _is_dynamic_import(binding.chain):
        return [Tag.UNKNOWN]
    return reduce_chain(binding.chain, binding.scope, binding.at, hops)


def _is_dynamic_import(chain: Chain) -> bool:
    return bool(chain.steps) and chain.steps[-1] == CALL and is_dynamic_import(chain._replace(steps=chain.steps[:-1]))


def is_dynamic_import(chain: Chain) -> bool:
    """Whether this is one of Python's functions that import by a computed name."""
    if chain.name == "importlib":
        return chain.steps in {("import_module",), ("__import__",)}
    return chain.name in {"import_module", "__import__"} and not chain.steps
