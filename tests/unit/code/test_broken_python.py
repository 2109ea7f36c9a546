"""Broken Python keeps what stands whole behind the damage: names, lines, nesting and references."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.code.languages import python
from tenure.code.model import Candidate, PreparedFile, PrepareRequest
from tenure.code.parse import Owner, parse_python
from tenure.code.prepare import prepare_file
from tenure.core.memory import ParseStatus

OWNER = Owner("7b0c8a52-2f7e-4f0e-9a5b-0d7d0a1f2c3d", "1f0c8a52-2f7e-4f0e-9a5b-0d7d0a1f2c3e", "yard/points.py")

DAMAGE = [
    "turn = lever(\n",
    "turn = [1, {\n",
    'def jam():\n    x = f"set {y\n    return x\n',
    "from yard import (\n    lever,\n",
    'NOTE = """never closed\n',
    "class Jam:\n    def stick(self):\n        pull(\n\n    def more(self):\n        pass\n",
    "@oiled(\n",
]
GOOD = '''
def points():
    """Which way."""
    return signal()

@oiled
@painted("red")
class Signal:
    def arm(self):
        """Up."""

async def signal():
    return points()
'''


def spans(source: str) -> dict[str, tuple[int, int]]:
    parsed = parse_python(source.encode(), OWNER)
    return {symbol.qualified_name: (symbol.start_line, symbol.end_line) for symbol in parsed.symbols}


def prepared(source: str) -> PreparedFile:
    raw = source.encode()
    request = PrepareRequest(OWNER.workspace_id, OWNER.repository_id, Candidate(OWNER.path, "s", len(raw)), 1, raw)
    return prepare_file(request)


@pytest.mark.parametrize("damage", DAMAGE)
def test_definitions_behind_the_damage_are_found_at_their_lines_and_the_file_is_partial(damage: str) -> None:
    shift = damage.count("\n")
    found = spans(damage + GOOD)
    expected = {"points": (2, 4), "Signal": (6, 10), "Signal.arm": (9, 10), "signal": (12, 13)}
    assert {
        name: (first - shift, last - shift) for name, (first, last) in found.items() if name in expected
    } == expected
    parsed = parse_python((damage + GOOD).encode(), OWNER)
    assert parsed.status is ParseStatus.PARTIAL
    assert "syntax error at line" in parsed.reason
    assert len(found) == len(parsed.symbols)
    assert [s.start_byte for s in parsed.symbols] == sorted(s.start_byte for s in parsed.symbols)


@pytest.mark.parametrize("damage", DAMAGE)
def test_references_of_what_is_found_again_belong_to_it(damage: str) -> None:
    file = prepared(damage + GOOD)
    assert file.file is not None
    ids = {node.source.qualified_name: node.id for node in file.nodes}
    references = json.loads(file.file.references)
    uses = references["r"]
    owned = {(references["o"][uses[at + 1]], uses[at + 3]) for at in range(0, len(uses), 5)}
    assert {(ids["points"], "signal"), (ids["signal"], "points"), (ids["Signal"], "painted")} <= owned
    exported = {row[2] for row in json.loads(file.file.exports.split(b"\n")[0])["d"]}
    assert {ids["points"], ids["signal"], ids["Signal"], ids["Signal.arm"]} <= exported


def test_a_definition_before_the_damage_does_not_swallow_the_ones_behind() -> None:
    found = spans("class Yard:\n    def open(self):\n        gate(\n\n\ndef shut():\n    pass\n")
    assert found == {"Yard": (1, 3), "Yard.open": (2, 3), "shut": (6, 7)}


def test_two_damages_cost_only_what_is_in_them() -> None:
    found = spans("a = lever(\n\ndef one(): pass\n\nb = lever(\n\ndef two(): pass\n\nc = [\nclass Three: pass")
    assert list(found) == ["one", "two", "Three"]


def test_equal_names_are_numbered_in_the_order_of_the_source() -> None:
    parsed = parse_python(b"def go(): pass\nx = lever(\ndef go(): pass\nif y:\n    def go(): pass\n", OWNER)
    assert [(s.name, s.ordinal, s.start_line) for s in parsed.symbols] == [("go", 0, 1), ("go", 1, 3), ("go", 2, 5)]


def test_code_in_a_closed_string_stays_text() -> None:
    found = spans(
        "x = lever(\n\ndef real(): pass\n\nT = '''\ndef text(): pass\nclass Text: pass\n'''\n\ndef last(): pass\n"
    )
    assert list(found) == ["real", "last"]


