"""Which file a module name means, for one repository and one importing file.

A module is identified by its *stem*: its path without suffix, a package's folder (`pkg/core`, `pkg`; `.` for a package
at the repository's root). Source roots are not configured but follow from the paths: any folder that is not itself a
package can be one.

Every question is recorded as a *key* that stays valid whatever is added or removed: `pkg/core` (is there such a
module, and what does it hold), `*core` (in which roots is there a top-level `core`), `pkg/__init__` (is the folder a
package). `keys_of` tells the keys whose answer a file can change.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from tenure.code.resolution.python_names import STDLIB_MODULES

ROOT_STEM = "."
SOURCE_ROOTS = frozenset({"src", "lib", "Lib", "python", "source"})
"""Folder names that hold importable code by convention: their modules are found from elsewhere in the repository, and
relative imports never climb into them."""

_APART = "test tests testing fixtures testdata test_data example examples samples demo demos docs doc benchmarks"
APART = frozenset(_APART.split())
"""Folders whose packages are importable from inside them only."""

_SUFFIXES = (".py", ".pyi")


class _Rank(IntEnum):
    """Preference among the roots that hold a top-level name; Python's own order first."""

    ABOVE = 0
    """A package or module in a folder above the importer."""
    CONVENTIONAL = 1
    """A package or module in a conventional source root elsewhere."""
    NAMESPACE_ABOVE = 2
    ELSEWHERE = 3
    """A package in any other root."""
    NAMESPACE_ELSEWHERE = 4
    """A namespace package in a conventional source root elsewhere."""


class Found(NamedTuple):
    """The answer to a module name: its stem, or None; `is_external` if no such top-level name is in the repository."""

    stem: str | None
    is_external: bool = False


MISSING = Found(None)
EXTERNAL = Found(None, is_external=True)


def is_python(path: str) -> bool:
    """Whether the path takes part in Python's module names."""
    return path.endswith(_SUFFIXES)


def folder_of(path: str) -> str:
    """The parent folder, '' for the repository's root."""
    return path.rpartition("/")[0]


def join(folder: str, name: str) -> str:
    """The path of a name in a folder."""
    return f"{folder}/{name}" if folder not in {"", ROOT_STEM} else name


def stem_of(path: str) -> str:
    """The stem of a Python file; of a script or notebook, which nothing imports, one that no module has."""
    if not is_python(path):
        return f"{path}/"
    folder, _, name = path.rpartition("/")
    simple = name.rpartition(".")[0]
    return (folder or ROOT_STEM) if simple == "__init__" else join(folder, simple)


def is_init(path: str) -> bool:
    """Whether the file makes its folder a package."""
    return path.rpartition("/")[2] in {"__init__.py", "__init__.pyi"}


