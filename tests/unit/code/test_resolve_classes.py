"""Members, bases, instances and scopes."""

import pytest

from tenure.code.resolve import interface_of
from tests.support.python_repository import PythonRepository, extract


def calls(text: str, **others: str) -> set[tuple[str, str]]:
    texts = {"m.py": text, **{name + ".py": other for name, other in others.items()}}
    edges = PythonRepository(texts).edges("calls")
    return {(s.removeprefix("m.py:"), t.removeprefix("m.py:")) for s, t in edges}


def test_self_cls_and_super_go_through_the_bases_of_other_files() -> None:
    found = calls(
        "from base import Base\nclass C(Base):\n    def run(self):\n        self.helper()\n        super().run()\n"
        "    @classmethod\n    def make(cls):\n        cls.build()\n        return cls()\n    def build(self): ...\n",
        base="from root import Root as R\nclass Base(R):\n    def run(self): ...\n",
        root="class Root:\n    def run(self): ...\n    def helper(self): ...\n",
    )
    assert found == {
        ("C.run", "root.py:Root.helper"),
        ("C.run", "base.py:Base.run"),
        ("C.make", "C.build"),
        ("C.make", "C"),
    }


def test_members_are_looked_up_in_pythons_own_order() -> None:
    found = calls(
        "class A:\n    def f(self): ...\nclass B(A): ...\nclass C(A):\n    def f(self): ...\n"
        "class D(B, C):\n    def g(self):\n        self.f()\n        super().f()\n"
    )
    assert found == {("D.g", "C.f")}


def test_circular_bases_end() -> None:
    repository = PythonRepository(
        {
            "a.py": "from b import B\nclass A(B):\n    def f(self):\n        self.g()\n        self.h()\n    def h(self): ...\n",
            "b.py": "from a import A\nclass B(A):\n    def f(self):\n        self.h()\n",
        }
    )
    assert repository.edges("extends") == {("a.py:A", "b.py:B"), ("b.py:B", "a.py:A")}
    assert ("a.py:A.f", "a.py:A.h") in repository.edges("calls")


def test_a_class_may_extend_what_it_hides() -> None:
    repository = PythonRepository({"m.py": "from n import Form\nclass Form(Form): ...\n", "n.py": "class Form: ...\n"})
    assert repository.edges("extends") == {("m.py:Form", "n.py:Form")}


def test_protocols_are_implemented_and_other_bases_extended() -> None:
    text = (
        "import typing as t\nfrom typing import Protocol\nclass P(Protocol): ...\nclass Q(P, t.Protocol): ...\n"
        "class R(Q): ...\nclass S(R): ...\nclass G(t.Generic[T], R): ...\nclass E(ValueError, object, Unknown): ...\n"
    )
    repository = PythonRepository({"m.py": text})
    assert repository.edges("implements") == {("m.py:R", "m.py:Q")}
    assert repository.edges("extends") == {("m.py:Q", "m.py:P"), ("m.py:S", "m.py:R"), ("m.py:G", "m.py:R")}
    assert repository.unresolved("extends") == {("m.py:E", "Unknown")}


