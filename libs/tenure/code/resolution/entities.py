"""What a name or an expression stands for."""

from typing import NamedTuple

from tenure.code.languages.python_references import Kind
from tenure.code.resolution.views import FileView


class Entity(NamedTuple):
    """A thing that an expression can mean. `tag` tells which of the other fields count.

    `DEFINITION INSTANCE SUPER`: definition `number` of `view`; `MODULE`: the stem `name`; `EXTERNAL`: the dotted `name`
    of something outside the repository; `BUILTIN`: Python's own; `UNKNOWN`: bound, but not to anything certain;
    `MISSING`: not bound at all.
    """

    tag: str
    view: FileView | None = None
    number: int = -1
    name: str = ""

    @property
    def kind(self) -> int:
        """What the definition is."""
        kind: int = self.view.definitions[self.number][4] if self.view is not None else Kind.FUNCTION
        return kind

    @property
    def node_id(self) -> str:
        """The definition's node."""
        node: str = self.view.definitions[self.number][2] if self.view is not None else ""
        return node

    @property
    def is_class(self) -> bool:
        """Whether it is a class, as a value."""
        return self.tag == DEFINITION and self.kind == Kind.CLASS


DEFINITION = "definition"
INSTANCE = "instance"
SUPER = "super"
MODULE = "module"
EXTERNAL = "external"

BUILTIN = Entity("builtin")
UNKNOWN = Entity("unknown")
MISSING = Entity("missing")
RECEIVER = Entity("receiver")
"""What a method was called on; a meaning only until it is known what that is."""

SURE = frozenset({DEFINITION, INSTANCE, SUPER, MODULE})
"""Entities inside the repository."""


class Lineage(NamedTuple):
    """A class and its bases in the order in which members are looked up, as far as the repository holds them."""

    classes: tuple[tuple[FileView, int], ...]
    has_external: bool = False
    has_builtin: bool = False
    has_unknown: bool = False
    is_protocol: bool = False
