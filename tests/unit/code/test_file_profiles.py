import math
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.code.episodes import NO_SUBJECT, commit_nodes, commit_of, episode_sparse, touched_edges
from tenure.code.history import Change, Commit, present_paths
from tenure.code.profiles import DECAY_PER_COMMIT, MAX_PROFILE_TERMS, profiles
from tenure.core.ids import commit_id, file_id
from tenure.core.memory import EdgeType
from tenure.core.sparse import term_index, unpack

WORKSPACE = "8a5c2a44-6e0a-4b52-9d39-0b7cf5a6c111"
REPOSITORY = "b8b6a6de-74b9-4a41-a1b4-40ce2cf8a222"


def commit(number: int, message: str, *changes: str, files: int | None = None) -> Commit:
    """A commit of changes written `M path` or `R old>new`."""
    parsed = tuple(
        Change("R", rest.split(">")[1], rest.split(">")[0]) if status == "R" else Change(status, rest)
        for status, rest in (change.split(" ", 1) for change in changes)
    )
    at = datetime(2024, 1, 1, tzinfo=UTC)
    return Commit(f"{number:040x}", (), at, "Ada", message, len(parsed) if files is None else files, parsed)


def names(commits: Sequence[Commit], present: set[str]) -> list[tuple[str, ...]]:
    touched = present_paths(commits, present)
    return [touched[one.sha] for one in commits]


def test_a_renamed_file_is_followed_to_its_present_name() -> None:
    log = [commit(3, "", "M c"), commit(2, "", "R b>c"), commit(1, "", "R a>b"), commit(0, "", "A a")]
    assert names(log, {"c"}) == [("c",)] * 4


def test_a_deleted_file_has_no_present_name() -> None:
    log = [commit(2, "", "D a", "M b"), commit(1, "", "M a", "M b"), commit(0, "", "A a", "A b")]
    assert names(log, {"b"}) == [("b",)] * 3


def test_a_path_that_another_file_uses_now_is_not_confused_with_the_old_one() -> None:
    log = [commit(4, "", "M a"), commit(3, "", "A a"), commit(2, "", "D a"), commit(1, "", "M a"), commit(0, "", "A a")]
    assert names(log, {"a"}) == [("a",), ("a",), (), (), ()]


def test_a_renamed_file_s_old_path_may_be_used_by_a_new_file() -> None:
    log = [commit(3, "", "M a", "M b"), commit(2, "", "R a>b", "A a"), commit(1, "", "M a"), commit(0, "", "A a")]
    assert names(log, {"a", "b"}) == [("a", "b"), ("a", "b"), ("b",), ("b",)]


def test_files_that_swap_names_swap_their_histories() -> None:
    log = [commit(1, "", "R a>b", "R b>a"), commit(0, "", "M a")]
    assert names(log, {"a", "b"}) == [("a", "b"), ("b",)]


def test_an_edit_beside_a_rename_on_another_branch_is_still_the_file_s() -> None:
    log = [commit(2, "", "M a"), commit(1, "", "R a>b"), commit(0, "", "A a")]
    assert names(log, {"b"}) == [("b",), ("b",), ("b",)]


def test_renames_in_a_circle_come_to_an_end() -> None:
    log = [commit(3, "", "M a"), commit(2, "", "R a>b"), commit(1, "", "R b>a")]
    assert names(log, {"x"}) == [(), (), ()]


def test_a_mass_commit_touches_nothing_but_hands_names_on() -> None:
    log = [commit(1, "", "R a>b", files=1_000), commit(0, "", "M a")]
    assert names(log, {"b"}) == [(), ("b",)]


def test_a_stored_commit_is_the_commit_again() -> None:
    one = commit(5, "Say it\n\nin full", "M a", "R b>c", "D d")
    (node,) = commit_nodes(WORKSPACE, REPOSITORY, [one], len)
    assert commit_of(node) == one
    assert (node.title, node.id, node.token_count) == ("Say it", commit_id(WORKSPACE, REPOSITORY, one.sha), 15)
    assert node.metadata["paths"] == ["a", "c", "d"]


def test_a_commit_without_a_message_has_a_title() -> None:
    assert commit_nodes(WORKSPACE, REPOSITORY, [commit(1, "")], len)[0].title == NO_SUBJECT