@pytest.mark.parametrize(
    "body",
    [
        "def use():\n    e = Engine()\n    e.go()\n",
        "def use():\n    Engine().go()\n",
        "def use(e: Engine):\n    e.go()\n",
        "def use(e: 'Engine | None' = None):\n    e.go()\n",
        "def use(e: Optional[Engine]):\n    e.go()\n",
        "def use():\n    e: Engine = make()\n    e.go()\n",
        "def use():\n    e = None\n    e = Engine()\n    e.go()\n",
        "def build() -> Engine: ...\ndef use():\n    build().go()\n",
        "engine = Engine()\ndef use():\n    engine.go()\n",
        "def use():\n    Engine.go(None)\n",
        "class H:\n    def __init__(self):\n        self.e = Engine()\nx = H()\ndef use():\n    x.e.go()\n",
        "class H:\n    e: Engine\ndef use(h: H):\n    h.e.go()\n",
        "class H:\n    def __init__(self, e: Engine):\n        self.e = e\ndef use(h: H):\n    h.e.go()\n",
        "class H:\n    @property\n    def e(self) -> Engine: ...\ndef use(h: H):\n    h.e.go()\n",
        "def use():\n    if (e := Engine()):\n        e.go()\n",
        "class H:\n    @property\n    def e(self) -> Engine: ...\n    @e.setter\n    def e(self, v): ...\ndef use(h: H):\n    h.e.go()\n",
        "class H:\n    @property\n    def e(self) -> 'Engine': ...\n    @e.setter\n    def e(self, v): ...\n    @e.deleter\n    def e(self): ...\ndef use(h: H):\n    h.e.go()\n",
        "class H:\n    @property\n    def e(self) -> Engine: ...\nclass J(H):\n    @H.e.setter\n    def e(self, v): ...\ndef use(j: J):\n    j.e.go()\n",
        "class H:\n    def __enter__(self) -> Engine: ...\ndef use():\n    with H() as e:\n        e.go()\n",
        "class H:\n    async def __aenter__(self) -> 'Engine': ...\nasync def use():\n    async with H() as e, H() as f:\n        f.go()\n",
        "class H:\n    def __enter__(self) -> Engine: ...\ndef use(h: H):\n    with open('x') as f, (h as e):\n        e.go()\n",
        "def use(x):\n    match x:\n        case Engine() as e:\n            e.go()\n",
        "def use(x):\n    match x:\n        case [1, {'k': (Engine(a, b=2) as e)}, *_] if e.go():\n            pass\n",
        "def use(x):\n    match x:\n        case dict(k=Engine() as e):\n            e.go()\n",
        "def use():\n    try:\n        pass\n    except Engine as e:\n        e.go()\n",
    ],
)
def test_methods_of_instances_are_found_where_one_certain_assignment_exists(body: str) -> None:
    text = "from typing import Optional\nclass Engine:\n    def go(self): ...\n" + body
    assert ("use", "Engine.go") in calls(text)


@pytest.mark.parametrize(
    "body",
    [
        "def use(e):\n    e.go()\n",
        "def use(flag):\n    e = Engine()\n    if flag:\n        e = other()\n    e.go()\n",
        "def use(es):\n    for e in es:\n        e.go()\n",
        "def use():\n    with Engine() as e:\n        e.go()\n",
        "class H:\n    def a(self):\n        self.e = Engine()\n    def b(self):\n        self.e = other()\ndef use(h: H):\n    h.e.go()\n",
        "def use(Engine):\n    Engine().go()\n",
        "def use(e: list[Engine]):\n    e.go()\n",
        "def use():\n    [go() for go in x]\n",
        "def use():\n    go = lambda go: go()\n",
        "def use(x):\n    match x:\n        case {'e': e}:\n            e.go()\n",
        "def use():\n    e = e.go()\n    e.go()\n",
        "class H(Engine):\n    def __enter__(self): ...\ndef use():\n    with H() as e:\n        e.go()\n",
        "class H(Engine):\n    def __enter__(self):\n        if x:\n            return other\n        return self\ndef use():\n    with H() as e:\n        e.go()\n",
        "class H(Engine):\n    def __enter__(self):\n        self = other()\n        return self\ndef use():\n    with H() as e:\n        e.go()\n",
        "class H(Engine):\n    def __enter__(self):\n        def inner():\n            return self\ndef use():\n    with H() as e:\n        e.go()\n",
        "class H(Engine):\n    def __enter__(self):\n        yield 1\n        return self\ndef use():\n    with H() as e:\n        e.go()\n",
        "class H(Engine):\n    @staticmethod\n    def __enter__(self):\n        return self\ndef use():\n    with H() as e:\n        e.go()\n",
        "class H(Engine):\n    def __enter__(self): return self\nasync def use():\n    async with H() as e:\n        e.go()\n",
        "class H(Engine):\n    def __aenter__(self): return self\ndef use():\n    with H() as e:\n        e.go()\n",
        "class H:\n    def __enter__(self) -> list[Engine]: ...\ndef use():\n    with H() as e:\n        e.go()\n",
        "class H:\n    def __enter__(self) -> Engine: ...\ndef use():\n    with H() as (e, f):\n        e.go()\n",
        "class H(Engine):\n    def __enter__(self): return self\ndef use():\n    with H() as e:\n        pass\n    with other() as e:\n        e.go()\n",
        "import contextlib\ndef use():\n    with contextlib.closing(Engine()) as e:\n        e.go()\n",
        "def use(x):\n    match x:\n        case Engine() | Other() as e:\n            e.go()\n",
        "def use(x):\n    match x:\n        case [Engine()] as e:\n            e.go()\n",
        "def use(x):\n    match x:\n        case Engine(e):\n            e.go()\n",
        "def use(x):\n    match x:\n        case Other() as e, Engine() as f:\n            e.go()\n",
        "def use():\n    try:\n        pass\n    except (Engine, Other) as e:\n        e.go()\n",
        "def use():\n    try:\n        pass\n    except* Engine as e:\n        e.go()\n",
        "class H:\n    @property\n    def f(self) -> Engine: ...\n    @other.setter\n    def e(self, v): ...\ndef use(h: H):\n    h.e.go()\n",
    ],
)
def test_a_method_is_never_guessed_by_its_name(body: str) -> None:
    found = calls("class Engine:\n    def go(self): ...\ndef go(): ...\n" + body)
    assert {target for source, target in found if source == "use"} & {"Engine.go", "go"} == set()


