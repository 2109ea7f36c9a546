import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.adapters.git.repository import GitProcess
from tenure.code.discover import discover
from tenure.code.disk import SUBMODULE, SUBMODULE_ABSENT, survey_folder, survey_listed
from tenure.code.model import Discovery
from tenure.core.errors import InvalidInput
from tenure.ports.records import RepositoryKind
from tests.support.git_sandbox import Sandbox, git_environment

TREE, FOLDER, BARE = RepositoryKind.WORK_TREE, RepositoryKind.FOLDER, RepositoryKind.BARE
GIT = GitProcess(git_environment())


def paths(found: Discovery) -> list[str]:
    return [candidate.path for candidate in found.candidates]


def reasons(found: Discovery) -> dict[str, str]:
    return {left.path: left.reason for left in found.left_out}


@pytest.fixture
def box(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path.resolve() / "repo")


@pytest.fixture
def plain(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path.resolve() / "plain", initialise=False)


async def test_a_work_tree_holds_what_git_lists_minus_our_own_ignore_files(box: Sandbox) -> None:
    box.put(".gitignore", "dist/\n*.tmp\nvendor/hidden/\n")
    box.put(".tenureignore", "samples/\n*.gen.py\n!keep.gen.py\n")
    box.put("pkg/.tenureignore", "local.py\n")
    for path in ("app.py", "a.gen.py", "keep.gen.py", "samples/s.py", "pkg/local.py", "pkg/b.py", "local.py", "x.tmp"):
        box.put(path)
    box.put("dist/tracked.py")
    box.git("add", "-f", "dist/tracked.py", "samples/s.py")
    Sandbox(box.root / "vendor/hidden").put("h.py")
    Sandbox(box.root / "vendor/open").put("o.py")
    expected = [
        *(".gitignore", ".tenureignore", "app.py", "dist/tracked.py", "keep.gen.py", "local.py"),
        *("pkg/.tenureignore", "pkg/b.py"),
    ]
    for _ in range(2):
        found = await discover(str(box.root), TREE, GIT)
        assert paths(found) == expected
        assert reasons(found) == {"vendor/open": "nested repository"}
    box.put(".tenureignore", "samples/\n*.gen.py\npkg/\n")
    assert paths(await discover(str(box.root), TREE, GIT)) == [
        ".gitignore",
        ".tenureignore",
        *expected[2:4],
        "local.py",
    ]


async def test_a_bare_tree_obeys_its_own_ignore_files(box: Sandbox, tmp_path: Path) -> None:
    box.put(".tenureignore", "skip/\n")
    for path in ("a.py", "skip/b.py", "deep/c.py", "deep/d.py", "key.pem"):
        box.put(path, "x\n")
    box.put("deep/.tenureignore", "d.py\n")
    (box.root / "link.py").symlink_to("a.py")
    commit = box.commit("one")
    bare = str(tmp_path / "bare.git")
    box.git("clone", "-q", "--bare", str(box.root), bare)
    found = await discover(bare, BARE, GIT, tree_commit=commit)
    assert paths(found) == [".tenureignore", "a.py", "deep/.tenureignore", "deep/c.py"]
    assert reasons(found) == {"key.pem": "key file", "link.py": "link"}
    assert found.candidates[1].object_id == found.candidates[1].signature != ""
    with pytest.raises(InvalidInput, match="no commit to index"):
        await discover(bare, BARE, GIT)


def build_links(box: Sandbox) -> Path:
    box.put("real/mod.py")
    box.put("real/deep/leaf.py")
    box.put("one/x.py")
    box.put("two/y.py")
    outside = box.root.parent / f"{box.root.name}-outside"
    outside.mkdir()
    (outside / "secret.py").write_text("")
    for name, target in {
        "loop": ".",
        "real/deep/up": "..",
        "one/other": "../two",
        "two/other": "../one",
        "broken": "nowhere",
        "me": "me",
        "real/alias.py": "mod.py",
        "ext": str(outside),
        "rootfs": "/",
        "ext.py": f"{outside}/secret.py",
    }.items():
        (box.root / name).symlink_to(target)
    os.link(box.root / "one/x.py", box.root / "one/hard.py")
    return outside


