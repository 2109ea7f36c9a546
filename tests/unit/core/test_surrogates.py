"""Unpaired surrogates are found wherever they stand in a JSON value, and told by their place."""

from typing import Any

import pytest

from tenure.core.surrogates import has_unpaired_surrogate, place_of_unpaired_surrogate

HALF = "\ud83d"
DEEP = 50_000


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (HALF, ""),
        ({"note": f"a{HALF}b"}, "note"),
        ({"a": [0, {"b": HALF}]}, "a.1.b"),
        ({"a": {HALF: 1}}, "a.\\ud83d"),
        ((None, True, 1.5, HALF), "3"),
    ],
)
def test_the_place_of_an_unpaired_surrogate_is_told(value: Any, place: str) -> None:
    assert place_of_unpaired_surrogate(value) == place


@pytest.mark.parametrize("value", ["", "plain", "\U0001f600 é", {"é": ["\U0001f600", 1, None]}, [], {}, 7])
def test_unicode_text_has_none(value: Any) -> None:
    assert place_of_unpaired_surrogate(value) is None


def test_a_value_nested_deeper_than_the_stack_is_looked_through() -> None:
    value: Any = HALF
    for _ in range(DEEP):
        value = [value]
    assert place_of_unpaired_surrogate(value) == ".".join(["0"] * DEEP)


def test_a_pair_written_as_two_halves_is_no_text_either() -> None:
    assert has_unpaired_surrogate("\ud83d\ude00")