class ModuleIndex:
    """The module names of one set of paths. Adding and removing cost the depth of the path."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._files: dict[str, list[str]] = {}
        self._children: dict[str, Counter[str]] = {}
        self._parents: dict[str, set[str]] = {}
        self._visible: dict[str, list[str]] = {}
        self._packages: set[str] = set()
        self._ordered: dict[tuple[str, str], list[tuple[int, list[str]]]] = {}
        self._answers: dict[tuple[str, str], tuple[Found, frozenset[str]]] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Take in a Python file that is not there yet."""
        stem = stem_of(path)
        self._set_files(stem, sorted([*self._files.get(stem, ()), path], key=_precedence))
        self._count(path, 1)

    def remove(self, path: str) -> None:
        """Take out a Python file that is there."""
        stem = stem_of(path)
        self._set_files(stem, [other for other in self._files[stem] if other != path])
        self._count(path, -1)

    def _set_files(self, stem: str, files: list[str]) -> None:
        for known in (self._files, self._visible):
            known.pop(stem, None)
        self._packages.discard(stem)
        if not files:
            return
        self._files[stem] = self._visible[stem] = files
        if is_init(files[0]):
            self._packages.add(stem)
            self._visible[stem] = [path for path in files if is_init(path)]

    def _count(self, path: str, step: int) -> None:
        self._ordered.clear()
        self._answers.clear()
        for folder, name in _places(path):
            names = self._children.setdefault(folder, Counter())
            names[name] += step
            if names[name] > 0:
                self._parents.setdefault(name, set()).add(folder)
                continue
            del names[name]
            self._parents[name].discard(folder)
            if not names:
                del self._children[folder]

    def files(self, stem: str) -> list[str]:
        """The source file, then the stub, of a module; empty for a namespace package or none.

        A package hides a module of the same name beside it.
        """
        return self._visible.get(stem, [])

    def is_package(self, folder: str) -> bool:
        """Whether the folder has an `__init__`."""
        return (folder or ROOT_STEM) in self._packages

    def children(self, folder: str) -> Iterator[str]:
        """Names of modules and of folders with Python files directly inside."""
        yield from self._children.get(folder, ())

    def exists(self, stem: str) -> bool:
        """Whether there is a module, package or namespace package with this stem."""
        return stem in self._files or stem in self._children

    def submodule(self, stem: str, name: str, keys: set[str]) -> str | None:
        """The stem of `name` inside a package or namespace package."""
        if stem in self._files and stem not in self._packages:
            return None
        inner = join(stem, name)
        keys.add(inner)
        return inner if self.exists(inner) else None

    def relative(self, path: str, level: int, module: str, keys: set[str]) -> Found:
        """What `from <level dots><module> import` means in that file; too many dots is `MISSING`."""
        parts = path.split("/")[:-1]
        if level - 1 > len(parts):
            return MISSING
        folder = "/".join(parts[: len(parts) - level + 1])
        if folder == "" or folder.rpartition("/")[2] in SOURCE_ROOTS:
            keys.add(join(folder, "__init__"))
            if not self.is_package(folder):
                return MISSING
        return self._inside(folder or ROOT_STEM, module.split(".") if module else [], keys)

    def absolute(self, path: str, dotted: str, keys: set[str]) -> Found:
        """What `import <dotted>` means in that file. Two equally good answers are none."""
        question = (folder_of(path), dotted)
        known = self._answers.get(question)
        if known is None or self._is_namesake(path, dotted):
            own_keys: set[str] = set()
            known = self._find_absolute(path, dotted, own_keys), frozenset(own_keys)
            if not self._is_namesake(path, dotted):
                self._answers[question] = known
        keys |= known[1]
        return known[0]

    def _find_absolute(self, path: str, dotted: str, keys: set[str]) -> Found:
        top, *rest = dotted.split(".")
        keys.add("*" + top)
        is_expected = False
        for rank, roots in self._roots(folder_of(path), top):
            is_expected = is_expected or rank not in (_Rank.NAMESPACE_ABOVE, _Rank.NAMESPACE_ELSEWHERE)
            stems = [join(root, top) for root in roots]
            answers = [self._inside(stem, rest, keys) for stem in stems if not self._is_itself(stem, path)]
            hits = [answer for answer in answers if answer.stem is not None]
            if hits:
                return hits[0] if len(hits) == 1 else MISSING
        return MISSING if is_expected else EXTERNAL

    def _is_namesake(self, path: str, dotted: str) -> bool:
        """Whether the file could be taken for the module that it imports; only then its name matters to the answer."""
        name = path.rpartition("/")[2]
        return name.startswith(dotted.partition(".")[0] + ".")

    def _inside(self, stem: str, names: list[str], keys: set[str]) -> Found:
        keys.add(stem)
        found: str | None = stem if self.exists(stem) or stem == ROOT_STEM else None
        for name in names:
            if found is not None:
                found = self.submodule(found, name, keys)
        return Found(found)

    def _is_itself(self, stem: str, path: str) -> bool:
        """A script that shares its name with the module it imports does not import itself."""
        return not is_init(path) and path in self.files(stem)

    def _roots(self, folder: str, top: str) -> list[tuple[int, list[str]]]:
        """Roots that hold the top-level name, for an importer in that folder, best first, equally good ones together."""
        key = (folder, top)
        known = self._ordered.get(key)
        if known is not None:
            return known
        ranked: dict[tuple[int, int, int], list[str]] = {}
        for root in sorted(self._parents.get(top, ())):
            if self._is_root(root, top):
                order = self._order(root, top, folder)
                if order is not None:
                    ranked.setdefault(order, []).append(root)
        self._ordered[key] = [(order[0], ranked[order]) for order in sorted(ranked)]
        return self._ordered[key]

    def _is_root(self, root: str, top: str) -> bool:
        """A package is no root, but some repositories put an `__init__` into `src` and import from it all the same."""
        if root == "" or not self.is_package(root):
            return True
        return root.rpartition("/")[2] == "src" and top not in STDLIB_MODULES

    def _order(self, root: str, top: str, folder: str) -> tuple[int, int, int] | None:
        files = self.files(join(root, top))
        parts, own = _parts(root), _parts(folder)
        shared = _shared(parts, own)
        order = (-shared, len(parts))
        if shared == len(parts):
            if files:
                return (_Rank.ABOVE, *order)
            return None if top in STDLIB_MODULES else (_Rank.NAMESPACE_ABOVE, *order)
        if top in STDLIB_MODULES or APART.intersection(parts[shared:]):
            return None
        is_conventional = parts[-1] in SOURCE_ROOTS
        if not files:
            return (_Rank.NAMESPACE_ELSEWHERE, *order) if is_conventional else None
        if is_conventional:
            return (_Rank.CONVENTIONAL, *order)
        return (_Rank.ELSEWHERE, *order) if is_init(files[0]) else None


def _precedence(path: str) -> tuple[bool, bool]:
    return (not is_init(path), path.endswith("i"))


def _places(path: str) -> Iterator[tuple[str, str]]:
    """(folder, name) of the module and of each folder above it."""
    stem = stem_of(path)
    while stem not in {"", ROOT_STEM}:
        folder, _, name = stem.rpartition("/")
        yield folder, name
        stem = folder


def _parts(folder: str) -> list[str]:
    return folder.split("/") if folder else []


def _shared(left: list[str], right: list[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def keys_of(path: str, index: ModuleIndex, *, is_new_or_gone: bool) -> list[str]:
    """The keys whose answers a change of this file can change.

    With an edit it is the module alone. A file that is new or gone also decides which names exist: its own, those of
    namespace packages above it, and, for an `__init__`, whether its folder is a source root. `index` may be that from
    before or from after the change, as long as all changed files are asked of the same one: what differs between the
    two follows from another changed file.
    """
    if not is_python(path):
        return []
    stem = stem_of(path)
    keys = {stem}
    if not is_new_or_gone:
        return [stem]
    if is_init(path):
        folder = folder_of(path)
        keys.add(join(folder, "__init__"))
        keys.update("*" + name for name in index.children(folder))
    for folder, name in _places(path):
        above = join(folder, name)
        if above == stem or not index.is_package(above):
            keys.update((above, "*" + name))
    return sorted(keys)