@pytest.mark.parametrize("kind", [TREE, FOLDER])
async def test_each_real_file_comes_once_and_every_link_is_named(kind: RepositoryKind, tmp_path: Path) -> None:
    box = Sandbox(tmp_path.resolve() / "tree", initialise=kind is TREE)
    build_links(box)
    found = await discover(str(box.root), kind, GIT)
    assert paths(found) == ["one/hard.py", "one/x.py", "real/deep/leaf.py", "real/mod.py", "two/y.py"]
    assert [candidate.real_path for candidate in found.candidates] == [f"{box.root}/{path}" for path in paths(found)]
    assert reasons(found) == {
        "broken": "link to nothing",
        "ext": "link out of the root",
        "ext.py": "link out of the root",
        "loop": "link to .",
        "me": "link that leads to itself",
        "one/other": "link to two",
        "real/alias.py": "link to real/mod.py",
        "real/deep/up": "link to real",
        "rootfs": "link out of the root",
        "two/other": "link to one",
    }


async def test_the_root_itself_may_be_reached_by_a_link(box: Sandbox, tmp_path: Path) -> None:
    box.put("a.py")
    (tmp_path / "alias").symlink_to(box.root)
    (candidate,) = (await discover(str(tmp_path / "alias"), TREE, GIT)).candidates
    assert candidate.real_path == f"{box.root}/a.py"


async def test_a_tracked_folder_that_became_a_link_is_not_followed(box: Sandbox, tmp_path: Path) -> None:
    box.put("pkg/deep/secret.py")
    box.put("a.py")
    box.commit("one")
    outside = tmp_path.resolve() / "outside"
    (box.root / "pkg").rename(outside)
    (outside / ".tenureignore").write_text("a.py\n")
    (box.root / "pkg").symlink_to(outside)
    found = await discover(str(box.root), TREE, GIT)
    assert paths(found) == ["a.py"]
    assert reasons(found)["pkg/deep/secret.py"] == "in a link out of the root"


async def test_a_forged_index_leads_nowhere(box: Sandbox) -> None:
    box.put("a.py")
    box.put("aa/secret.py")
    box.commit("one")
    (box.root.parent / "secret.py").write_text("")
    index = box.root / ".git/index"
    body = index.read_bytes()[:-20].replace(b"aa/secret.py", b"../secret.py")
    index.write_bytes(body + sha1(body, usedforsecurity=False).digest())
    found = await discover(str(box.root), TREE, GIT)
    assert paths(found) == ["a.py", "aa/secret.py"]
    assert reasons(found) == {"../secret.py": "unsafe path"}


@pytest.mark.parametrize("kind", [TREE, FOLDER])
async def test_sockets_and_fifos_are_named_and_never_opened(kind: RepositoryKind, tmp_path: Path) -> None:
    box = Sandbox(tmp_path.resolve() / "t", initialise=kind is TREE)
    box.put("a.py")
    box.put("pipe.py")
    box.put("sock.py")
    if kind is TREE:
        box.commit("one")
    (box.root / "pipe.py").unlink()
    (box.root / "sock.py").unlink()
    os.mkfifo(box.root / "pipe.py")
    os.mkfifo(box.root / ".tenureignore")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(box.root / "sock.py"))
        found = await discover(str(box.root), kind, GIT)
    assert paths(found) == ["a.py"]
    assert {path: reason for path, reason in reasons(found).items() if path != ".tenureignore"} == {
        "pipe.py": "fifo",
        "sock.py": "socket",
    }


@pytest.mark.parametrize("kind", [TREE, FOLDER])
async def test_any_file_name_is_a_file_name(kind: RepositoryKind, tmp_path: Path) -> None:
    box = Sandbox(tmp_path.resolve() / "t", initialise=kind is TREE)
    names = [
        "new\nline.py",
        "quo\"te'.py",
        "`tick`.py",
        "con.py",
        "nul",
        "a:b.py",
        " .py",
        "-rf",
        os.fsdecode(b"\xff.py"),
    ]
    for name in names:
        box.put(name, "x")
    assert paths(await discover(str(box.root), kind, GIT)) == sorted(names)


async def test_large_files_and_key_files_are_named(box: Sandbox) -> None:
    box.put("a.py", "x" * 2_000_000)
    box.put("data.json", "x" * 2_000_000)
    box.put(".env", "x")
    with (box.root / "huge.py").open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    found = await discover(str(box.root), TREE, GIT)
    assert paths(found) == ["a.py"]
    assert reasons(found) == {
        ".env": "key file",
        "data.json": "generated data over 1 MB",
        "huge.py": "source over 8 MB",
    }


