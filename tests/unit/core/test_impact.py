"""What else changes with a file: the clues summed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.cochange import ChangeHistory, PastChange
from tenure.core.impact import SHORTLIST, WEIGHTS, Clue, ImportGraph, Ties, combine, rank, strength
from tenure.core.likeness import ContentIndex, PathNames
from tenure.core.sparse import Sparse, pack

PATHS = [f"p{number}.py" for number in range(6)]
CLUES = st.dictionaries(
    st.sampled_from(list(Clue)),
    st.dictionaries(st.sampled_from([*PATHS, "elsewhere.py"]), st.floats(0, 10, allow_subnormal=False)),
)


def ties(paths: list[str], commits: list[str], imports: list[tuple[str, str]] | None = None) -> Ties:
    contents = ContentIndex()
    for number, path in enumerate(paths):
        contents.put(path, pack(Sparse([number % 3], [1.0])))
    history = ChangeHistory([PastChange(commit.split(), 0) for commit in commits])
    return Ties(history, PathNames(paths), ImportGraph(imports or []), contents)


def test_a_file_that_always_changes_with_the_seed_comes_first() -> None:
    known = ties(["alpha.py", "beta.py", "gamma.py"], ["alpha.py gamma.py", "alpha.py gamma.py", "beta.py"])
    ranked = rank(known, ["alpha.py"])
    assert [one.path for one in ranked] == ["gamma.py", "beta.py"]
    assert {Clue.TOGETHER.value, Clue.NEARBY.value} <= set(ranked[0].parts)


def test_without_history_imports_decide() -> None:
    known = ties(["alpha.py", "beta.py", "gamma.py"], [], [("gamma.py", "alpha.py")])
    assert rank(known, ["alpha.py"])[0].path == "gamma.py"


def test_without_any_clue_the_order_is_that_of_the_paths() -> None:
    assert [(one.path, one.score) for one in combine({}, ["b", "a"])] == [("a", 0.0), ("b", 0.0)]


def test_content_is_compared_for_the_shortlist_only() -> None:
    paths = [f"n{number:04d}.py" for number in range(SHORTLIST + 12)]
    known = ties(paths, [" ".join(paths[:50])])
    with_content = [one for one in rank(known, [paths[0]]) if Clue.CONTENT.value in one.parts]
    assert 0 < len(with_content) <= SHORTLIST
    assert paths[-1] not in {one.path for one in with_content}


def test_an_import_of_what_everything_imports_is_worth_less() -> None:
    graph = ImportGraph([("a", "hub"), ("b", "hub"), ("c", "hub"), ("a", "leaf"), ("a", "a")])
    close = graph.closeness(["a"])
    assert close["leaf"] > close["hub"] > 0
    assert set(close) == {"leaf", "hub"}


def test_imports_are_told_by_their_direction() -> None:
    graph = ImportGraph([("a", "b")])
    assert graph.imports("a", ["b"])
    assert not graph.imports("b", ["a"])
    assert graph.closeness(["b"]) == graph.closeness(["x"]) | {"a": 1.0}


def test_seeds_are_not_candidates_for_each_other() -> None:
    known = ties(PATHS, [" ".join(PATHS)], [(PATHS[0], PATHS[1])])
    assert {one.path for one in rank(known, PATHS[:2])} == set(PATHS[2:])
    assert ImportGraph([("a", "b")]).closeness(["a", "b"]) == {}


@settings(max_examples=100)
@given(CLUES)
def test_scores_are_sums_of_parts_in_order_and_at_most_1(clues: dict[Clue, dict[str, float]]) -> None:
    scored = combine(clues, PATHS)
    assert sorted(one.path for one in scored) == PATHS
    assert scored == sorted(scored, key=lambda one: (-one.score, one.path))
    for one in scored:
        assert 0 <= one.score <= 1 + 1e-9
        assert one.score == pytest.approx(sum(one.parts.values()))


@settings(max_examples=100)
@given(CLUES, st.floats(0.5, 8))
def test_the_unit_of_a_clue_does_not_matter(clues: dict[Clue, dict[str, float]], factor: float) -> None:
    scaled = {clue: {path: value * factor for path, value in values.items()} for clue, values in clues.items()}
    before = {one.path: one.score for one in combine(clues, PATHS)}
    after = {one.path: one.score for one in combine(scaled, PATHS)}
    assert after == pytest.approx(before, abs=1e-6)


@settings(max_examples=50)
@given(st.sampled_from(list(Clue)))
def test_the_best_of_a_clue_gets_its_whole_weight(clue: Clue) -> None:
    best = combine({clue: {PATHS[0]: 4.0, PATHS[1]: 1.0}}, PATHS)[0]
    assert best.score == pytest.approx(WEIGHTS[clue] / sum(WEIGHTS.values()))
    assert strength(best, clue) == pytest.approx(1.0)
    assert all(strength(best, other) == 0 for other in Clue if other is not clue)
