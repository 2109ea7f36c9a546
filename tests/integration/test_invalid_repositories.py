"""A `.git` that is none to git leaves a folder's files where they are; a submodule that is missing is named (case 01)."""

from pathlib import Path

import pytest

from tenure.adapters.git.repository import GitProcess
from tenure.code.discover import discover
from tenure.code.disk import NESTED, SUBMODULE, SUBMODULE_ABSENT, survey_folder
from tenure.code.model import Discovery
from tenure.code.nested import is_repository
from tenure.ports.records import RepositoryKind
from tests.support.git_sandbox import Sandbox, git_environment

TREE, FOLDER = RepositoryKind.WORK_TREE, RepositoryKind.FOLDER
GIT = GitProcess(git_environment())


def reasons(found: Discovery) -> dict[str, str]:
    return {left.path: left.reason for left in found.left_out}


def odd_folders(box: Sandbox) -> set[str]:
    """Folders with every kind of `.git`, each with a file `x.py`; returns those that hold a repository."""
    put = box.put
    (box.root / "empty/.git").mkdir(parents=True)
    put("stuffed/.git/note.txt", "not a repository")
    put("garbage/.git", "garbage")
    put("blank/.git", "")
    put("nameless/.git", "gitdir: ")
    put("nowhere/.git", "gitdir: /nowhere/at/all\n")
    put("large/.git", b"gitdir: " + b"../real/.git" + b"\n" * 1_100_000)
    put("headless/.git/refs/x", "")
    put("headless/.git/objects/x", "")
    for name, head in (("bent", "garbage"), ("bare", "ref: refs/heads/x"), ("loose", "ref:refs/x"), ("hex", "5" * 40)):
        put(f"{name}/.git/refs/x")
        put(f"{name}/.git/objects/x")
        put(f"{name}/.git/HEAD", head)
    put("refless/.git/HEAD", "ref: refs/heads/x")
    put("refless/.git/objects/x")
    Sandbox(box.root / "real")
    put("linked/.git", "gitdir: ../real/.git\n")
    (box.root / "away").mkdir()
    (box.root / "away/.git").symlink_to("/nowhere")
    (box.root / "alias").mkdir()
    (box.root / "alias/.git").symlink_to("../real/.git")
    Sandbox(box.root / "main").commit("one")
    box.git("worktree", "add", "-q", str(box.root / "tree"), cwd=box.root / "main")
    for folder in box.root.iterdir():
        if folder.is_dir() and folder.name != ".git":
            put(f"{folder.name}/x.py")
    return {"bare", "loose", "hex", "real", "linked", "alias", "main", "tree"}


def listed(box: Sandbox) -> list[str]:
    return [name for name in box.git("ls-files", "-z", "-co", "--exclude-standard").split("\0") if name]


async def test_a_work_tree_holds_the_files_that_git_lists_beside_an_invalid_repository(tmp_path: Path) -> None:
    box = Sandbox(tmp_path.resolve() / "t")
    repositories = odd_folders(box)
    found = await discover(str(box.root), TREE, GIT)
    expected = listed(box)
    assert [candidate.path for candidate in found.candidates] == sorted(n for n in expected if not n.endswith("/"))
    assert reasons(found) == {name.removesuffix("/"): NESTED for name in expected if name.endswith("/")}
    assert set(reasons(found)) == repositories


def test_a_plain_folder_holds_the_files_that_a_work_tree_would(tmp_path: Path) -> None:
    box = Sandbox(tmp_path.resolve() / "t")
    repositories = odd_folders(box)
    expected = sorted(name for name in listed(box) if not name.endswith("/"))
    found = survey_folder(str(box.root))
    assert [candidate.path for candidate in found.candidates] == expected
    assert reasons(found) == dict.fromkeys(repositories, NESTED)


def test_a_folder_without_git_is_no_repository(tmp_path: Path) -> None:
    assert not is_repository(str(tmp_path))


def link_commit(box: Sandbox, path: str) -> None:
    """Stage a submodule entry at this path, with no repository to it."""
    box.git("update-index", "--add", "--cacheinfo", f"160000,{'5' * 40},{path}")


async def test_a_submodule_whose_folder_is_missing_is_named(tmp_path: Path) -> None:
    box = Sandbox(tmp_path.resolve() / "t")
    box.put("a.py")
    box.put("gone.py")
    box.put(".tenureignore", "hidden/\n")
    box.git("add", "-A")
    for path in ("vendor/lib", "deep/er/lib", "hidden", "taken/lib"):
        link_commit(box, path)
    (box.root / "gone.py").unlink()
    box.put("taken", "a file")
    found = await discover(str(box.root), TREE, GIT)
    assert [candidate.path for candidate in found.candidates] == [".tenureignore", "a.py", "taken"]
    assert reasons(found) == dict.fromkeys(("deep/er/lib", "taken/lib", "vendor/lib"), SUBMODULE_ABSENT)


@pytest.mark.parametrize("content", ["garbage", "gitdir: /nowhere"])
async def test_a_submodule_with_an_invalid_git_file_is_named_as_one_without_a_repository(
    content: str, tmp_path: Path
) -> None:
    box = Sandbox(tmp_path.resolve() / "t")
    box.put("a.py")
    box.git("add", "-A")
    link_commit(box, "lib")
    box.put("lib/.git", content)
    box.put("lib/code.py")
    assert reasons(await discover(str(box.root), TREE, GIT)) == {"lib": SUBMODULE}