def test_what_vanished_since_it_was_listed_is_simply_not_there(box: Sandbox) -> None:
    box.put("a.py")
    found, _ = survey_listed(str(box.root), ["a.py", "a.py/b.py", "gone.py", "gone/deep/x.py"])
    assert (paths(found), found.left_out) == (["a.py"], [])


async def test_a_file_s_place_taken_by_a_folder_is_the_folder_s_files(box: Sandbox) -> None:
    box.put("thing", "file")
    box.commit("one")
    (box.root / "thing").unlink()
    box.put("thing/inside.py")
    found = await discover(str(box.root), TREE, GIT)
    assert (paths(found), found.left_out) == (["thing/inside.py"], [])


async def test_submodules_are_named_checked_out_or_not(box: Sandbox, tmp_path: Path) -> None:
    inner = Sandbox(tmp_path.resolve() / "inner")
    inner.put("i.py")
    inner.commit("one")
    box.put("a.py")
    box.git("submodule", "--quiet", "add", str(inner.root), "sub")
    box.git("submodule", "--quiet", "add", str(inner.root), "other")
    box.commit("one")
    box.git("submodule", "--quiet", "deinit", "-f", "other")
    found = await discover(str(box.root), TREE, GIT)
    assert reasons(found) == {"other": SUBMODULE_ABSENT, "sub": "nested repository"}


def link_commit(box: Sandbox, path: str) -> None:
    """Stage a submodule entry at this path, with no repository to it."""
    box.git("update-index", "--add", "--cacheinfo", f"160000,{'5' * 40},{path}")


async def test_a_submodule_whose_folder_holds_no_repository_is_named_in_every_kind_of_tree(
    box: Sandbox, tmp_path: Path
) -> None:
    box.put("app.py")
    box.put("vendor/lib/code.py")
    box.put("hidden/lib/code.py")
    box.put(".tenureignore", "hidden/lib/\n")
    box.git("add", "app.py", ".tenureignore")
    for path in ("vendor/lib", "vendor/none", "hidden/lib", "néw\nline"):
        link_commit(box, path)
    (box.root / "vendor/none").mkdir()
    (box.root / "néw\nline").mkdir()
    box.put("néw\nline/code.py")
    found = await discover(str(box.root), TREE, GIT)
    assert paths(found) == [".tenureignore", "app.py"]
    assert reasons(found) == {"néw\nline": SUBMODULE, "vendor/lib": SUBMODULE, "vendor/none": SUBMODULE_ABSENT}
    box.git("commit", "-q", "-m", "linked")
    commit = box.git("rev-parse", "HEAD").strip()
    found = await discover(str(box.root), BARE, GIT, tree_commit=commit)
    assert reasons(found) == dict.fromkeys(("néw\nline", "vendor/lib", "vendor/none"), SUBMODULE)


async def test_a_tree_of_submodules_alone_is_an_error_that_names_them(box: Sandbox) -> None:
    box.put("lib/code.py")
    link_commit(box, "lib")
    with pytest.raises(InvalidInput, match=r"'lib' \(submodule: its own repository; index it by itself\)"):
        await discover(str(box.root), TREE, GIT)


async def test_a_file_s_place_taken_by_ignored_files_is_no_submodule(box: Sandbox) -> None:
    box.put("thing", "file")
    box.put("kept.py")
    box.commit("one")
    (box.root / "thing").unlink()
    box.put("thing/out.log")
    box.put(".gitignore", "*.log\n")
    found = await discover(str(box.root), TREE, GIT)
    assert (paths(found), found.left_out) == ([".gitignore", "kept.py"], [])


async def test_a_plain_folder_leaves_repositories_inside_to_themselves(plain: Sandbox) -> None:
    plain.put("a.py")
    Sandbox(plain.root / "project").put("b.py")
    found = await discover(str(plain.root), FOLDER, GIT)
    assert (paths(found), reasons(found)) == (["a.py"], {"project": "nested repository"})


@pytest.mark.parametrize("kind", [TREE, FOLDER])
async def test_an_empty_folder_is_an_error(kind: RepositoryKind, tmp_path: Path) -> None:
    box = Sandbox(tmp_path / "t", initialise=kind is TREE)
    with pytest.raises(InvalidInput, match="empty folder"):
        await discover(str(box.root), kind, GIT)