def test_touched_edges_lead_from_the_commit_to_present_files() -> None:
    log = [commit(1, "", "M a", "M b", "M gone", "M other")]
    (edge, _) = touched_edges(WORKSPACE, REPOSITORY, log, present_paths(log, {"a", "b"}))
    owner = commit_id(WORKSPACE, REPOSITORY, log[0].sha)
    assert (edge.source_id, edge.owner_id, edge.target_id) == (owner, owner, file_id(WORKSPACE, REPOSITORY, "a"))
    assert (edge.type, edge.weight) == (EdgeType.TOUCHED, 0.5)


def test_an_episode_is_found_by_its_words_and_its_paths() -> None:
    indices = set(unpack(episode_sparse(commit(1, "Mend parser", "M src/tokenStream.py"))).indices)
    assert {term_index(term) for term in ("mend", "parser", "src", "token", "stream", "tokenstream")} <= indices


def test_a_profile_has_length_one_and_the_words_of_its_commits() -> None:
    found, _ = profiles([commit(1, "alpha beta", "M a"), commit(0, "beta", "M a", "M b")], {"a", "b"})
    profile = unpack(found["a"])
    assert math.isclose(sum(value * value for value in profile.values), 1.0, rel_tol=1e-6)
    weights = dict(zip(profile.indices, profile.values, strict=True))
    ratio = weights[term_index("beta")] / weights[term_index("alpha")]
    assert ratio == pytest.approx(1 + DECAY_PER_COMMIT / math.sqrt(2), rel=1e-6)


def test_commits_elsewhere_leave_a_profile_as_it_is_and_age_its_prior() -> None:
    log = [commit(2, "alpha beta", "M a"), commit(1, "gamma", "M a", "M b")]
    before, old = profiles(log, {"a", "b"})
    after, new = profiles([commit(3, "elsewhere", "M b"), *log], {"a", "b"})
    assert after["a"] == before["a"]
    assert new["a"] == pytest.approx(old["a"] * DECAY_PER_COMMIT)


def test_a_prior_counts_recent_commits_more() -> None:
    _, priors = profiles([commit(1, "x", "M a"), commit(0, "", "M a", "M b")], {"a", "b"})
    assert priors == {"a": pytest.approx(1 + DECAY_PER_COMMIT), "b": pytest.approx(DECAY_PER_COMMIT)}


def test_a_profile_keeps_its_heaviest_terms() -> None:
    words = " ".join(f"w{number}x" for number in range(MAX_PROFILE_TERMS))
    found, _ = profiles([commit(1, f"{words} important important", "M a")], {"a"})
    profile = unpack(found["a"])
    assert len(profile.indices) == MAX_PROFILE_TERMS
    assert term_index("important") in profile.indices


@settings(max_examples=60)
@given(st.data())
def test_following_renames_backwards_agrees_with_tracking_files_forwards(data: st.DataObject) -> None:
    live: dict[str, int] = {"a": 0, "b": 1}
    born, log, expected = 2, [commit(0, "", "A a", "A b")], [{0, 1}]
    for number in range(1, 12):
        kind = data.draw(st.sampled_from("MADR"))
        free = [name for name in "abcdef" if name not in live]
        if kind == "A" and free:
            path = data.draw(st.sampled_from(free))
            live[path], born = born, born + 1
            log.append(commit(number, "", f"A {path}"))
            expected.append({live[path]})
        elif live and (kind in "MD" or free):
            path = data.draw(st.sampled_from(sorted(live)))
            identity = live.pop(path)
            if kind == "M":
                live[path] = identity
                log.append(commit(number, "", f"M {path}"))
            elif kind == "R":
                target = data.draw(st.sampled_from(free))
                live[target] = identity
                log.append(commit(number, "", f"R {path}>{target}"))
            else:
                log.append(commit(number, "", f"D {path}"))
            expected.append(set() if kind == "D" else {identity})
    by_identity = {identity: path for path, identity in live.items()}
    wanted = [tuple(sorted(by_identity[one] for one in found if one in by_identity)) for found in expected]
    assert names(log[::-1], set(live)) == wanted[::-1]
