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
    return prepare_file(request, lambda text: len(text.split()))


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
