"""Python statements taken apart: imported and bound names, parameters, literal lists. No recursion on input depth."""

from collections.abc import Iterator

import tree_sitter

from tenure.code.languages.python_expressions import Chain, field, read_annotation, text_of

_NOT_TARGETS = frozenset({"attribute", "subscript", "call", "type", "keyword_argument"})
"""Inside an assignment's left side these name no new variable."""


def module_of(node: tree_sitter.Node, source: bytes) -> tuple[int, str]:
    """(number of leading dots, dotted name) of the module in `from … import`."""
    module = field(node, "module_name")
    if module is None:
        return 0, ""
    written = _joined(module, source)
    name = written.lstrip(".")
    return len(written) - len(name), name


def _joined(node: tree_sitter.Node, source: bytes) -> str:
    """A dotted name without white space and line continuations."""
    return "".join(text_of(node, source).replace("\\", " ").split())


def imported_names(node: tree_sitter.Node, source: bytes) -> Iterator[tuple[str, str]]:
    """(name, alias or '') of each name of a `from … import`; `*` for all."""
    if any(part.type == "wildcard_import" for part in node.named_children):
        yield "*", ""
        return
    yield from dotted_names(node, source)


def dotted_names(node: tree_sitter.Node, source: bytes) -> Iterator[tuple[str, str]]:
    """(dotted name, alias or '') of each name in the statement's `name` fields."""
    for name in node.children_by_field_name("name"):
        alias = field(name, "alias")
        target = field(name, "name") if name.type == "aliased_import" else name
        if target is not None and target.type == "dotted_name":
            yield _joined(target, source), text_of(alias, source) if alias is not None else ""


def bound_names(target: tree_sitter.Node | None, source: bytes) -> Iterator[str]:
    """The variables that an assignment's left side, a loop's target or a pattern binds."""
    waiting = [target] if target is not None else []
    while waiting:
        node = waiting.pop()
        if node.type == "identifier":
            yield text_of(node, source)
        elif node.type in {"class_pattern", "keyword_pattern"}:
            waiting.extend(node.named_children[1:])
        elif node.type == "as_pattern":
            waiting.extend(node.named_children[:-1])  # its own name is bound by `alias_of`
        elif node.type == "dotted_name":
            # In a pattern one name captures, a dotted one is a value.
            waiting.extend(node.named_children if node.named_child_count == 1 else ())
        elif node.type not in _NOT_TARGETS:
            waiting.extend(node.named_children)


def parameters_of(node: tree_sitter.Node | None, source: bytes) -> list[tuple[str, Chain | None]]:
    """(name, annotation) of each parameter; the annotation of `*args` and `**kwargs` says nothing of the name itself."""
    found: list[tuple[str, Chain | None]] = []
    for parameter in node.named_children if node is not None else ():
        name = field(parameter, "name") or (parameter.named_children[0] if parameter.named_child_count else parameter)
        annotation = field(parameter, "type")
        if name.type in {"list_splat_pattern", "dictionary_splat_pattern"}:
            found.extend((bound, None) for bound in bound_names(name, source))
        elif name.type == "identifier":
            chain = read_annotation(annotation, source) if annotation is not None else None
            found.append((text_of(name, source), chain))
        else:
            found.extend((bound, None) for bound in bound_names(name, source))
    return found


def string_items(node: tree_sitter.Node | None, source: bytes) -> list[str] | None:
    """The strings of a literal list, tuple, argument list, or of one string alone; None if a part is not literal."""
    if node is None:
        return None
    parts = [node] if node.type == "string" else node.named_children
    if node.type not in {"string", "list", "tuple", "argument_list", "set"}:
        return None
    found: list[str] = []
    for part in parts:
        if part.type == "comment":
            continue
        content = part.named_children
        if part.type != "string" or any(piece.type == "interpolation" for piece in content):
            return None
        found.append("".join(text_of(piece, source) for piece in content if piece.type == "string_content"))
    return found


def first_argument(call: tree_sitter.Node) -> tree_sitter.Node | None:
    """The first argument of a call."""
    arguments = field(call, "arguments")
    return arguments.named_children[0] if arguments is not None and arguments.named_child_count else None
