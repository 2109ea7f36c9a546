"""References of Python files resolved across a repository: the public face of `tenure.code.resolution`.

How the pieces keep *incremental = full*: `resolve_file` returns the keys of every question that it asked of the table
(`lookups`); `modules_of` tells which keys a changed file can answer differently. Re-resolving the changed files and
those whose lookups meet these keys gives what resolving everything would give.
"""

from tenure.code.resolution.edges import (
    DYNAMIC,
    OUTSIDE,
    UNRESOLVED_BASE,
    UNRESOLVED_CALL,
    UNRESOLVED_IMPORT,
    resolve_file,
)
from tenure.code.resolution.modules import keys_of
from tenure.code.resolution.table import ModuleTable
from tenure.code.resolution.views import interface_of

__all__ = [
    "DYNAMIC",
    "OUTSIDE",
    "UNRESOLVED_BASE",
    "UNRESOLVED_CALL",
    "UNRESOLVED_IMPORT",
    "ModuleTable",
    "interface_of",
    "modules_of",
    "resolve_file",
]


def modules_of(path: str, table: ModuleTable, *, is_new_or_gone: bool = True) -> list[str]:
    """The keys under which a change of this file can matter to others, as they stand in `ResolvedFile.lookups`.

    Pass `is_new_or_gone=False` for a file that was and is there and whose `interface_of` changed; if even that did not
    change, nothing depends on the change. The table may be that before or after the changes, the same one for all
    changed paths. Paths that are not Python's have none.
    """
    return keys_of(path, table.index, is_new_or_gone=is_new_or_gone)
