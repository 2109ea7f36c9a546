"""One pass over a syntax tree that finds every scope, binding and reference, in source order.

A tree-sitter query picks the few kinds of node that matter; the pass keeps a stack of open spans. So nothing recurses
on the input's depth, and error nodes only cost what they swallow.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import tree_sitter

from tenure.code.languages.python_aliases import ENTERING, alias_of, given_back, inherited_type
from tenure.code.languages.python_events import BLOCKS, CONDITIONS, stretches_of
from tenure.code.languages.python_expressions import (
    UNKNOWN_CHAIN,
    Chain,
    Root,
    chain_of,
    read_annotation,
    text_of,
)
from tenure.code.languages.python_expressions import field as child
from tenure.code.languages.python_pieces import Piece
from tenure.code.languages.python_scopes import (
    Binding,
    Definition,
    Scope,
    ScopeKind,
    Tag,
    is_dynamic_import,
    kind_of_body,
)
from tenure.code.languages.python_statements import (
    bound_names,
    dotted_names,
    first_argument,
    imported_names,
    module_of,
    parameters_of,
    string_items,
)
from tenure.code.model import Symbol
from tenure.core.memory import NodeType

_PROPERTIES = frozenset({"property", "cached_property", "setter", "getter", "deleter", "classproperty"})
_CLASS_FIRST = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})


@dataclass(slots=True)
class Reference:
    """A use of a name that may become an edge. `kind` is c (call), r (decorator), b (base class) or y (dynamic)."""

    kind: str
    owner: str
    line: int
    written: str
    chain: Chain
    scope: Scope
    position: int


@dataclass(slots=True)
class Import:
    """An import of a module (`name` empty), of all its public names (`*`) or of one of them."""

    owner: str
    line: int
    level: int
    module: str
    name: str


@dataclass(slots=True)
class _Span:
    """An open stretch of source: the scope that names in it see, and the node that owns what it refers to."""

    end: int
    scope: Scope
    owner: str
    is_conditional: bool = False
    decorated: tree_sitter.Node | None = None
    inner: Scope | None = None


@dataclass(slots=True)
class Sweep:
    """What the pass found. `exported` is the literal `__all__`, None if there is none or it is computed."""

    source: bytes
    symbols: dict[int, Symbol]
    file_id: str
    module: Scope = field(default_factory=lambda: Scope(ScopeKind.MODULE, None))
    definitions: list[Definition] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    exported: list[str] | None = None
    is_export_computed: bool = False
    _spans: list[_Span] = field(default_factory=list)
    _chains: dict[bytes, Chain] = field(default_factory=dict)
    _called: set[tuple[bytes, Scope, str]] = field(default_factory=set)

    def run(self, root: tree_sitter.Node, pieces: Sequence[Piece]) -> None:
        """Walk the whole tree once, and each piece in the place of its stretch. Pieces begin at the module's level."""
        self._spans = [_Span(len(self.source) + 1, self.module, self.file_id)]
        handlers = self._handlers()
        spans = self._spans
        for events in stretches_of(root, pieces, len(self.source)):
            del spans[1:]
            for start, _end, number, node in events:
                while start >= spans[-1].end and len(spans) > 1:
                    spans.pop()
                if number < 0:
                    self._open_body(node)
                else:
                    handlers[node.type](node, spans[-1])

    def _handlers(self) -> dict[str, Callable[[tree_sitter.Node, _Span], None]]:
        table: dict[str, Callable[[tree_sitter.Node, _Span], None]] = {
            "function_definition": self._define,
            "class_definition": self._define,
            "decorated_definition": self._decorated,
            "call": self._call,
            "decorator": self._decorator,
            "import_statement": self._import,
            "import_from_statement": self._import_from,
            "assignment": self._assign,
            "augmented_assignment": self._augment,
            "named_expression": self._walrus,
            "for_in_clause": self._bind_clause,
            "as_pattern": self._bind_alias,
            "global_statement": self._global,
            "nonlocal_statement": self._global,
            "type_alias_statement": self._type_alias,
        }
        table.update(dict.fromkeys(BLOCKS.split(), self._open_block))
        table.update(dict.fromkeys(CONDITIONS.split(), self._open_condition))
        return table

    # -- spans ---------------------------------------------------------------------------------------------------------

    def _open_body(self, body: tree_sitter.Node) -> None:
        head = self._spans[-1]
        if head.inner is not None:
            self._spans.append(_Span(body.end_byte, head.inner, head.owner))

    def _open_block(self, node: tree_sitter.Node, span: _Span) -> None:
        scope = Scope(ScopeKind.BLOCK, span.scope)
        self._spans.append(_Span(node.end_byte, scope, span.owner, span.is_conditional))
        for name, _annotation in parameters_of(child(node, "parameters"), self.source):
            self._bind(scope, name, node.start_byte, expression=[Tag.UNKNOWN])

    def _open_condition(self, node: tree_sitter.Node, span: _Span) -> None:
        if node.type == "for_statement":
            self._bind_targets(child(node, "left"), span, node.start_byte)
        if node.type == "case_clause":
            for pattern in node.named_children:
                if pattern.type == "case_pattern":
                    self._bind_targets(pattern, span, node.start_byte)
        self._spans.append(_Span(node.end_byte, span.scope, span.owner, is_conditional=True))

    # -- definitions ---------------------------------------------------------------------------------------------------

    def _decorated(self, node: tree_sitter.Node, span: _Span) -> None:
        symbol = self.symbols.get(node.start_byte)
        owner = symbol.node_id if symbol is not None else span.owner
        self._spans.append(_Span(node.end_byte, span.scope, owner, span.is_conditional, decorated=node))

    def _define(self, node: tree_sitter.Node, span: _Span) -> None:
        decorated = span.decorated if span.decorated is not None and span.end == node.end_byte else None
        symbol = self.symbols.get((decorated or node).start_byte)
        chains = self._decorators(decorated)
        decorators = [chain.steps[-1] if chain.steps else chain.name for chain in chains]
        is_class = node.type == "class_definition"
        inner = Scope(kind_of_body(is_class, symbol is not None), span.scope)
        owner = span.owner
        at = node.end_byte
        if symbol is not None:
            owner = symbol.node_id
            definition = Definition(symbol, span.scope, symbol.type is NodeType.CLASS, position=node.start_byte)
            definition.body, inner.definition = inner, definition
            self.definitions.append(definition)
            definition.is_property = not is_class and not _PROPERTIES.isdisjoint(decorators)
            self._describe(definition, node, is_class)
            if definition.is_property and definition.returns in (None, UNKNOWN_CHAIN):
                definition.returns = inherited_type(chains, span.scope)
            self._bind(span.scope, symbol.name, at, span.is_conditional, definition=definition)
        else:
            self._bind_targets(child(node, "name"), span, at)
        self._spans.append(_Span(at, span.scope, owner, inner=inner))
        if not is_class:
            self._bind_parameters(node, inner, decorators)

    def _describe(self, definition: Definition, node: tree_sitter.Node, is_class: bool) -> None:
        if not is_class:
            definition.returns = read_annotation(child(node, "return_type"), self.source)
            definition.gives_back = given_back(node, self.source) if definition.symbol.name in ENTERING else ""
            return
        arguments = child(node, "superclasses")
        for base in arguments.named_children if arguments is not None else ():
            if base.type in {"keyword_argument", "comment", "list_splat", "dictionary_splat"}:
                continue
            chain = self._chain(base)
            definition.bases.append(chain)
            self._refer("b", definition.symbol.node_id, base, chain, definition.scope)

    def _decorators(self, decorated: tree_sitter.Node | None) -> list[Chain]:
        nodes = decorated.named_children if decorated is not None else ()
        return [self._chain(n.named_children[0]) for n in nodes if n.type == "decorator" and n.named_child_count]

    def _bind_parameters(self, node: tree_sitter.Node, inner: Scope, decorators: Collection[str]) -> None:
        parameters = parameters_of(child(node, "parameters"), self.source)
        at = node.start_byte
        owner = inner.parent.definition if inner.parent is not None else None
        is_method = inner.parent is not None and inner.parent.kind is ScopeKind.CLASS and owner is not None
        for number, (name, annotation) in enumerate(parameters):
            binding = Binding(name, at)
            if number == 0 and is_method and "staticmethod" not in decorators:
                function = child(node, "name")
                takes_class = "classmethod" in decorators or (
                    function is not None and text_of(function, self.source) in _CLASS_FIRST
                )
                binding.receiver, binding.receiver_tag = owner, Tag.CLASS if takes_class else Tag.INSTANCE
            elif annotation is not None:
                binding.chain, binding.scope, binding.is_annotated = annotation, inner.parent, True
            else:
                binding.expression = [Tag.UNKNOWN]
            inner.bind(binding)

    def _type_alias(self, node: tree_sitter.Node, span: _Span) -> None:
        symbol = self.symbols.get(node.start_byte)
        if symbol is None:
            self._bind_targets(child(node, "left"), span, node.end_byte)
            return
        definition = Definition(symbol, span.scope, is_class=True, position=node.start_byte)
        self.definitions.append(definition)
        self._bind(span.scope, symbol.name, node.end_byte, span.is_conditional, definition=definition)

    # -- assignments ---------------------------------------------------------------------------------------------------

    def _assign(self, node: tree_sitter.Node, span: _Span) -> None:
        left, annotation, right = child(node, "left"), child(node, "type"), child(node, "right")
        while right is not None and right.type == "assignment":
            right = child(right, "right")
        if left is None:
            return
        chain = read_annotation(annotation, self.source) if annotation is not None else UNKNOWN_CHAIN
        is_annotated = chain.root == Root.NAME
        if not is_annotated and right is not None:
            chain = self._chain(right)
        if left.type == "identifier":
            name = text_of(left, self.source)
            binding = Binding(name, node.end_byte, span.is_conditional, is_annotated, chain=chain, scope=span.scope)
            span.scope.bind(binding)
            if name == "__all__" and span.scope is self.module:
                self._export(right, is_new=True)
        elif left.type == "attribute":
            self._assign_attribute(left, chain, is_annotated, span, node.end_byte)
        else:
            self._bind_targets(left, span, node.end_byte)

    def _assign_attribute(self, left: tree_sitter.Node, chain: Chain, is_annotated: bool, span: _Span, at: int) -> None:
        target = self._chain(left)
        if target.root != Root.NAME or len(target.steps) != 1:
            return
        receiver = span.scope.bindings.get(target.name, [])
        owner = receiver[0].receiver if len(receiver) == 1 else None
        if owner is None or receiver[0].receiver_tag != Tag.INSTANCE:
            return
        binding = Binding(target.steps[0], at, is_annotated=is_annotated, chain=chain, scope=span.scope)
        owner.attributes.setdefault(target.steps[0], []).append(binding)

    def _augment(self, node: tree_sitter.Node, span: _Span) -> None:
        left = child(node, "left")
        if left is not None and text_of(left, self.source) == "__all__" and span.scope is self.module:
            self._export(child(node, "right"), is_new=False)

    def _export(self, value: tree_sitter.Node | None, *, is_new: bool) -> None:
        """Take the literal names into `__all__`; one computed part makes the whole of it computed."""
        items = string_items(value, self.source)
        if items is None:
            self.is_export_computed = True
        else:
            self.exported = items if is_new or self.exported is None else self.exported + items

    def _walrus(self, node: tree_sitter.Node, span: _Span) -> None:
        name = child(node, "name")
        if name is not None:
            chain = self._chain(child(node, "value"))
            target = span.scope.outside_blocks()
            binding = Binding(text_of(name, self.source), node.end_byte, is_conditional=True, chain=chain)
            binding.scope = span.scope
            target.bind(binding)

    def _bind_clause(self, node: tree_sitter.Node, span: _Span) -> None:
        self._bind_targets(child(node, "left"), span, node.start_byte)

    def _bind_alias(self, node: tree_sitter.Node, span: _Span) -> None:
        target, chain = alias_of(node, self.source)
        if target is None or target.type != "identifier" or chain is UNKNOWN_CHAIN:
            self._bind_targets(target, span, node.end_byte)
            return
        name = text_of(target, self.source)
        span.scope.bind(Binding(name, node.end_byte, span.is_conditional, chain=chain, scope=span.scope))

    def _bind_targets(self, target: tree_sitter.Node | None, span: _Span, at: int) -> None:
        for name in bound_names(target, self.source):
            self._bind(span.scope, name, at, span.is_conditional, expression=[Tag.UNKNOWN])

    def _global(self, node: tree_sitter.Node, span: _Span) -> None:
        names = [text_of(name, self.source) for name in node.named_children if name.type == "identifier"]
        (span.scope.globals if node.type == "global_statement" else span.scope.nonlocals).update(names)

    def _bind(
        self,
        scope: Scope,
        name: str,
        at: int,
        is_conditional: bool = False,
        *,
        definition: Definition | None = None,
        expression: list[object] | None = None,
    ) -> None:
        scope.bind(Binding(name, at, is_conditional, definition=definition, expression=expression))

    # -- references ----------------------------------------------------------------------------------------------------

    def _chain(self, node: tree_sitter.Node | None) -> Chain:
        """The node as a chain. Equal text is equal chains, and most calls of a file are written more than once."""
        if node is None:
            return UNKNOWN_CHAIN
        text = self.source[node.start_byte : node.end_byte]
        known = self._chains.get(text)
        if known is None:
            known = self._chains[text] = chain_of(node, self.source)
        return known

    def _refer(self, kind: str, owner: str, node: tree_sitter.Node, chain: Chain, scope: Scope) -> None:
        line = node.start_point[0] + 1
        self.references.append(Reference(kind, owner, line, chain.written, chain, scope, node.start_byte))

    def _call(self, node: tree_sitter.Node, span: _Span) -> None:
        function = child(node, "function")
        if function is None:
            return
        # Where code runs later, what a name means does not depend on the place: the first call stands for all.
        call = (self.source[function.start_byte : function.end_byte], span.scope, span.owner)
        if call in self._called:
            return
        chain = self._chain(function)
        if is_dynamic_import(chain):
            self._refer_dynamic(node, chain, span)
            return
        if span.scope.is_late:
            self._called.add(call)
        elif chain.name == "__all__" and span.scope is self.module:
            self._export(first_argument(node), is_new=False)
        self._refer("c", span.owner, node, chain, span.scope)

    def _refer_dynamic(self, node: tree_sitter.Node, chain: Chain, span: _Span) -> None:
        arguments = child(node, "arguments")
        literal = string_items(arguments, self.source) if arguments is not None else None
        written = literal[0] if literal else chain.written
        line = node.start_point[0] + 1
        self.references.append(Reference("y", span.owner, line, written, chain, span.scope, node.start_byte))

    def _decorator(self, node: tree_sitter.Node, span: _Span) -> None:
        expression = node.named_children[0] if node.named_child_count else None
        if expression is not None and expression.type != "call" and span.decorated is not None:
            self._refer("r", span.owner, expression, self._chain(expression), span.scope)

    # -- imports -------------------------------------------------------------------------------------------------------

    def _import(self, node: tree_sitter.Node, span: _Span) -> None:
        line, at = node.start_point[0] + 1, node.end_byte
        for module, alias in dotted_names(node, self.source):
            self.imports.append(Import(span.owner, line, 0, module, ""))
            bound = alias or module.split(".")[0]
            target = module if alias else bound
            self._bind(span.scope, bound, at, span.is_conditional, expression=[Tag.MODULE, target])

    def _import_from(self, node: tree_sitter.Node, span: _Span) -> None:
        level, module = module_of(node, self.source)
        line, at = node.start_point[0] + 1, node.end_byte
        for name, alias in imported_names(node, self.source):
            self.imports.append(Import(span.owner, line, level, module, name))
            expression: list[object] = [Tag.MEMBER, level, module, name]
            if name == "*":
                star = Binding("*", at, span.is_conditional, expression=[Tag.STAR, level, module])
                span.scope.stars.append(star)
            else:
                self._bind(span.scope, alias or name, at, span.is_conditional, expression=expression)


def sweep(
    root: tree_sitter.Node, source: bytes, symbols: Sequence[Symbol], file_id: str, pieces: Sequence[Piece] = ()
) -> Sweep:
    """Everything that the tree binds and refers to, each use owned by the innermost symbol around it, else the file."""
    result = Sweep(source, {symbol.start_byte: symbol for symbol in reversed(symbols)}, file_id)
    result.run(root, pieces)
    return result
