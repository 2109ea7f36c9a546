"""The module table and its keys."""

from tenure.code.resolve import ModuleTable, modules_of, resolve_file
from tests.support.python_repository import WORKSPACE, PythonRepository, file_node


def test_files_of_other_languages_take_no_part() -> None:
    table = ModuleTable({"README.md": b"", "a.js": b""})
    table.replace("b.js", b"")
    assert "b.js" not in table
    assert modules_of("README.md", table) == []


def test_a_file_without_references_has_no_edges_and_no_lookups() -> None:
    resolved = resolve_file(WORKSPACE, file_node("x.py"), "x.py", b"", ModuleTable({"x.py": b""}))
    assert (resolved.edges, resolved.unresolved, resolved.lookups) == ([], [], [])


def test_an_edit_concerns_the_module_alone_and_a_new_file_the_namespaces_above_it() -> None:
    table = PythonRepository({"pkg/__init__.py": "", "pkg/a.py": "", "space/b.py": ""}).table
    assert modules_of("pkg/a.py", table, is_new_or_gone=False) == ["pkg/a"]
    assert modules_of("pkg/new.py", table) == ["*new", "pkg/new"]
    assert modules_of("space/new.py", table) == ["*new", "*space", "space", "space/new"]
    assert modules_of("space/__init__.py", table) == ["*b", "*space", "space", "space/__init__"]


def test_an_edited_body_concerns_nobody_else() -> None:
    repository = PythonRepository({"a.py": "def f(): ...\n", "b.py": "from a import f\nf()\n", "c.py": "x = 1\n"})
    assert repository.change({"a.py": "\n\ndef f():\n    return len([1])\n"}) == ["a.py"]
    assert repository.change({"a.py": "def g(): ...\n"}) == ["a.py", "b.py"]


def test_a_new_file_is_found_by_those_who_looked_for_it() -> None:
    repository = PythonRepository(
        {"use.py": "import late\nlate.f()\n", "pkg/__init__.py": "", "other.py": "import pkg\n"}
    )
    assert repository.unresolved("external") == {("use.py", "late"), ("use.py", "late.f")}
    assert repository.change({"late.py": "def f(): ...\n"}) == ["late.py", "use.py"]
    assert repository.edges("calls") == {("use.py", "late.py:f")}
    assert repository.change({"late.py": None}) == ["use.py"]
    assert repository.edges("calls") == set()


def test_a_folder_that_becomes_a_package_is_no_source_root_any_more() -> None:
    repository = PythonRepository(
        {"tools/a.py": "import b\nb.f()\n", "tools/b.py": "def f(): ...\n", "b.py": "def f(): ...\n"}
    )
    assert repository.edges("calls") == {("tools/a.py", "tools/b.py:f")}
    assert repository.change({"tools/__init__.py": ""}) == ["tools/__init__.py", "tools/a.py"]
    assert repository.edges("calls") == {("tools/a.py", "b.py:f")}


def test_a_script_without_a_suffix_and_a_notebook_know_their_own_names() -> None:
    source = "from tool import saw\n\n\ndef cut():\n    def trim(): ...\n\n    trim()\n\n\ndef main():\n    cut()\n    saw()\n"
    repository = PythonRepository({"bin/tool": source, "notes.ipynb": source, "tool.py": "def saw(): ...\n"})
    for path in ("bin/tool", "notes.ipynb"):
        calls = {(start, end) for start, end in repository.edges("calls") if start.startswith(path)}
        assert calls == {
            (f"{path}:cut", f"{path}:cut.trim"),
            (f"{path}:main", f"{path}:cut"),
            (f"{path}:main", "tool.py:saw"),
        }


def test_a_script_is_no_module_and_concerns_nobody_else() -> None:
    repository = PythonRepository({"tool": "def cut(): ...\n", "use.py": "import tool\ntool.cut()\n"})
    assert repository.unresolved("external") == {("use.py", "tool"), ("use.py", "tool.cut")}
    assert repository.change({"tool": "def chop(): ...\nchop()\n"}) == ["tool"]
    assert repository.edges("calls") == {("tool", "tool:chop")}
    assert repository.change({"tool": None}) == []
    assert repository.edges("calls") == set()
    assert "tool" not in repository.table
