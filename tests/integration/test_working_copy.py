"""Copies of trees that a benchmark may edit."""

from pathlib import Path

import pytest

from tenure.adapters.git.repository import GitProcess
from tenure.core.errors import InvalidInput
from tenure.workspace.bench.working_copy import copy_tree
from tests.support.git_sandbox import Sandbox


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    sandbox = Sandbox(tmp_path / "tree")
    sandbox.put(".gitignore", "build/\n")
    sandbox.put("pkg/a.py", "A = 1\n")
    sandbox.commit("Begin")
    sandbox.put("pkg/b.py", "B = 1\n")
    sandbox.commit("Add b")
    sandbox.put("pkg/new.py", "NEW = 1\n")
    sandbox.put("build/out.txt", "made\n")
    (sandbox.root / "link").symlink_to("pkg/a.py")
    return sandbox


def listing(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() or path.is_symlink()
    }


async def history(root: Path) -> list[str]:
    git = GitProcess()
    head = await git.head(str(root))
    assert head.commit is not None
    return await git.newest_commits(str(root), head.commit, 10)


async def test_a_work_tree_is_copied_with_its_history_and_without_what_is_ignored(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    before = listing(sandbox.root)
    target = tmp_path / "copy"
    await copy_tree(GitProcess(), sandbox.root, target)
    copied = {path for path in listing(target) if not path.startswith(".git/")}
    assert copied == {".gitignore", "pkg/a.py", "pkg/b.py", "pkg/new.py", "link"}
    assert await history(target) == await history(sandbox.root)
    (target / "pkg/a.py").write_text("changed\n")
    assert listing(sandbox.root) == before


async def test_the_files_of_a_bare_repositorys_head_are_written(sandbox: Sandbox, tmp_path: Path) -> None:
    bare, target = tmp_path / "bare.git", tmp_path / "copy"
    sandbox.git("clone", "-q", "--bare", str(sandbox.root), str(bare))
    before = listing(bare)
    await copy_tree(GitProcess(), bare, target)
    assert (target / "pkg/b.py").read_text() == "B = 1\n"
    assert await GitProcess().find_root(str(target)) == (str(target), False)
    assert await history(target) == await history(sandbox.root)
    assert await GitProcess().list_candidates(str(target)) == [".gitignore", "pkg/a.py", "pkg/b.py"]
    assert listing(bare) == before


async def test_a_linked_work_tree_is_copied_with_its_own_head(sandbox: Sandbox, tmp_path: Path) -> None:
    linked, target = tmp_path / "linked", tmp_path / "copy"
    sandbox.git("worktree", "add", "-q", "-b", "side", str(linked), "HEAD~1")
    await copy_tree(GitProcess(), linked, target)
    assert (await GitProcess().head(str(target))).branch == "side"
    assert await history(target) == (await history(sandbox.root))[1:]


async def test_a_plain_folder_is_copied_whole(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner/a.txt").write_text("a\n")
    await copy_tree(GitProcess(), folder, tmp_path / "copy")
    assert (tmp_path / "copy/inner/a.txt").read_text() == "a\n"


async def test_a_file_is_no_tree(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="not a folder"):
        await copy_tree(GitProcess(), tmp_path / "file", tmp_path / "copy")
