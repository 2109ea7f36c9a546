"""Decoded exports: the definitions and bindings of one file, by name."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from tenure.code.languages.python_scopes import MODULE_SCOPE
from tenure.code.resolution.modules import stem_of

Stored = str | list[Any]
"""An expression as `python_references` stores it."""


class Bound(NamedTuple):
    """One binding of a name. Of a run of bindings that ends unconditionally, only the last stays visible."""

    is_conditional: bool
    expression: Stored


Scope = dict[str, list[Bound]]


class FileView:
    """One file's exports. `definitions` are as `python_references` writes them; a file without exports has none.

    `is_whole` tells whether the definitions inside functions are there too, which only the file itself can see.
    """

    __slots__ = ("_classes", "definitions", "exported", "file_id", "is_whole", "module", "path", "stars", "stem")

    def __init__(self, path: str, exports: bytes) -> None:
        known: dict[str, Any] = json.loads(exports.partition(b"\n")[0]) if exports else {}
        self.path = path
        self.stem = stem_of(path)
        self.file_id: str = known.get("f", "")
        self.definitions: list[list[Any]] = known.get("d", [])
        self.module = _scope(known.get("m", ()))
        self.stars: list[tuple[int, str]] = [(level, module) for level, module in known.get("s", ())]
        exported = known.get("a")
        self.exported: frozenset[str] | None = None if exported is None else frozenset(exported)
        self.is_whole = False
        self._classes: dict[int, Scope] = {}

    def whole(self, inner: list[list[Any]]) -> "FileView":
        """A view that also holds the definitions inside functions."""
        view = FileView(self.path, b"")
        view.file_id, view.module, view.stars, view.exported = self.file_id, self.module, self.stars, self.exported
        view.definitions = self.definitions + inner
        view.is_whole = True
        return view

    def scope(self, index: int) -> Scope:
        """The bindings of the module (-1) or of the class with that index."""
        if index == MODULE_SCOPE:
            return self.module
        known = self._classes.get(index)
        if known is None:
            payload = self.definitions[index][5]
            known = self._classes[index] = _scope(payload[1] if payload else ())
        return known

    def bases(self, index: int) -> list[Stored]:
        """The base classes of the class, in order."""
        payload = self.definitions[index][5]
        bases: list[Stored] = payload[0] if payload else []
        return bases

    def attribute(self, index: int, name: str) -> Stored | None:
        """What instances of the class hold under that name, if it is certain."""
        payload = self.definitions[index][5]
        attributes: dict[str, Stored] = payload[2] if payload else {}
        return attributes.get(name)


def _scope(flat: Iterable[Any]) -> Scope:
    names: Scope = {}
    parts = iter(flat)
    for name, is_conditional, expression in zip(parts, parts, parts, strict=True):
        names.setdefault(name, []).append(Bound(bool(is_conditional), expression))
    return names


def interface_of(exports: bytes) -> bytes:
    """A digest that changes whenever the resolution of other files could change, and not when lines move or bodies
    are edited.
    """
    return hashlib.sha256(exports.partition(b"\n")[0]).digest()
