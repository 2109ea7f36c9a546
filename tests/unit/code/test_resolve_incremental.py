"""Resolving only what a change can touch gives what resolving everything gives."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.python_repository import PythonRepository

PATHS = [
    "__init__.py",
    "core.py",
    "main.py",
    "pkg.py",
    "pkg/__init__.py",
    "pkg/core.py",
    "pkg/core.pyi",
    "pkg/sub/__init__.py",
    "pkg/sub/core.py",
    "pkg/sub/deep/leaf.py",
    "src/__init__.py",
    "src/core.py",
    "src/pkg/__init__.py",
    "src/pkg/core.py",
    "lib/pkg/sub.py",
    "other/pkg/__init__.py",
    "other/pkg/core.py",
    "tests/core.py",
    "tests/pkg/core.py",
    "space/core.py",
    "space/pkg/core.py",
]
MODULES = [
    "core",
    "pkg",
    "pkg.core",
    "pkg.sub",
    "pkg.sub.core",
    "pkg.sub.deep.leaf",
    "space",
    "space.core",
    "src.core",
    "gone",
]
SOURCES = [*MODULES, ".", "..", "...", ".core", "..core", ".sub", ".pkg", "..pkg.core", ".sub.core", "src.pkg"]
NAMES = ["A", "B", "f", "g", "core", "sub", "pkg"]

name = st.sampled_from(NAMES)
statement = st.one_of(
    st.builds("import {}".format, st.sampled_from(MODULES)),
    st.builds("import {} as {}".format, st.sampled_from(MODULES), name),
    st.builds("from {} import {}".format, st.sampled_from(SOURCES), name),
    st.builds("from {} import {} as {}".format, st.sampled_from(SOURCES), name, name),
    st.builds("from {} import *".format, st.sampled_from(SOURCES)),
    st.builds(
        "try:\n    from {} import {} as A\nexcept ImportError:\n    A = None".format, st.sampled_from(SOURCES), name
    ),
    st.builds(
        "def {}():\n    {}()\n    {}.{}()\n    return {}.{}.{}()".format, name, name, name, name, name, name, name
    ),
    st.builds(
        "def {}() -> {}:\n    from {} import {}\n    {}()".format, name, name, st.sampled_from(SOURCES), name, name
    ),
    st.builds(
        "class {}({}):\n    x = {}()\n    def f(self):\n        self.y = {}()\n        self.g()\n        self.x.f()\n        self.y.g()".format,
        name,
        name,
        name,
        name,
    ),
    st.builds(
        "class {}({}.{}):\n    def g(self):\n        super().f()\n        {}.f(self)".format, name, name, name, name
    ),
    st.builds("{} = {}".format, name, name),
    st.builds("{} = {}.{}()".format, name, name, name),
    st.builds("{}().f()\n{}.g()".format, name, name),
    st.builds("__all__ = ['{}', '{}']".format, name, name),
    st.builds("if TYPE_CHECKING:\n    {} = {}".format, name, name),
)
text = st.lists(statement, max_size=5).map("\n".join)
start = st.dictionaries(st.sampled_from(PATHS), text, min_size=4, max_size=12)
edits = st.lists(
    st.dictionaries(st.sampled_from(PATHS), st.one_of(st.none(), text), min_size=1, max_size=3), min_size=1, max_size=4
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(start, edits)
def test_random_edits_resolved_step_by_step_equal_a_full_resolve(
    texts: dict[str, str], changes: list[dict[str, str | None]]
) -> None:
    repository = PythonRepository(texts)
    for change in changes:
        repository.change({path: new for path, new in change.items() if new is not None or path in repository.texts})
        assert repository.rows() == PythonRepository(repository.texts).rows()


ABSOLUTE = """
import core, pkg.core as one, pkg.sub.core as two
from pkg import core as three
def f():
    core.f(); one.f(); two.f(); three.f()
"""
RELATIVE = """
from . import core as one
from .. import core as two
from ...pkg import core as three
from ..core import f as four
def f():
    one.f(); two.f(); three.f(); four()
"""
FOLDERS_ALONE = """
import space, pkg.sub
from pkg import sub
def f():
    space.f(); pkg.sub.f(); sub.f()
"""
FOLDERS = ["", "pkg/", "pkg/sub/", "src/", "src/pkg/", "tests/", "tests/pkg/", "space/", "x/y/pkg/"]
TOGGLES = [folder + base for folder in FOLDERS for base in ("__init__.py", "core.py", "other.py", "core.pyi")]
contents = st.sampled_from([ABSOLUTE, RELATIVE, FOLDERS_ALONE])
toggles = st.dictionaries(st.sampled_from(TOGGLES), contents, min_size=1, max_size=2)


@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from(TOGGLES), contents, min_size=5, max_size=16),
    st.lists(toggles, min_size=3, max_size=8),
)
def test_files_that_come_and_go_change_what_names_mean_for_exactly_their_dependents(
    texts: dict[str, str], changes: list[dict[str, str]]
) -> None:
    repository = PythonRepository(texts)
    for change in changes:
        repository.change({path: None if path in repository.texts else new for path, new in change.items()})
        assert repository.rows() == PythonRepository(repository.texts).rows()


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(start, st.randoms(use_true_random=False))
def test_the_order_of_resolving_changes_nothing(texts: dict[str, str], random: object) -> None:
    repository = PythonRepository(texts)
    before = repository.rows()
    paths = list(texts)
    random.shuffle(paths)  # type: ignore[attr-defined]  # hypothesis hands out a random.Random
    repository.resolve(paths)
    assert repository.rows() == before


def test_names_that_depend_on_each_other_in_a_circle_mean_the_same_in_every_order() -> None:
    texts = {
        "a.py": "try:\n    from b import n\nexcept ImportError:\n    from c import n",
        "b.py": "try:\n    from a import n\nexcept ImportError:\n    from d import n",
        "c.py": "def n(): pass",
        "d.py": "def n(): pass",
        "use_a.py": "import a\na.n()",
        "use_b.py": "import b\nb.n()",
    }
    repository = PythonRepository(texts)
    before = repository.rows()
    assert repository.edges("calls") == {("use_a.py", "d.py:n"), ("use_b.py", "c.py:n")}
    for order in (["use_a.py", "use_b.py"], ["use_b.py", "use_a.py"]):
        repository.table.questions.forget()
        repository.resolve(order)
        assert repository.rows() == before