@pytest.mark.parametrize("kind", [TREE, FOLDER])
async def test_a_folder_whose_files_are_all_refused_is_an_error_that_names_them(
    kind: RepositoryKind, tmp_path: Path
) -> None:
    box = Sandbox(tmp_path / "t", initialise=kind is TREE)
    box.put("id_rsa", "x")
    with pytest.raises(InvalidInput, match=r"'id_rsa' \(key file\)"):
        await discover(str(box.root), kind, GIT)
    box.put(".tenureignore", "*\n")
    with pytest.raises(InvalidInput, match="not ignored"):
        await discover(str(box.root), kind, GIT)


async def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="can't read the folder"):
        await discover(str(tmp_path / "missing"), FOLDER, GIT)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Give up root's right to read everything for a while."""
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user to be refused as")
@pytest.mark.parametrize("kind", [TREE, FOLDER])
def test_what_may_not_be_read_is_named(kind: RepositoryKind) -> None:
    with TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        Path(folder).chmod(0o755)
        box = Sandbox(Path(folder) / "t", initialise=False)
        box.put("a.py")
        box.put("closed.py").chmod(0)
        box.put("shut/b.py")
        (box.root / "shut").chmod(0)
        listed = ["a.py", "closed.py", "shut/", "shut/b.py"]
        with as_nobody():
            found = survey_listed(str(box.root), listed)[0] if kind is TREE else survey_folder(str(box.root))
    assert paths(found) == ["a.py"]
    expected = {"closed.py": "not readable", "shut": "not readable", "shut/b.py": "not readable"}
    assert reasons(found) == {path: expected[path] for path in sorted(expected) if kind is TREE or path != "shut/b.py"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user to be refused as")
async def test_a_folder_that_git_can_t_open_is_listed_as_such() -> None:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        box = Sandbox(Path(folder) / "t")
        box.put("a.py")
        box.put("shut/b.py")
        (box.root / "shut").chmod(0)
        with as_nobody():
            assert await GIT.list_candidates(str(box.root)) == ["a.py", "shut/"]


async def test_an_unreadable_ignore_file_is_an_error(box: Sandbox) -> None:
    box.put("a.py")
    box.put(".tenureignore", "x" * 1_048_577)
    with pytest.raises(InvalidInput, match="shorten it"):
        await discover(str(box.root), TREE, GIT)


NAMES = st.sampled_from(["a", "b", "ab", "a.py", "b.py", "x.log", "build", "[x]", "a b"])
LINES = st.sampled_from(
    [
        "a",
        "b/",
        "*.py",
        "!a.py",
        "/a",
        "a/b",
        "**/b",
        "a/**",
        "*/",
        "*",
        "!*/",
        "!b.py",
        "a/*",
        "!a/b",
        "build",
        "!build/",
        "a*b",
        "?",
        "[ab]",
        "[!a].py",
        "\\[x\\]",
        "a\\ b",
        "# a",
        "",
        "/*",
        "!/b",
        "**/a/**",
        "a/**/b",
        "!x.log",
    ]
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(NAMES, min_size=1, max_size=3), min_size=1, max_size=10),
    st.lists(LINES, max_size=5),
    st.lists(LINES, max_size=3),
)
def test_a_plain_folder_s_ignore_rules_are_git_s(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[str]], top: list[str], nested: list[str]
) -> None:
    root = tmp_path_factory.mktemp("rules")
    box = Sandbox(root / "t")
    for parts in files:
        target = box.root / "/".join(parts)
        if not any(parent.is_file() for parent in target.parents) and not target.exists():
            box.put("/".join(parts))
    box.put(".gitignore", "\n".join(top))
    if (box.root / "a").is_dir():
        box.put("a/.gitignore", "\n".join(nested))
    expected = sorted(filter(None, box.git("ls-files", "-z", "-o", "--exclude-standard").split("\0")))
    assert paths(survey_folder(str(box.root))) == expected


async def test_a_folder_named_like_an_ignore_file_is_none(box: Sandbox, plain: Sandbox) -> None:
    for sandbox in (box, plain):
        sandbox.put("sub/a.py", "a = 1\n")
        sandbox.put("sub/.tenureignore/x.txt", "*.py\n")
        sandbox.put(".gitignore/y.txt", "*.py\n")
    for sandbox, kind in ((box, TREE), (plain, FOLDER)):
        assert paths(await discover(str(sandbox.root), kind, GIT)) == [
            ".gitignore/y.txt",
            "sub/.tenureignore/x.txt",
            "sub/a.py",
        ]
