"""A repository of Python sources in memory, extracted and resolved as the indexer would do it."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import tree_sitter
import tree_sitter_python

from tenure.code.languages import python_references
from tenure.code.model import ResolvedFile, Symbol
from tenure.code.resolve import ModuleTable, interface_of, modules_of, resolve_file
from tenure.core.ids import file_id, node_id
from tenure.core.memory import NodeType

WORKSPACE = "6f1d2c1e-52f0-4b0e-9d8a-0d5f2f1c7a11"
REPOSITORY = "1b0a5d34-93a4-4a55-8a53-2f9a86c1d002"


def file_node(path: str) -> str:
    return file_id(WORKSPACE, REPOSITORY, path)


@cache
def _language() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_python.language())


def _definition_nodes(root: tree_sitter.Node) -> Iterator[tuple[tree_sitter.Node, tree_sitter.Node]]:
    """(node with its decorators, node that holds the name), outer ones first."""
    query = tree_sitter.Query(
        _language(), "[(function_definition) (class_definition) (type_alias_statement)] @definition"
    )
    nodes = tree_sitter.QueryCursor(query).captures(root).get("definition", [])
    for node in sorted(nodes, key=lambda one: (one.start_byte, -one.end_byte)):
        above = node.parent
        yield (above if above is not None and above.type == "decorated_definition" else node), node


def symbols_of(root: tree_sitter.Node, source: bytes, path: str) -> list[Symbol]:
    """Definitions with dotted names, ordinals and parents, in source order."""
    found: list[Symbol] = []
    ordinals: dict[tuple[str, str], int] = {}
    stack: list[int] = []
    for outer, node in _definition_nodes(root):
        while stack and found[stack[-1]].end_byte <= outer.start_byte:
            stack.pop()
        named = node.child_by_field_name("name") or node.child_by_field_name("left")
        name = source[named.start_byte : named.end_byte].decode().partition("[")[0] if named is not None else ""
        parent = stack[-1] if stack else -1
        qualified = f"{found[parent].qualified_name}.{name}" if parent >= 0 else name
        kind = NodeType.FUNCTION if node.type == "function_definition" else NodeType.CLASS
        ordinal = ordinals.get((kind, qualified), 0)
        ordinals[kind, qualified] = ordinal + 1
        found.append(
            Symbol(
                node_id=node_id(WORKSPACE, kind, REPOSITORY, path, qualified, ordinal),
                type=kind,
                form=node.type,
                name=name,
                qualified_name=qualified,
                ordinal=ordinal,
                parent=parent,
                start_line=outer.start_point[0] + 1,
                end_line=outer.end_point[0] + 1,
                start_byte=outer.start_byte,
                end_byte=outer.end_byte,
                signature="",
                doc="",
            )
        )
        stack.append(len(found) - 1)
    return found


@cache
def extract(path: str, text: str) -> tuple[bytes, bytes, dict[str, str]]:
    """(exports, references, name by node id); ordinals above 0 are told as `name#1`."""
    source = text.encode()
    tree = tree_sitter.Parser(_language()).parse(source)
    symbols = symbols_of(tree.root_node, source, path)
    exports, references = python_references.extract(tree.root_node, source, path, symbols, file_node(path))
    names = {file_node(path): path}
    for symbol in symbols:
        names[symbol.node_id] = f"{path}:{symbol.qualified_name}" + (f"#{symbol.ordinal}" if symbol.ordinal else "")
    return exports, references, names


class PythonRepository:
    """Keeps the resolution of every file, and brings it up to date after changes like the indexer does."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts: dict[str, str] = {}
        self.exports: dict[str, bytes] = {}
        self.references: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        self.resolved: dict[str, ResolvedFile] = {}
        self.table = ModuleTable({})
        self.change(texts)

    def change(self, texts: Mapping[str, str | None]) -> list[str]:
        """Write or remove files, then resolve the changed ones and their dependents; returns what was resolved."""
        keys: set[str] = set()
        changed: list[str] = []
        structural = [path for path, text in texts.items() if (text is None) != (path not in self.texts)]
        for path in structural:
            keys.update(modules_of(path, self.table))
        for path, text in texts.items():
            before = self.exports.pop(path, None)
            self.texts.pop(path, None)
            self.references.pop(path, None)
            self.resolved.pop(path, None)
            if text is not None:
                self.texts[path] = text
                self.exports[path], self.references[path], names = extract(path, text)
                self.names.update(names)
                changed.append(path)
            after = self.exports.get(path)
            if before is not None and after is not None and interface_of(before) != interface_of(after):
                keys.update(modules_of(path, self.table, is_new_or_gone=False))
        for path in texts:
            self.table.replace(path, self.exports.get(path))
        dependents = [path for path, known in self.resolved.items() if keys.intersection(known.lookups)]
        self.resolve([*changed, *dependents])
        return sorted({*changed, *dependents})

    def resolve(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.resolved[path] = resolve_file(WORKSPACE, file_node(path), path, self.references[path], self.table)

    def edges(self, type: str) -> set[tuple[str, str]]:
        """(source, target) by readable names; a target that is no present node shows as its id."""
        return {
            (self.names[edge.source_id], self.names.get(edge.target_id, edge.target_id))
            for resolved in self.resolved.values()
            for edge in resolved.edges
            if edge.type == type
        }

    def unresolved(self, kind: str) -> set[tuple[str, str]]:
        """(source, name as written)."""
        return {
            (self.names[one.source_id], one.name)
            for resolved in self.resolved.values()
            for one in resolved.unresolved
            if one.kind == kind
        }

    def rows(self) -> dict[str, tuple[list[tuple[object, ...]], list[tuple[object, ...]]]]:
        """Everything that is stored of each file, comparable."""
        return {
            path: (
                sorted((e.source_id, e.target_id, e.type.value, e.line) for e in resolved.edges),
                sorted((u.source_id, u.kind, u.name, u.line) for u in resolved.unresolved),
            )
            for path, resolved in self.resolved.items()
        }
