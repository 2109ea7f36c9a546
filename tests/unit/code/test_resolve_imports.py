"""Which module and which definition a name means across files."""

import pytest

from tests.support.python_repository import PythonRepository


def calls_of(texts: dict[str, str], source: str) -> set[str]:
    repository = PythonRepository(texts)
    return {target for owner, target in repository.edges("calls") if owner == source}


PACKAGE = {
    "shop/__init__.py": "from .orders import place as order, Basket\nfrom .tools import *\nfrom . import prices\n\ndef open_shop():\n    return Basket()\n",
    "shop/orders.py": "from shop.prices import total\n\ndef place():\n    return total()\n\nclass Basket:\n    def add(self): ...\n",
    "shop/prices.py": "from . import orders\n\ndef total():\n    return orders.Basket()\n",
    "shop/tools/__init__.py": "__all__ = ['wrap']\nfrom .paper import wrap, _cut, fold\n",
    "shop/tools/paper.py": "from ..prices import total as sum_up\n\ndef wrap():\n    sum_up()\n\ndef _cut(): ...\n\ndef fold(): ...\n",
}


def test_aliased_re_exported_and_starred_names_lead_to_their_definitions() -> None:
    text = "import shop\nimport shop.prices as p\nfrom shop import order as o, wrap\n\ndef main():\n    o(); p.total(); wrap(); shop.open_shop(); shop.prices.total(); shop.Basket().add()\n"
    assert calls_of({**PACKAGE, "main.py": text}, "main.py:main") == {
        "shop/orders.py:place",
        "shop/prices.py:total",
        "shop/tools/paper.py:wrap",
        "shop/__init__.py:open_shop",
        "shop/orders.py:Basket",
        "shop/orders.py:Basket.add",
    }


def test_a_star_import_brings_no_more_than_all_allows() -> None:
    repository = PythonRepository({**PACKAGE, "main.py": "from shop import *\nfrom shop import fold\nfold()\n_cut()\n"})
    assert (
        repository.edges("calls") & {("main.py", "shop/tools/paper.py:fold"), ("main.py", "shop/tools/paper.py:_cut")}
        == set()
    )
    assert ("main.py", "shop.fold") in repository.unresolved("import")
    assert ("main.py", "_cut") in repository.unresolved("call")


def test_circular_imports_end_and_keep_both_edges() -> None:
    repository = PythonRepository(PACKAGE)
    assert {("shop/orders.py", "shop/prices.py"), ("shop/prices.py", "shop/orders.py")} <= repository.edges("imports")
    assert ("shop/prices.py:total", "shop/orders.py:Basket") in repository.edges("calls")


def test_two_modules_of_one_stem_are_never_confused() -> None:
    texts = {
        "a/__init__.py": "",
        "a/service.py": "def ping(): ...\ndef only_a(): ...\n",
        "b/__init__.py": "",
        "b/service.py": "def ping(): ...\n",
        "use.py": "from b import service\nimport a.service as other\ndef run():\n    service.ping(); service.only_a(); other.ping()\n",
        "wrong.py": "import service\nservice.ping()\n",
    }
    repository = PythonRepository(texts)
    assert {t for s, t in repository.edges("calls") if s == "use.py:run"} == {"a/service.py:ping", "b/service.py:ping"}
    assert ("use.py:run", "service.only_a") in repository.unresolved("call")
    assert ("wrong.py", "service") in repository.unresolved("external")
    assert not {target for source, target in repository.edges("calls") if source == "wrong.py"}


@pytest.mark.parametrize(
    ("statement", "target"),
    [
        ("from . import near", "top/in/near.py"),
        ("from .. import far", "top/far.py"),
        ("from ..side.deep import leaf", "top/side/deep.py"),
        ("from .near import thing", "top/in/near.py"),
    ],
)
def test_relative_imports_reach_up_and_down(statement: str, target: str) -> None:
    texts = {
        "top/__init__.py": "",
        "top/far.py": "",
        "top/in/__init__.py": "",
        "top/in/near.py": "thing = 1\n",
        "top/side/__init__.py": "",
        "top/side/deep.py": "leaf = 1\n",
        "top/in/here.py": statement + "\n",
    }
    repository = PythonRepository(texts)
    assert {t for s, t in repository.edges("imports") if s == "top/in/here.py"} == {target}
    assert repository.unresolved("import") == set()


@pytest.mark.parametrize("root", ["", "src/"])
def test_too_many_dots_are_unresolved_even_if_a_file_lies_there(root: str) -> None:
    texts = {
        f"{root}pkg/__init__.py": "",
        f"{root}pkg/mod.py": "from .. import above\nfrom ..... import beyond\nabove.f()\n",
        f"{root}above.py": "def f(): ...\n",
        "above.py": "def f(): ...\n",
    }
    repository = PythonRepository(texts)
    assert repository.unresolved("import") == {(f"{root}pkg/mod.py", "..above"), (f"{root}pkg/mod.py", ".....beyond")}
    assert repository.edges("calls") == set()


def test_conditional_imports_find_the_alternative_that_is_in_the_repository() -> None:
    texts = {
        "slow.py": "def work(): ...\n",
        "types_only.py": "class Plan:\n    def go(self): ...\n",
        "use.py": "from typing import TYPE_CHECKING\ntry:\n    from quick import work\nexcept ImportError:\n    from slow import work\n"
        "if TYPE_CHECKING:\n    from types_only import Plan\n\ndef run(plan: 'Plan'):\n    work()\n    plan.go()\n",
    }
    repository = PythonRepository(texts)
    assert repository.edges("calls") == {("use.py:run", "slow.py:work"), ("use.py:run", "types_only.py:Plan.go")}
    assert ("use.py", "quick.work") in repository.unresolved("external")