ENTERED = (
    "from typing import Self, TypeVar\nT = TypeVar('T')\n"
    "class Gate:\n    {enter}\n    def go(self): ...\n    def stay(self): ...\nclass Wide(Gate):\n    def go(self): ...\n"
    "def use():\n    with Wide() as g:\n        g.go()\n        g.stay()\n"
)


@pytest.mark.parametrize(
    "enter",
    [
        "def __enter__(self):\n        self.x = 1\n        return self",
        "def __enter__(me):\n        if me.x:\n            return me\n        def inner():\n            return 1\n        return me",
        "def __enter__(self: T) -> T:\n        return self",
        "def __enter__(self) -> 'Gate':\n        return self",
        "def __enter__(self) -> Self: ...",
        "def enter(self) -> Self: ...\n    __enter__ = enter",
    ],
)
def test_a_class_that_enters_itself_is_entered_as_the_class_that_was_asked(enter: str) -> None:
    assert calls(ENTERED.format(enter=enter)) == {("use", "Wide"), ("use", "Wide.go"), ("use", "Gate.stay")}


def test_what_enters_itself_in_another_file_is_followed_and_kept_up_to_date() -> None:
    gate = "class Gate:\n    def __enter__(self):\n        return {given}\n    def go(self): ...\n"
    use = "from gate import Gate\ndef use():\n    with Gate() as g:\n        g.go()\n"
    repository = PythonRepository({"gate.py": gate.format(given="self"), "m.py": use})
    assert ("m.py:use", "gate.py:Gate.go") in repository.edges("calls")
    assert "m.py" in repository.change({"gate.py": gate.format(given="other")})
    assert ("m.py:use", "gate.py:Gate.go") not in repository.edges("calls")
    assert ("m.py:use", "g.go") in repository.unresolved("call")


def test_methods_and_properties_of_the_type_self_give_what_they_were_called_on() -> None:
    text = (
        "from typing import Self\nclass A:\n    def then(self) -> Self: ...\n    @classmethod\n    def make(cls) -> Self: ...\n"
        "    @property\n    def same(self) -> Self: ...\nclass B(A):\n    def go(self): ...\n"
        "    def up(self):\n        super().then().go()\ndef use():\n    B.make().then().same.go()\n"
    )
    found = calls(text)
    assert {("use", "B.go"), ("use", "A.then"), ("use", "A.make"), ("B.up", "B.go"), ("B.up", "A.then")} == found


def test_class_scopes_are_not_seen_from_methods() -> None:
    found = calls("def f(): ...\nclass C:\n    def f(self): ...\n    def g(self):\n        f()\n    x = f(None)\n")
    assert found == {("C.g", "f"), ("C", "C.f")}


def test_global_nonlocal_and_nested_scopes_follow_the_language() -> None:
    text = "def f(): ...\ndef outer():\n    def f(): ...\n    def inner():\n        f()\n    def up():\n        global f\n        f()\n    inner()\n"
    assert calls(text) == {("outer.inner", "outer.f"), ("outer.up", "f"), ("outer", "outer.inner")}


