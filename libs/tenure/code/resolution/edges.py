"""A file's references as edges, and those that lead nowhere certain."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tenure.code.model import ResolvedFile
from tenure.code.resolution.entities import BUILTIN, DEFINITION, EXTERNAL, INSTANCE, MISSING, MODULE, Entity
from tenure.code.resolution.lookups import Lookups
from tenure.code.resolution.table import ModuleTable
from tenure.code.resolution.views import FileView, Stored
from tenure.core.memory import Edge, EdgeType
from tenure.ports.records import Unresolved

UNRESOLVED_CALL = "call"
UNRESOLVED_IMPORT = "import"
UNRESOLVED_BASE = "extends"
DYNAMIC = "dynamic"
"""An import by a name that is computed when the program runs."""
OUTSIDE = "external"
"""The target lies outside the repository."""

_UNRESOLVED = {"c": UNRESOLVED_CALL, "r": UNRESOLVED_CALL, "b": UNRESOLVED_BASE}


@dataclass(slots=True)
class _Collected:
    """Edges by (source, target, type) and unresolved references by (source, kind, name), first line kept."""

    file_id: str
    edges: dict[tuple[str, str, EdgeType], int] = field(default_factory=dict)
    unresolved: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def link(self, source: str, target: str, type: EdgeType, line: int) -> None:
        known = self.edges.setdefault((source, target, type), line)
        if line < known:
            self.edges[source, target, type] = line

    def miss(self, source: str, kind: str, name: str, line: int) -> None:
        known = self.unresolved.setdefault((source, kind, name), line)
        if line < known:
            self.unresolved[source, kind, name] = line

    def result(self, keys: set[str]) -> ResolvedFile:
        return ResolvedFile(
            self.file_id,
            [
                Edge(source, target, kind, self.file_id, line=line)
                for (source, target, kind), line in self.edges.items()
            ],
            [Unresolved(self.file_id, *reference, line) for reference, line in self.unresolved.items()],
            sorted(keys),
        )


def resolve_file(
    workspace_id: str,  # noqa: ARG001 - of every language's contract; Python's targets carry their ids
    file_id: str,
    path: str,
    references: bytes,
    table: ModuleTable,
) -> ResolvedFile:
    """The file's edges (imports, calls, extends, implements, references), what is unresolved, and the keys that were
    looked up on the way.

    The table must hold the file's own exports. Equal tables and references give equal results, whatever was resolved
    before. Calls of Python's own functions are neither edges nor unresolved. Files without references give nothing.
    """
    collected = _Collected(file_id)
    if not references:
        return collected.result(set())
    known: dict[str, Any] = json.loads(references)
    table.questions.begin()
    resolver = _FileResolver(Lookups(table, table.questions), table, table.view(path).whole(known["d"]), collected)
    owners: list[str] = known["o"]
    for owner, line, level, module, name in _rows(known["i"]):
        resolver.take_import(owners[owner], line, level, module, name)
    for kind, owner, line, written, expression in _rows(known["r"]):
        resolver.take_use(kind, owners[owner], line, written, expression)
    if path.endswith(".pyi"):
        resolver.take_stub()
    return collected.result(table.questions.keys)


def _rows(flat: list[Any]) -> Iterator[tuple[Any, Any, Any, Any, Any]]:
    parts = iter(flat)
    return zip(parts, parts, parts, parts, parts, strict=True)


class _FileResolver:
    """Turns one file's references into edges, one at a time."""

    def __init__(self, lookups: Lookups, table: ModuleTable, view: FileView, collected: _Collected) -> None:
        self._lookups = lookups
        self._table = table
        self._view = view
        self._collected = collected
        self._meanings: dict[tuple[str, str], Entity] = {}

    # -- uses ----------------------------------------------------------------------------------------------------------

    def take_use(self, kind: str, owner: str, line: int, written: str, expression: Stored) -> None:
        """A call, decorator, base class or dynamic import."""
        if kind == "y":
            self._collected.miss(owner, DYNAMIC, written, line)
            return
        entity = self._meaning(kind, expression)
        if entity.tag == DEFINITION and (kind != "b" or entity.is_class):
            self._collected.link(owner, entity.node_id, self._type_of(kind, owner, entity), line)
        elif entity.tag == EXTERNAL:
            self._collected.miss(owner, OUTSIDE, written, line)
        elif entity.tag != BUILTIN.tag:
            self._collected.miss(owner, _UNRESOLVED[kind], written, line)

    def _meaning(self, kind: str, expression: Stored) -> Entity:
        """What is used. Files use the same expression in many functions; its keys have been noted the first time."""
        question = (kind, str(expression))
        entity = self._meanings.get(question)
        if entity is None:
            entity = self._lookups.evaluate(self._view, expression)
            if entity.tag == INSTANCE and kind == "c":
                entity = self._lookups.member(entity, "__call__")
            self._meanings[question] = entity
        return entity

    def _type_of(self, kind: str, owner: str, target: Entity) -> EdgeType:
        if kind == "c":
            return EdgeType.CALLS
        if kind == "r":
            return EdgeType.REFERENCES
        assert target.view is not None  # noqa: S101 - definitions have a view
        is_interface = self._lookups.lineage(target.view, target.number).is_protocol
        return EdgeType.IMPLEMENTS if is_interface and not self._is_protocol(owner) else EdgeType.EXTENDS

    def _is_protocol(self, node: str) -> bool:
        """Whether this class of the file describes an interface itself."""
        places = (number for number, definition in enumerate(self._view.definitions) if definition[2] == node)
        return any(self._lookups.lineage(self._view, number).is_protocol for number in places)

    # -- imports -------------------------------------------------------------------------------------------------------

    def take_import(self, owner: str, line: int, level: int, module: str, name: str) -> None:
        """One imported module or name; `name` is '' for `import module`, `*` for all names."""
        written = "." * level + module + ("" if name in {"", "*"} else "." + name if module else name)
        found = self._lookups.module_named(self._view, level, module)
        if found.stem is None:
            self._collected.miss(owner, OUTSIDE if found.is_external else UNRESOLVED_IMPORT, written, line)
        elif name in {"", "*"}:
            self._link_module(found.stem, line)
        else:
            self._import_name(owner, line, found.stem, name, written)

    def _import_name(self, owner: str, line: int, stem: str, name: str, written: str) -> None:
        inner = self._table.index.submodule(stem, name, self._lookups.questions.keys)
        if inner is not None and stem == self._view.stem:
            self._link_module(inner, line)
            return
        entity = self._lookups.bound_in(stem, name)
        if entity is not MISSING:
            self._link_module(stem, line)
            if entity.tag == MODULE:
                self._link_module(entity.name, line)
        elif inner is not None:
            self._link_module(inner, line)
        else:
            self._link_module(stem, line)
            self._collected.miss(owner, UNRESOLVED_IMPORT, written, line)

    def _link_module(self, stem: str, line: int) -> None:
        """An edge to the module's source, or its stub if that is all there is; namespace packages have neither."""
        files = self._table.index.files(stem)
        target = self._table.view(files[0]).file_id if files else ""
        if target and files[0] != self._view.path:
            self._collected.link(self._collected.file_id, target, EdgeType.IMPORTS, line)

    # -- stubs ---------------------------------------------------------------------------------------------------------

    def take_stub(self) -> None:
        """Link a stub and its definitions to the source that they describe."""
        stem = self._view.stem
        self._lookups.questions.keys.add(stem)
        source = next((path for path in self._table.index.files(stem) if path.endswith(".py")), None)
        if source is None:
            return
        view = self._table.view(source)
        if view.file_id:
            self._collected.link(self._collected.file_id, view.file_id, EdgeType.REFERENCES, 1)
        described = {definition[1]: definition[2] for definition in view.definitions}
        for definition in self._view.definitions:
            if definition[1] in described:
                self._collected.link(definition[2], described[definition[1]], EdgeType.REFERENCES, 1)
