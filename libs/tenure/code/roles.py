"""What a file is for, by its path and language alone."""

import re

from tenure.code.languages.registry import TextKind, kind_of
from tenure.core.memory import FileRole

_TEST_FOLDERS = frozenset({"tests", "__tests__"})
"""Folders that hold tests wherever they stand. `testing` is a library's own support for its users' tests."""

_TEST_ROOTS = frozenset({"test"})
"""Folders that hold tests only at the top or below `src`: deeper ones (`django/test/`) are packages for testing."""

_TEST_NAME = re.compile(
    r"(?:test_.*|.*_test|conftest|tests?)\.pyi?"
    r"|.*[._-](?:test|spec)\.[cm]?[jt]sx?"
    r"|.*_test\.(?:go|cc|cpp|rb|dart|exs)|.*_spec\.rb"
    r"|.*(?:Test|Tests|IT)\.(?:java|kt|cs|scala|php)"
)


def is_test_path(path: str) -> bool:
    """Whether a file belongs to the tests: by a folder on the way, or by its own name as the test runners know it."""
    *folders, name = path.replace("\\", "/").split("/")
    if _TEST_NAME.fullmatch(name):
        return True
    for depth, folder in enumerate(folders):
        if folder in _TEST_FOLDERS:
            return True
        if folder in _TEST_ROOTS and (depth == 0 or folders[depth - 1] == "src"):
            return True
    return False


def role_of(path: str, language: str) -> FileRole:
    """The role of a file. A test is a test in any language but prose."""
    kind = kind_of(language)
    if kind is TextKind.PROSE:
        return FileRole.DOCUMENT
    if is_test_path(path):
        return FileRole.TEST
    return FileRole.CODE if kind is TextKind.SOURCE else FileRole.CONFIG
