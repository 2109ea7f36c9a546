"""How alike files are by name and content."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.likeness import ContentIndex, PathNames, path_parts
from tenure.core.sparse import Sparse, pack

SEGMENT = st.text(alphabet="abcXY_09é", min_size=1, max_size=6)
PATHS = st.lists(st.lists(SEGMENT, min_size=1, max_size=3).map("/".join), min_size=1, max_size=12, unique=True)
VECTORS = st.dictionaries(st.integers(0, 7), st.sampled_from([0.5, 1.0, 2.5]), min_size=1, max_size=4)
FILES = st.lists(VECTORS, min_size=2, max_size=4).map(lambda vectors: dict(zip("abcd", vectors, strict=False)))


def packed(weights: dict[int, float]) -> bytes:
    return pack(Sparse(list(weights), list(weights.values())))


def test_a_path_falls_apart_into_its_words() -> None:
    assert path_parts("src/flask/jsonTagHTTP2.py") == {"flask", "json", "tag", "http", "2"}
    assert path_parts("tests/test_json_tag.py") == {"json", "tag"}
    assert path_parts("größe/файл") == {"gr", "öß", "e", "файл"}


def test_a_test_is_like_its_source() -> None:
    names = PathNames(["src/app/views.py", "tests/app/test_views.py", "src/app/models.py"])
    likeness = names.likeness(["src/app/views.py"])
    assert likeness["tests/app/test_views.py"] == pytest.approx(1.0)
    assert 0 < likeness["src/app/models.py"] < 0.5


def test_a_rare_word_says_more_than_one_that_all_have() -> None:
    names = PathNames(["app/rare_x.py", "app/rare_y.py", "app/common_x.py", "app/z.py", "app/x.py"])
    likeness = names.likeness(["app/rare_x.py"])
    assert likeness["app/rare_y.py"] > likeness["app/z.py"]


def test_paths_that_are_not_there_are_like_nothing() -> None:
    names = PathNames(["a.py", "b.py"])
    assert names.likeness(["zzz.py"]) == {}
    assert "a.py" in names
    assert names.paths() == ["a.py", "b.py"]


def test_of_several_seeds_the_most_alike_counts() -> None:
    names = PathNames(["a/one.py", "b/two.py", "c/one_two.py", "d/two_x.py"])
    both = names.likeness(["a/one.py", "b/two.py"])
    assert both["c/one_two.py"] == max(names.likeness([seed])["c/one_two.py"] for seed in ("a/one.py", "b/two.py"))


@settings(max_examples=100)
@given(PATHS)
def test_likeness_by_name_lies_between_0_and_1_and_is_symmetric(paths: list[str]) -> None:
    names = PathNames(paths)
    for one in paths:
        for other, share in names.likeness([one]).items():
            assert 0 < share <= 1 + 1e-9
            assert share == pytest.approx(names.likeness([other])[one])


def test_content_counts_rare_terms_and_not_those_of_every_file() -> None:
    index = ContentIndex()
    index.put("a", packed({1: 1.0, 2: 1.0}))
    index.put("b", packed({1: 1.0, 2: 1.0}))
    index.put("c", packed({1: 1.0, 3: 1.0}))
    assert index.likeness(["a"], ["b", "c"]) == pytest.approx({"b": 1.0})


def test_a_file_of_common_terms_only_is_like_nothing() -> None:
    index = ContentIndex()
    index.put("a", packed({1: 1.0}))
    index.put("b", packed({1: 1.0}))
    assert index.likeness(["a"], ["b"]) == {}


def test_seeds_and_unknown_files_are_left_out() -> None:
    index = ContentIndex()
    for name, term in (("a", 1), ("b", 1), ("c", 2)):
        index.put(name, packed({term: 1.0}))
    assert index.likeness(["a", "a", "zzz"], ["a", "zzz", "b"]) == pytest.approx({"b": 1.0})


def test_the_sum_of_seeds_is_compared() -> None:
    index = ContentIndex()
    index.put("a", packed({1: 2.0}))
    index.put("b", packed({2: 2.0}))
    index.put("c", packed({1: 1.0, 2: 1.0}))
    index.put("d", packed({3: 1.0}))
    assert index.likeness(["a", "b"], ["c"]) == pytest.approx({"c": math.sqrt(2)})


@settings(max_examples=60)
@given(FILES, st.data())
def test_an_index_that_was_changed_is_one_that_was_made_anew(
    files: dict[str, dict[int, float]], data: st.DataObject
) -> None:
    changed, fresh = ContentIndex(), ContentIndex()
    for name, weights in files.items():
        changed.put(name, packed(data.draw(VECTORS)))
        changed.likeness(list(files), [name])
        changed.put(name, packed(weights))
    gone = data.draw(st.sampled_from(sorted(files)))
    changed.drop(gone)
    changed.drop("never there")
    for name, weights in files.items():
        if name != gone:
            fresh.put(name, packed(weights))
    assert gone not in changed
    for seed in files:
        assert changed.likeness([seed], sorted(files)) == pytest.approx(fresh.likeness([seed], sorted(files)))


@settings(max_examples=60)
@given(FILES)
def test_likeness_by_content_is_a_symmetric_cosine(files: dict[str, dict[int, float]]) -> None:
    index = ContentIndex()
    for name, weights in files.items():
        index.put(name, packed(weights))
    for one in files:
        for other, share in index.likeness([one], sorted(files)).items():
            assert 0 < share <= 1 + 1e-6
            assert share == pytest.approx(index.likeness([other], [one])[one])