def test_a_long_file_broken_at_its_top_keeps_its_references() -> None:
    body = "".join(f"def step_{n}():\n    return step_{n + 1}()\n" for n in range(600))
    file = prepared("x = lever(\n" + body)
    assert file.file is not None
    assert len(file.nodes) == 1 + 600
    assert len(json.loads(file.file.references)["r"]) == 600 * 5


def test_sound_files_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(python, "recover", never)
    assert parse_python(GOOD.encode(), OWNER).status is ParseStatus.OK
    with pytest.raises(AssertionError):
        parse_python(DAMAGE[0].encode() + GOOD.encode(), OWNER)


LINES = [
    "x = f(",
    "def a():",
    "    return 1",
    "class B:",
    '"""',
    "'''",
    "@d",
    "@d(",
    "    def m(self): g()",
    "",
    ")",
    'f"{',
    "if y:",
]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(LINES), max_size=14))
def test_symbols_of_any_wreck_nest_without_overlap(lines: list[str]) -> None:
    source = "\n".join(lines)
    parsed = parse_python(source.encode(), OWNER)
    assert len({symbol.node_id for symbol in parsed.symbols}) == len(parsed.symbols)
    assert prepared(source).file is not None
    last = source.count("\n") + 1
    for symbol in parsed.symbols:
        assert 1 <= symbol.start_line <= symbol.end_line <= last
        if symbol.parent >= 0:
            outer = parsed.symbols[symbol.parent]
            assert outer.start_byte <= symbol.start_byte < symbol.end_byte <= outer.end_byte


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def go():\nreturn 1\n", 1),
        ("class Yard:\nsize = 1\n", 1),
        ("def go():\n    # nothing yet\n", 1),
        ("if late:\n\nsize = 1\n", 1),
        ("def go():\n        pull()\n    push()\n", 3),
        ("if late:\n    if early:\n        pull()\n      push()\n", 4),
        ("size = 1\n    pull()\n", 2),
        ("  size = 1\n", 1),
        ("def go():\n    pull()\n      # why\n        push()\n    pull()\n", 4),
        ("def go():\n\tpull()\n        push()\n", 3),
        ("class Yard:\n        def go():\n\t\tpull()\n", 3),
        ("if late:\n    pull()\n  else:\n    push()\n", 3),
        ("try:\n    pull()\n except Jam:\n    push()\n", 3),
        ("@oiled\n  def go():\n    pull()\n", 2),
        ("match size:\n    case 1:\n        pull()\n     case 2:\n        push()\n", 4),
    ],
)
def test_invalid_indentation_is_partial_and_told_by_its_line(source: str, line: int) -> None:
    whole = f"size = 0\n\n\ndef arm():\n    return 1\n\n\n{source}\n\ndef last():\n    return 2\n"
    parsed = parse_python(whole.encode(), OWNER)
    assert (parsed.status, parsed.reason) == (ParseStatus.PARTIAL, f"invalid indentation at line {line + 7}")
    assert {"arm", "last"} <= {symbol.name for symbol in parsed.symbols}
    assert parse_python(whole.replace("\n", "\r\n").encode(), OWNER).status is ParseStatus.PARTIAL


@pytest.mark.parametrize(
    "source",
    [
        "def go():\n# odd\n    pull()\n        # deep\n    push()\n  # shallow\n",
        "def go(): pull(); push()\nif late: pull()\nelse: push(); pull()\n",
        "size = [\n1,\n  2]; pull()\nwhole = 1 + \\\n        size\npull(); \\\n    push()\n",
        "def go():\n\tpull()\n\tif late:\n\t\tpush()\n",
        "if late:\n\tpull()\nif early:\n        push()\n",
        "def go():\n    pull()\n\x0c\n    push()\n\x0cclass Yard:\n    size = 1\n",
        "\ufeffsize = 1\npull()\n",
        "if late:\n  pull()\nelif early:\n      push()\nelse:\n pull()\n",
        'def go():\n    """Doc\n  odd\n"""\n    return """\nx"""; pull()\n',
        "async def go():\n    async for car in yard:\n        pull()\n    else:\n        push()\n",
        "try:\n    pull()\nexcept* Jam:\n    push()\nelse:\n    pull()\nfinally:\n    push()\n",
        "type Cars[T] = list[T]\ndef go[T = int](): ...\n",
        "@oiled\n@painted\n# why\nclass Yard: ...\n",
        "",
        "\n\n   \n",
        "# only a comment\n    # and another\n",
    ],
)
def test_sound_indentation_of_any_style_is_ok(source: str) -> None:
    parsed = parse_python(source.encode(), OWNER)
    assert (parsed.status, parsed.reason) == (ParseStatus.OK, "")