def test_imports_inside_functions_are_seen_there_only() -> None:
    texts = {
        "lib_a.py": "def act(): ...\n",
        "use.py": "def one():\n    from lib_a import act\n    def inner():\n        act()\n    act()\n\ndef two():\n    act()\n",
    }
    repository = PythonRepository(texts)
    assert repository.edges("calls") == {("use.py:one", "lib_a.py:act"), ("use.py:one.inner", "lib_a.py:act")}
    assert repository.unresolved("call") == {("use.py:two", "act")}


@pytest.mark.parametrize("folder", ["", "src/", "packages/thing/src/"])
def test_packages_are_found_in_source_roots_from_tests_beside_them(folder: str) -> None:
    texts = {
        f"{folder}thing/__init__.py": "",
        f"{folder}thing/core.py": "def act(): ...\n",
        "tests/test_thing.py": "from thing.core import act\nact()\n",
    }
    assert calls_of(texts, "tests/test_thing.py") == {f"{folder}thing/core.py:act"}


def test_namespace_packages_are_modules_without_a_file() -> None:
    texts = {"ns/part/leaf.py": "def grow(): ...\n", "use.py": "import ns.part.leaf\nns.part.leaf.grow()\n"}
    repository = PythonRepository(texts)
    assert repository.edges("calls") == {("use.py", "ns/part/leaf.py:grow")}
    assert repository.edges("imports") == {("use.py", "ns/part/leaf.py")}


def test_a_package_of_that_name_in_a_fixture_folder_is_no_answer() -> None:
    texts = {"tests/fixtures/yaml/__init__.py": "def load(): ...\n", "app/main.py": "import yaml\nyaml.load()\n"}
    repository = PythonRepository(texts)
    assert repository.edges("calls") == set()
    assert repository.unresolved("external") == {("app/main.py", "yaml"), ("app/main.py", "yaml.load")}


def test_two_equally_good_roots_are_unresolved_instead_of_guessed() -> None:
    texts = {
        "one/src/app/__init__.py": "def f(): ...\n",
        "two/src/app/__init__.py": "def f(): ...\n",
        "main.py": "import app\napp.f()\n",
        "one/run.py": "import app\napp.f()\n",
    }
    repository = PythonRepository(texts)
    assert repository.edges("calls") == {("one/run.py", "one/src/app/__init__.py:f")}
    assert ("main.py", "app") in repository.unresolved("import")


def test_a_folder_called_like_a_standard_module_does_not_hide_it() -> None:
    texts = {
        "json/tool_a.py": "def dumps(): ...\n",
        "lib/types.py": "def f(): ...\n",
        "use.py": "import json, types\njson.dumps()\ntypes.f()\n",
    }
    repository = PythonRepository(texts)
    assert repository.edges("calls") == repository.edges("imports") == set()


def test_a_stub_and_its_source_are_one_and_the_source_wins() -> None:
    texts = {
        "core.py": "def run(): ...\nx = make()\n",
        "core.pyi": "def run() -> int: ...\ndef only_stub() -> int: ...\n",
        "use.py": "import core\ncore.run()\ncore.only_stub()\n",
    }
    repository = PythonRepository(texts)
    assert repository.edges("calls") == {("use.py", "core.py:run"), ("use.py", "core.pyi:only_stub")}
    assert repository.edges("references") == {("core.pyi", "core.py"), ("core.pyi:run", "core.py:run")}
    assert repository.edges("imports") == {("use.py", "core.py")}


def test_dynamic_imports_are_reported_and_what_comes_of_them_is_not_guessed() -> None:
    texts = {
        "core.py": "def run(): ...\n",
        "use.py": "import importlib\ndef go(name):\n    importlib.import_module('core').run()\n    mod = __import__(name)\n    mod.run()\n",
    }
    repository = PythonRepository(texts)
    assert repository.edges("calls") == set()
    assert repository.unresolved("dynamic") == {("use.py:go", "core"), ("use.py:go", "__import__")}
    assert ("use.py:go", "mod.run") in repository.unresolved("call")


def test_builtins_are_no_references_and_other_packages_are_external() -> None:
    texts = {
        "use.py": "import requests\nimport os.path\nprint(len('x'.join([])))\nrequests.get('u')\nos.path.join('a')\nunknown()\n"
    }
    repository = PythonRepository(texts)
    assert repository.unresolved("call") == {("use.py", "unknown")}
    assert {name for _, name in repository.unresolved("external")} == {
        "requests",
        "os.path",
        "requests.get",
        "os.path.join",
    }


def test_a_missing_submodule_of_an_own_package_is_an_unresolved_import() -> None:
    repository = PythonRepository({"pkg/__init__.py": "", "use.py": "import pkg.gone\nfrom pkg import lost\n"})
    assert repository.unresolved("import") == {("use.py", "pkg.gone"), ("use.py", "pkg.lost")}


def test_edges_come_once_with_their_first_line() -> None:
    repository = PythonRepository({"m.py": "def f(): ...\ndef g():\n    f()\n    f()\n\n\nf()\n"})
    lines = {(repository.names[e.source_id], e.line) for e in repository.resolved["m.py"].edges}
    assert lines == {("m.py:g", 3), ("m.py", 7)}
