"""The rules of the house that a file list and a syntax tree can show (DESIGN.md sections 1, 2 and 4)."""

import ast
import statistics
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from tenure.runtime.settings import Settings, known_keys

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (ROOT / "libs" / "tenure", ROOT / "services" / "tenure")
MAX_LINES, MAX_MEDIAN_LINES = 400, 120
BOOTSTRAP = "libs/tenure/runtime/bootstrap.py"
"""The composition root imports adapters where it builds them, so that a command that needs none starts fast."""
MIN_WORDS_OF_A_REASON = 4
"""The code of the check, and three words at least."""
UNWANTED_NAMES = ("utils", "helpers", "common", "misc", "manager")
SERVICES = {"ingestion", "retrieval", "memory", "feedback", "proposals", "agent"}


def _modules() -> list[Path]:
    return sorted(path for folder in SOURCES for path in folder.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or ""


CORE = sorted((SOURCES[0] / "core").rglob("*.py"))
NOT_PURE = frozenset(["asyncio", "io", "logging", "os", "pathlib", "random", "secrets", "socket", "subprocess", "time"])


def test_a_module_has_at_most_400_lines() -> None:
    lines = {_name(path): len(path.read_text("utf-8").splitlines()) for path in _modules()}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_the_median_module_has_at_most_120_lines() -> None:
    lines = [len(path.read_text("utf-8").splitlines()) for path in _modules() if path.name != "__init__.py"]
    assert statistics.median(lines) <= MAX_MEDIAN_LINES


def test_imports_stand_at_the_top_but_in_the_composition_root() -> None:
    inside = [
        f"{_name(path)}: {node.name} imports {', '.join(_imported(inner))}"
        for path in _modules()
        if _name(path) != BOOTSTRAP
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]
    assert inside == []


def test_every_module_says_what_it_is_for() -> None:
    assert [_name(path) for path in _modules() if not ast.get_docstring(_tree(path))] == []


def test_the_namespace_folders_hold_no_file() -> None:
    assert [_name(entry) for folder in SOURCES for entry in folder.iterdir() if entry.is_file()] == []


def test_an_init_file_holds_a_docstring_and_nothing_else() -> None:
    assert [_name(p) for p in _modules() if p.name == "__init__.py" and len(_tree(p).body) > 1] == []


def test_the_core_imports_the_standard_library_and_itself() -> None:
    foreign = [
        f"{_name(path)}: {name}"
        for path in CORE
        for node in ast.walk(_tree(path))
        for name in _imported(node)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith("tenure.core")
    ]
    assert foreign == []


def test_the_core_takes_time_chance_and_files_as_arguments() -> None:
    impure = [
        f"{_name(path)}: {name}"
        for path in CORE
        for node in ast.walk(_tree(path))
        for name in _imported(node)
        if name.partition(".")[0] in NOT_PURE
    ]
    clocks = [
        f"{_name(path)}: {node.attr}"
        for path in CORE
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute) and node.attr in {"now", "utcnow", "today"}
    ]
    assert impure + clocks == []


def test_services_never_import_each_other() -> None:
    crossing = [
        f"{_name(path)}: {name}"
        for path in _modules()
        if (own := path.relative_to(ROOT).parts[2]) in SERVICES
        for node in ast.walk(_tree(path))
        for name in _imported(node)
        if name.startswith("tenure.") and name.split(".")[1] in SERVICES - {own}
    ]
    assert crossing == []


def test_names_say_what_a_module_or_class_does() -> None:
    modules = [_name(p) for p in _modules() if any(p.stem == w or p.stem.endswith(f"_{w}") for w in UNWANTED_NAMES)]
    classes = [
        f"{_name(path)}: {node.name}"
        for path in _modules()
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ClassDef) and node.name.startswith(("Base", "Abstract"))
    ]
    assert modules + classes == []


def test_a_silenced_check_says_why() -> None:
    silent = [
        f"{_name(path)}:{number}"
        for path in _modules()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for mark in ("# noqa", "# type: ignore")
        if mark in line and len(line.partition(mark)[2].split()) < MIN_WORDS_OF_A_REASON
    ]
    assert silent == []


def test_every_setting_is_documented_in_the_shipped_configuration() -> None:
    loaded = yaml.safe_load((ROOT / "config" / "embedded.yaml").read_text("utf-8"))
    named = {f"{section}.{key}" for section, value in loaded.items() if isinstance(value, dict) for key in value}
    named |= {key for key, value in loaded.items() if not isinstance(value, dict)}
    sections = {key for key in Settings.model_fields if key not in named}
    assert set(known_keys()) - sections == named


def test_both_shipped_profiles_differ_only_in_values() -> None:
    embedded, test = (yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text()) for name in ("embedded", "test"))
    shape = {key: sorted(value) if isinstance(value, dict) else None for key, value in embedded.items()}
    assert shape == {key: sorted(value) if isinstance(value, dict) else None for key, value in test.items()}


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
