"""Types that stand elsewhere: what `as` gives a name to, what a method gives back to who entered it, a setter's getter."""

from collections.abc import Sequence

import tree_sitter

from tenure.code.languages.python_expressions import CALL, UNKNOWN_CHAIN, Chain, Root, chain_of, field, text_of
from tenure.code.languages.python_scopes import Scope

ENTERING = frozenset({"__enter__", "__aenter__"})
"""Methods whose result `with` gives a name to."""

_MAX_NODES = 5_000
"""Nodes of such a method that are looked at; real ones have a few dozen."""
_ACCESSORS = (("setter",), ("deleter",))
_APART = frozenset({"function_definition", "class_definition", "lambda"})


def alias_of(node: tree_sitter.Node, source: bytes) -> tuple[tree_sitter.Node | None, Chain]:
    """(what is bound, the value it gets) of an `as_pattern`; the value is unknown unless the language tells its class."""
    target, children = field(node, "alias"), node.named_children
    if target is None:
        return (children[-1], _matched(children[0], source)) if children else (None, UNKNOWN_CHAIN)
    if target.named_child_count == 1 and target.named_children[0].type == "identifier":
        target = target.named_children[0]
    above = node.parent
    while above is not None and above.type == "parenthesized_expression":
        above = above.parent
    if above is None or not children:
        return target, UNKNOWN_CHAIN
    if above.type == "with_item":
        return target, _entered(above, children[0], source)
    is_one = above.type == "except_clause" and all(part.type != "*" for part in above.children)  # `except*`: a group
    return target, _instance(children[0], source) if is_one else UNKNOWN_CHAIN


def _entered(item: tree_sitter.Node, value: tree_sitter.Node, source: bytes) -> Chain:
    clause = item.parent
    statement = clause.parent if clause is not None else None
    if statement is None:
        return UNKNOWN_CHAIN
    is_async = statement.children[0].type == "async"
    chain = chain_of(value, source)
    known = chain.root in (Root.NAME, Root.SUPER, Root.LITERAL)
    return chain.then("__aenter__" if is_async else "__enter__", CALL) if known else UNKNOWN_CHAIN


def _instance(node: tree_sitter.Node, source: bytes) -> Chain:
    chain = chain_of(node, source) if node.type in {"identifier", "attribute"} else UNKNOWN_CHAIN
    return chain.then(CALL) if chain.root == Root.NAME else UNKNOWN_CHAIN


def _matched(pattern: tree_sitter.Node, source: bytes) -> Chain:
    """An instance of the one class that the pattern names, else unknown."""
    while pattern.type == "case_pattern" and pattern.named_child_count == 1:
        pattern = pattern.named_children[0]
    if pattern.type == "keyword_pattern" and pattern.named_child_count == 2:
        pattern = pattern.named_children[1]
    if pattern.type != "class_pattern" or not pattern.named_child_count:
        return UNKNOWN_CHAIN
    name, *steps = text_of(pattern.named_children[0], source).split(".")
    is_plain = all(part.isidentifier() for part in (name, *steps))
    return Chain(Root.NAME, name, (*steps, CALL)) if is_plain else UNKNOWN_CHAIN


def given_back(function: tree_sitter.Node, source: bytes) -> str:
    """The one name that every `return` of the function gives back, '' if they differ, if there is none, and for a
    generator.
    """
    body = field(function, "body")
    waiting = [body] if body is not None else []
    names: set[str] = set()
    for _ in range(_MAX_NODES):
        if not waiting:
            return names.pop() if len(names) == 1 else ""
        node = waiting.pop()
        if node.type == "yield":
            return ""
        if node.type == "return_statement":
            value = node.named_children[0] if node.named_child_count else None
            names.add(text_of(value, source) if value is not None and value.type == "identifier" else "")
        waiting += [child for child in node.named_children if child.type not in _APART]
    return ""


def inherited_type(decorators: Sequence[Chain], scope: Scope) -> Chain | None:
    """What a property returns of which this definition is the setter or deleter: its getter has the annotation."""
    getter = next((chain for chain in decorators if chain.steps[-1:] in _ACCESSORS), None)
    if getter is None or getter.root != Root.NAME:
        return None
    if len(getter.steps) > 1:
        return getter._replace(steps=getter.steps[:-1])  # `@Other.name.setter`: reading the other class's property
    known = scope.bindings.get(getter.name, ())
    return known[-1].definition.returns if known and known[-1].definition is not None else None
