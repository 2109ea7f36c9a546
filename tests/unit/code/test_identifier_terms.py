"""Terms of code and mentions of questions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.code.identifiers import PathMention, StackFrame, mentions, term_counts, terms
from tenure.core.sparse import term_index


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getHTTPCode2", ["gethttpcode2", "get", "http", "code", "2"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("__init__", ["__init__", "init"]),
        ("name", ["name"]),
        ("URL x", ["url", "x"]),
        ("größeMax", ["größemax", "größe", "max"]),
        ("ﬁle", ["file"]),
        ("漢字表", ["漢字表", "漢字", "字表"]),
        ("_ ... " + "a" * 200, []),
    ],
)
def test_identifiers_are_kept_whole_and_split(text: str, expected: list[str]):
    assert terms(text) == expected


@given(st.text(max_size=200))
@settings(max_examples=100)
def test_counts_are_those_of_the_terms(text: str):
    expected: dict[int, int] = {}
    for term in terms(text):
        expected[term_index(term)] = expected.get(term_index(term), 0) + 1
    assert term_counts(text) == expected


QUESTION = """`run` in django.db.models: MyError when I call load() from src\\app\\x.py:12, see a/b.py and/or don't.
  File "/srv/y.py", line 3, in go
ValueError: bad thing
    at Object.save (/web/z.js:3:4)
lib/q.rb:7:in `each'
tests/test_x.py::TestA::test_b says "no such table" and get_user_name
"""


def test_a_question_names_identifiers_paths_frames_and_quotes():
    found = mentions(QUESTION)

    assert {"run", "django.db.models", "MyError", "load", "get_user_name"} <= set(found.identifiers)
    assert "don" not in found.identifiers
    assert found.modules[0] == "django.db.models"
    assert {PathMention("src/app/x.py", 12), PathMention("a/b.py"), PathMention("tests/test_x.py")} <= set(found.paths)
    assert not any(mention.path == "and/or" for mention in found.paths)
    assert set(found.frames) == {
        StackFrame("/srv/y.py", 3, "go"),
        StackFrame("/web/z.js", 3, "Object.save"),
        StackFrame("lib/q.rb", 7, "each"),
    }
    assert {"bad thing", "no such table"} <= set(found.quoted)


@given(st.text(alphabet="aA_.:/\\`'\"( )at\n1“E", max_size=300))
@settings(max_examples=100)
def test_any_question_has_mentions_without_repeats(text: str):
    found = mentions(text)
    for kind in (found.identifiers, found.paths, found.modules, found.frames, found.quoted):
        assert len(set(kind)) == len(kind)