def test_names_of_a_module_are_read_as_they_stand_at_that_line() -> None:
    text = "def f(): ...\nf()\ndef f(): ...\nf()\ndef later():\n    f()\n"
    assert calls(text) == {("m.py", "f"), ("m.py", "f#1"), ("later", "f#1")}


def test_calls_in_match_arms_lambdas_defaults_and_decorators_have_owners() -> None:
    text = (
        "def a(): ...\ndef deco(x): ...\ndef plain(f): ...\n"
        "def use(cmd, d=a()):\n    match cmd:\n        case [x, *y] if a():\n            return use(x)\n    return lambda: a()\n"
        "@deco(1)\n@plain\ndef made(): ...\n"
    )
    repository = PythonRepository({"m.py": text})
    assert repository.edges("calls") == {("m.py:use", "m.py:a"), ("m.py:use", "m.py:use"), ("m.py:made", "m.py:deco")}
    assert repository.edges("references") == {("m.py:made", "m.py:plain")}


def test_methods_of_classes_inside_functions_are_resolved() -> None:
    text = "from n import Base\ndef outer():\n    class In(Base):\n        def f(self):\n            self.g(); self.top()\n        def g(self): ...\n    return In()\n"
    assert calls(text, n="class Base:\n    def top(self): ...\n") == {
        ("outer.In.f", "outer.In.g"),
        ("outer.In.f", "n.py:Base.top"),
        ("outer", "outer.In"),
    }


def test_members_of_external_bases_are_external_and_of_unknown_ones_unresolved() -> None:
    text = "import unittest\nclass T(unittest.TestCase):\n    def t(self):\n        self.assertTrue(1)\nclass U(make()):\n    def t(self):\n        self.any()\nclass V:\n    def t(self):\n        self.none()\n"
    repository = PythonRepository({"m.py": text})
    assert ("m.py:T.t", "self.assertTrue") in repository.unresolved("external")
    assert {("m.py:U.t", "self.any"), ("m.py:V.t", "self.none")} <= repository.unresolved("call")


def test_good_symbols_of_a_broken_file_are_resolved() -> None:
    assert ("after", "before") in calls("def before(): ...\ndef broken(:\n    pass\ndef after():\n    before()\n")


@pytest.mark.parametrize(
    "text",
    [
        "x0 = f\n" + "\n".join(f"x{n} = x{n - 1}" for n in range(1, 3000)) + "\nx2999()\n",
        "class C0: ...\n" + "\n".join(f"class C{n}(C{n - 1}): ..." for n in range(1, 400)) + "\nC399().f()\n",
        "def f():\n" + "".join(f"    y{n} = y{n - 1}.go()\n" for n in range(1, 3000)) + "    y2999.go()\n",
        "x" + ".a()" * 3000 + "\n",
        "x" + "(" * 3000 + ")" * 3000 + "\n",
        "(" * 3000 + "f" + ")" * 3000 + "()\n",
        "f(" * 3000 + ")" * 3000 + "\n",
        "\n".join("    " * n + f"def f{n}():" for n in range(90)) + "\n" + "    " * 90 + "f0()\n",
    ],
)
def test_depth_of_the_input_never_overflows(text: str) -> None:
    PythonRepository({"m.py": text})


def test_code_made_to_explode_is_cut_off() -> None:
    stars = "".join(f"from m{n} import *\n" for n in range(14))
    texts = {f"m{n}.py": stars for n in range(14)}
    texts["use.py"] = "from m0 import gone\ngone()\n"
    classes = ["class A0: ...", "class B0: ..."]
    classes += [f"class A{n}(B{n - 1}, A{n - 1}): ...\nclass B{n}(A{n - 1}, B{n - 1}): ..." for n in range(1, 36)]
    texts["classes.py"] = "\n".join(classes) + "\nA35().f()\n"
    repository = PythonRepository(texts)
    assert ("use.py", "m0.gone") in repository.unresolved("import")
    assert ("classes.py", "A35().f") in repository.unresolved("call")


