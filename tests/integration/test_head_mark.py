"""HEAD is looked at without git as long as its files are the same."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tenure.adapters.git.head_mark import head_mark
from tenure.adapters.git.repository import GitProcess
from tests.support.git_sandbox import Sandbox, git_environment


@pytest.fixture
def box(tmp_path: Path) -> Sandbox:
    made = Sandbox(tmp_path.resolve() / "repo")
    made.put("a.py", "x = 1\n")
    made.commit("one")
    return made


MOVES: list[Callable[[Sandbox], object]] = [
    lambda box: box.commit("two"),
    lambda box: box.git("checkout", "-q", "-b", "side"),
    lambda box: box.git("checkout", "-q", "--detach"),
    lambda box: (box.git("pack-refs", "--all"), box.commit("packed, then loose")),
    lambda box: box.git("symbolic-ref", "HEAD", "refs/heads/unborn"),
]


@pytest.mark.parametrize("move", MOVES)
async def test_the_same_reader_sees_head_move(box: Sandbox, move: Callable[[Sandbox], object]) -> None:
    root, reader = str(box.root), GitProcess(git_environment())
    before = await reader.head(root)
    move(box)
    after = await reader.head(root)
    assert after != before
    assert after == await GitProcess(git_environment()).head(root)


async def test_a_branch_that_moves_while_it_is_only_packed_is_seen(box: Sandbox) -> None:
    root, reader = str(box.root), GitProcess(git_environment())
    first = box.git("rev-parse", "HEAD").strip()
    second = box.commit("two")
    box.git("pack-refs", "--all")
    assert (await reader.head(root)).commit == second
    packed = box.root / ".git/packed-refs"
    moved = packed.with_name("packed-refs.new")
    moved.write_text(packed.read_text().replace(second, first))
    moved.replace(packed)
    assert (await reader.head(root)).commit == first


async def test_a_commit_in_a_linked_work_tree_is_seen_there_and_in_a_bare_clone_after_a_fetch(
    box: Sandbox, tmp_path: Path
) -> None:
    linked, bare = tmp_path.resolve() / "linked", tmp_path.resolve() / "bare.git"
    box.git("worktree", "add", "-q", "-b", "side", str(linked))
    box.git("clone", "-q", "--bare", str(linked), str(bare))
    reader = GitProcess(git_environment())
    before = await reader.head(str(linked))
    assert await reader.head(str(bare)) == before
    box.git("commit", "-q", "--allow-empty", "-m", "in the linked tree", cwd=linked)
    after = await reader.head(str(linked))
    assert (after.branch, after != before) == ("side", True)
    box.git("fetch", "-q", str(linked), "side:side", cwd=bare)
    assert await reader.head(str(bare)) == after


async def test_as_long_as_nothing_moved_git_is_not_started(box: Sandbox) -> None:
    environment = git_environment()
    reader = GitProcess(environment)
    before = await reader.head(str(box.root))
    box.put("a.py", "x = 2\n")
    reader._environment["PATH"] = "/nonexistent"
    assert await reader.head(str(box.root)) == before


def test_where_only_git_can_say_there_is_no_mark(box: Sandbox, tmp_path: Path) -> None:
    git = box.root / ".git"
    assert head_mark(str(box.root)) is not None
    (git / "reftable").mkdir()
    assert head_mark(str(box.root)) is None
    (git / "reftable").rmdir()
    (git / "refs/heads/main").write_text("ref: refs/heads/other\n")
    assert head_mark(str(box.root)) is None
    (git / "HEAD").write_text("ref: refs/heads/../../../secret\n")
    assert head_mark(str(box.root)) is None
    (git / "HEAD").unlink()
    os.mkfifo(git / "HEAD")
    assert head_mark(str(box.root)) is None
    assert head_mark(str(tmp_path / "nothing here")) is None
