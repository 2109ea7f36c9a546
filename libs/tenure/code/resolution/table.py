"""The modules of one repository with what each of them exports, kept up to date file by file."""

from collections.abc import Mapping

from tenure.code.resolution.modules import ModuleIndex, is_python
from tenure.code.resolution.questions import Questions
from tenure.code.resolution.views import FileView


class ModuleTable:
    """All Python files of a repository by path, from their `exports` bytes: modules, and what nothing imports, as scripts
    without a suffix and notebooks. Files are decoded when they are first looked at; other paths have no exports and are passed
    over. Not safe for use by several threads at once.
    """

    def __init__(self, exports: Mapping[str, bytes]) -> None:
        self._exports = {path: value for path, value in exports.items() if value or is_python(path)}
        self._views: dict[str, FileView] = {}
        self.index = ModuleIndex(sorted(filter(is_python, self._exports)))
        self.questions = Questions()

    def __contains__(self, path: object) -> bool:
        return path in self._exports

    def exports_of(self, path: str) -> bytes | None:
        """The file's exports as given, None for a path that is not in the table."""
        return self._exports.get(path)

    def replace(self, path: str, exports: bytes | None) -> None:
        """Give the file these exports, or take it out (None); equal ones change nothing, an unknown path is not gone."""
        if not is_python(path):
            exports = exports or None
        if self._exports.get(path) == exports:
            return
        is_known = path in self._exports
        if exports is None:
            del self._exports[path]
        else:
            self._exports[path] = exports
        if is_python(path) and exports is None:
            self.index.remove(path)
        elif is_python(path) and not is_known:
            self.index.add(path)
        self._views.pop(path, None)
        self.questions.forget()

    def view(self, path: str) -> FileView:
        """The file's decoded exports; empty for a path that is not in the table."""
        known = self._views.get(path)
        if known is None:
            known = self._views[path] = FileView(path, self._exports.get(path, b""))
        return known