def test_moved_lines_and_edited_bodies_leave_the_interface_alone() -> None:
    def digest(text: str) -> bytes:
        return interface_of(extract("m.py", text)[0])

    base = "import a\ndef f(x):\n    y = 1\n    def inner(): ...\n    return y\nclass C(a.B):\n    def m(self):\n        self.n = a.N()\n"
    assert digest("# moved\n\n" + base.replace("y = 1", "y = g(2)").replace("inner", "other")) == digest(base)
    for old, new in [
        ("import a", "import b as a"),
        ("a.B", "a.D"),
        ("a.N()", "a.M()"),
        ("def f", "def h"),
        ("def m", "def k"),
    ]:
        assert digest(base.replace(old, new)) != digest(base)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(): ...\ndef o():\n    f = 1\n    def i():\n        nonlocal f\n        f = 2\n        f()\n", set()),
        (
            "class C:\n    def a(self): ...\ndef s():\n    global c\n    c = C()\ndef u():\n    c.a()\n",
            {("s", "C"), ("u", "C.a")},
        ),
        ("class C:\n    def a(self): ...\n    def b(self):\n        self.__class__.a(self)\n", {("C.b", "C.a")}),
        (
            "class B:\n    def a(self): ...\nclass C(B):\n    def a(self):\n        super(C, self).a()\n",
            {("C.a", "B.a")},
        ),
        ("class B:\n    def a(self): ...\nclass C(B):\n    def a(self):\n        super(Other, self).a()\n", set()),
        (
            "class C:\n    def a(self): ...\n    def b(me):\n        me.a()\n    @staticmethod\n    def c(me):\n        me.a()\n",
            {("C.b", "C.a")},
        ),
        ("class C:\n    def __new__(cls):\n        cls.a()\n    def a(self): ...\n", {("C.__new__", "C.a")}),
        ("class C:\n    def __call__(self): ...\ndef u(c: C):\n    c()\n", {("u", "C.__call__")}),
        ("type Two[T] = tuple[T, T]\ndef u():\n    Two()\n", {("u", "Two")}),
        ("def f(): ...\ndef u(a, *f, k=1, **g):\n    f()\n", set()),
        ("def f(): ...\ndef u(a, f=None):\n    f()\n", set()),
        ("def f(): ...\nx = [f() for _ in y if (z := f())]\n", {("m.py", "f")}),
        ("class C:\n    def a(self): ...\ndef u(c: C):\n    c[0].a()\n    (c or 1).a()\n", set()),
        ("class C[T]:\n    def a(self): ...\ndef u():\n    C[int]().a()\n", {("u", "C"), ("u", "C.a")}),
        ("from copy import copy\nclass C:\n    def a(self): ...\ndef u(c: C):\n    copy(c).a()\n", set()),
        ("class C:\n    def a(self): ...\n    b = a\ndef u():\n    C().b()\n", {("u", "C"), ("u", "C.a")}),
        (
            "class C:\n    class D:\n        def a(self): ...\n    def b(self):\n        self.D().a()\n",
            {("C.b", "C.D"), ("C.b", "C.D.a")},
        ),
        ("def f(): ...\nf, g = 1, 2\ndef u():\n    f()\n", set()),
        ("async def f(): ...\nasync def u():\n    await f()\n", {("u", "f")}),
    ],
)
def test_pythons_own_rules_decide(text: str, expected: set[tuple[str, str]]) -> None:
    assert calls(text) == expected


@pytest.mark.parametrize(
    ("all_names", "reached"),
    [
        ("__all__ = ['f']", {"f"}),
        ("__all__ = ('f',)\n__all__ += ['_h']", {"f", "_h"}),
        ("__all__ = ['f']\n__all__.append('g')", {"f", "g"}),
        ("__all__ = []\n__all__.extend(['g', '_h'])", {"g", "_h"}),
        ("__all__ = ['f'] + other.__all__", {"f", "g"}),
        ("", {"f", "g"}),
    ],
)
def test_all_is_read_where_it_is_literal(all_names: str, reached: set[str]) -> None:
    found = calls("from n import *\nf()\ng()\n_h()\n", n=f"{all_names}\ndef f(): ...\ndef g(): ...\ndef _h(): ...\n")
    assert found == {("m.py", f"n.py:{name}") for name in reached}


def test_accessors_of_a_property_are_no_unresolved_calls() -> None:
    text = "class C:\n    @property\n    def size(self): ...\n    @size.setter\n    def size(self, v): ...\n"
    assert PythonRepository({"m.py": text}).unresolved("call") == set()
