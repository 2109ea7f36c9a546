import asyncio
import os
import stat
import struct
from collections.abc import AsyncIterator
from contextlib import aclosing
from hashlib import sha1
from pathlib import Path

import pytest

from tenure.adapters.git.environment import search_path
from tenure.adapters.git.process import Invocation, run, start
from tenure.adapters.git.repository import GitProcess
from tenure.code.history import parse_record
from tenure.core.errors import InvalidInput, StoreUnavailable
from tests.support.git_sandbox import Sandbox, git_environment


@pytest.fixture
def git() -> GitProcess:
    return GitProcess(git_environment())


@pytest.fixture
def box(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path.resolve() / "repo")


async def records(log: AsyncIterator[bytes]) -> list[bytes]:
    return [record async for record in log]


async def test_the_root_is_found_from_a_folder_inside(git: GitProcess, box: Sandbox) -> None:
    box.put("a/b/c.py")
    assert await git.find_root(str(box.root / "a/b")) == (str(box.root), False)


async def test_outside_any_repository_there_is_no_root(git: GitProcess, tmp_path: Path) -> None:
    assert await git.find_root(str(tmp_path)) is None


async def test_a_bare_repository_is_its_own_root(git: GitProcess, box: Sandbox, tmp_path: Path) -> None:
    box.commit("one")
    box.git("clone", "-q", "--bare", str(box.root), str(tmp_path / "bare.git"))
    assert await git.find_root(str(tmp_path / "bare.git")) == (str(tmp_path.resolve() / "bare.git"), True)


async def test_what_is_no_folder_has_no_root_and_says_so(git: GitProcess, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a folder"):
        await git.find_root(str(tmp_path / "missing"))


async def test_a_broken_repository_is_refused_in_git_s_words(git: GitProcess, box: Sandbox) -> None:
    (box.root / ".git/HEAD").write_text("rubbish")
    with pytest.raises(InvalidInput, match="not a git repository"):
        await git.find_root(str(box.root))
    with pytest.raises(InvalidInput, match="not a git repository"):
        await git.head(str(box.root))


async def test_head_tells_branch_and_commit_in_every_state(git: GitProcess, box: Sandbox) -> None:
    root = str(box.root)
    unborn = await git.head(root)
    assert (unborn.commit, unborn.branch) == (None, "main")
    commit = box.commit("one")
    box.git("checkout", "-q", "-b", "topic/a b".replace(" ", "-"))
    assert (await git.head(root)).branch == "topic/a-b"
    box.git("checkout", "-q", "--detach")
    detached = await git.head(root)
    assert (detached.commit, detached.branch) == (commit, None)


async def test_a_linked_work_tree_and_a_submodule_are_repositories(
    git: GitProcess, box: Sandbox, tmp_path: Path
) -> None:
    box.put("a.py")
    box.commit("one")
    linked = tmp_path.resolve() / "linked"
    box.git("worktree", "add", "-q", "-b", "side", str(linked))
    assert await git.find_root(str(linked)) == (str(linked), False)
    assert (await git.head(str(linked))).branch == "side"
    assert await git.list_candidates(str(linked)) == ["a.py"]
    outer = Sandbox(tmp_path.resolve() / "outer")
    outer.git("submodule", "--quiet", "add", str(box.root), "sub")
    assert await git.find_root(str(outer.root / "sub")) == (str(outer.root / "sub"), False)
    assert await git.list_candidates(str(outer.root / "sub")) == ["a.py"]
    assert await git.list_candidates(str(outer.root)) == [".gitmodules", "sub"]


async def test_what_git_complains_of_is_told_without_secrets(git: GitProcess, box: Sandbox) -> None:
    secret = "ghp_" + "c3D4" * 9
    with pytest.raises(InvalidInput) as refused:
        await git.resolve_commit(str(box.root), f"fix/{secret}")
    assert secret not in str(refused.value)
    assert "git refused to find the revision 'fix/****" in str(refused.value)


async def test_candidates_are_what_git_lists(git: GitProcess, box: Sandbox) -> None:
    box.put(".gitignore", "*.log\n!keep.log\nout/\n")
    box.put("sub/.gitignore", "deep.txt\n")
    for name in (
        "a.py",
        "x.log",
        "keep.log",
        "out/o.py",
        "sub/deep.txt",
        "sub/s.py",
        "new\nline`'\".py",
        ".git/info/exclude",
    ):
        box.put(name, "scratch\n")
    box.put("scratch")
    box.put(os.fsdecode(b"caf\xe9.py"))
    box.git("add", "-f", "out/o.py")
    expected = box.git("ls-files", "-z", "-co", "--exclude-standard").split("\0")
    listed = await git.list_candidates(str(box.root))
    assert listed == sorted(set(expected) - {""})
    assert {"out/o.py", "keep.log", os.fsdecode(b"caf\xe9.py")} <= set(listed)
    assert "scratch" not in listed


async def test_an_unmerged_file_is_listed_once(git: GitProcess, box: Sandbox) -> None:
    box.put("a.py", "1\n")
    box.commit("one")
    box.git("checkout", "-q", "-b", "side")
    box.put("a.py", "2\n")
    box.commit("two")
    box.git("checkout", "-q", "main")
    box.put("a.py", "3\n")
    box.commit("three")
    with pytest.raises(Exception, match="exit status 1"):
        box.git("merge", "-q", "side")
    assert await git.list_candidates(str(box.root)) == ["a.py"]


@pytest.mark.parametrize("by", ["setting", "default", "repository"])
async def test_the_user_s_own_ignore_file_counts(box: Sandbox, tmp_path: Path, by: str) -> None:
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    environment = {name: value for name, value in git_environment().items() if not name.startswith("GIT_CONFIG")}
    environment |= {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    environment.pop("XDG_CONFIG_HOME", None)
    if by == "default":
        (home / ".config/git/ignore").write_text("*.swp\n")
    else:
        (home / "mine").write_text("*.swp\n")
        if by == "setting":
            (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
        else:
            box.git("config", "core.excludesFile", "~/mine")
    box.put("a.py")
    box.put("a.swp")
    assert await GitProcess(environment).list_candidates(str(box.root)) == ["a.py"]


async def test_a_work_tree_set_elsewhere_is_not_listed(git: GitProcess, box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private/secret.py").write_text("")
    box.put("a.py")
    box.git("config", "core.worktree", str(tmp_path / "private"))
    assert await git.find_root(str(box.root)) == (str(box.root), False)
    assert await git.list_candidates(str(box.root)) == ["a.py"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
async def test_a_repository_of_another_user_works(git: GitProcess, box: Sandbox) -> None:
    box.put("a.py")
    commit = box.commit("one")
    for path in [box.root, *box.root.rglob("*")]:
        os.chown(path, 12_345, 12_345)
    assert await git.find_root(str(box.root)) == (str(box.root), False)
    assert (await git.head(str(box.root))).commit == commit
    assert await git.list_candidates(str(box.root)) == ["a.py"]


async def test_trees_and_blobs_of_a_bare_repository_are_read(git: GitProcess, box: Sandbox, tmp_path: Path) -> None:
    box.put("b/x.py", b"\0binary\n\n")
    box.put("a.py", "text\n")
    box.put("empty", "")
    (box.root / "link").symlink_to("a.py")
    commit = box.commit("one")
    bare = str(tmp_path / "bare.git")
    box.git("clone", "-q", "--bare", str(box.root), bare)
    tree = {entry.path: entry for entry in await git.list_tree(bare, commit)}
    assert list(tree) == ["a.py", "b/x.py", "empty", "link"]
    assert (tree["link"].mode, tree["a.py"].size) == ("120000", 5)
    blobs = await git.read_blobs(bare, [entry.object_id for entry in tree.values()] + ["0" * 40, commit])
    assert {path: blobs[entry.object_id] for path, entry in tree.items()} == {
        "a.py": b"text\n",
        "b/x.py": b"\0binary\n\n",
        "empty": b"",
        "link": b"a.py",
    }
    assert len(blobs) == 4


async def test_more_blobs_than_both_pipes_hold_are_read_without_deadlock(git: GitProcess, box: Sandbox) -> None:
    ids = [box.git("hash-object", "-w", "--stdin", stdin=os.urandom(300_000)).strip() for _ in range(8)]
    absent = [f"{number:040x}" for number in range(20_000)]
    blobs = await git.read_blobs(str(box.root), absent + ids)
    assert sorted(blobs) == sorted(ids)
    assert {len(blob) for blob in blobs.values()} == {300_000}


async def test_a_revision_is_resolved_or_refused_in_git_s_words(git: GitProcess, box: Sandbox) -> None:
    commit = box.commit("one")
    assert await git.resolve_commit(str(box.root), "main") == commit
    for odd in ("nope", "--all", "-h", "", "main..main", "a\0b", "x\ny"):
        with pytest.raises(InvalidInput):
            await git.resolve_commit(str(box.root), odd)


async def test_an_argument_that_is_no_object_id_never_reaches_git(git: GitProcess, box: Sandbox) -> None:
    root, good = str(box.root), box.commit("one")
    with pytest.raises(InvalidInput, match="object id"):
        await git.list_tree(root, "--output=x")
    with pytest.raises(InvalidInput, match="object id"):
        await git.read_blobs(root, ["HEAD:a"])
    with pytest.raises(InvalidInput, match="object id"):
        await records(git.log(root, good, 5, stop_at="--all"))
    with pytest.raises(InvalidInput, match="object id"):
        await git.is_ancestor(root, "main", good)


async def test_the_log_is_newest_first_without_merges_and_stops_where_told(git: GitProcess, box: Sandbox) -> None:
    root = str(box.root)
    box.put("a.py", "".join(f"line {number}\n" for number in range(30)))
    one = box.commit("one")
    box.git("checkout", "-q", "-b", "side")
    box.put("s.py", "side")
    side = box.commit("side")
    box.git("checkout", "-q", "main")
    box.git("mv", "a.py", "b.py")
    box.put("b.py", "".join(f"line {number}\n" for number in range(29)))
    two = box.commit("two")
    box.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    head = (await git.head(root)).commit or ""
    commits = [parse_record(record) async for record in git.log(root, head, 10)]
    assert [commit.sha for commit in commits] == [two, side, one]
    assert [(change.status, change.path, change.previous) for change in commits[0].changes] == [("R", "b.py", "a.py")]
    assert [commit.sha for commit in commits] == await git.newest_commits(root, head, 10)
    assert [parse_record(r).sha async for r in git.log(root, head, 10, stop_at=one)] == [two, side]
    assert [parse_record(r).sha async for r in git.log(root, head, 1)] == [two]
    again = [parse_record(record) async for record in git.log_of(root, [one, two])]
    assert again == [commits[2], commits[0]]
    assert await records(git.log_of(root, [])) == []


async def test_the_log_survives_any_message_and_file_name(git: GitProcess, box: Sandbox) -> None:
    names = ["new\nline", "M", "H" + "a" * 40, os.fsdecode(b"\xff\xfe"), "tab\there"]
    for name in names:
        box.put(name)
    box.git("add", "-A")
    tree = box.git("write-tree").strip()
    message = b"H\xff\xfe\x01 subject\n\nA\tb\n\x00hidden"
    raw = b"tree " + tree.encode() + b"\nauthor \x01\xff <> 5 +0000\ncommitter x <> 9 +0000\n\n" + message
    commit = box.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw).strip()
    (found,) = [parse_record(record) async for record in git.log(str(box.root), commit, 5)]
    assert sorted(change.path for change in found.changes) == sorted(names)
    assert found.subject.endswith("subject")


async def test_a_history_that_can_t_be_read_is_an_error_not_an_empty_one(git: GitProcess, box: Sandbox) -> None:
    box.commit("one")
    with pytest.raises(InvalidInput, match="git refused"):
        await records(git.log(str(box.root), "0" * 39 + "1", 5))
    with pytest.raises(InvalidInput, match="git refused"):
        await git.newest_commits(str(box.root), "0" * 39 + "1", 5)


async def test_settings_of_the_repository_don_t_change_the_log(git: GitProcess, box: Sandbox) -> None:
    root = str(box.root)
    box.put("sub/a.py", "x\n" * 30)
    box.commit("one")
    box.git("mv", "sub/a.py", "sub/b.py")
    head = box.commit("two")
    before = await records(git.log(root, head, 5))
    for setting in (
        "diff.renames=false",
        "diff.renameLimit=1",
        "diff.relative=true",
        "diff.noprefix=true",
        "log.showRoot=false",
        "log.decorate=full",
        "format.pretty=oneline",
        "i18n.logOutputEncoding=utf-16",
        "color.ui=always",
        "notes.displayRef=refs/notes/*",
        "diff.orderFile=order",
        "log.date=relative",
    ):
        box.git("config", *setting.split("=", 1))
    box.put("order", "*.py\n")
    box.git("notes", "add", "-m", "noted", "HEAD")
    box.git("replace", head, f"{head}^")
    assert await records(git.log(root, head, 5)) == before


async def test_a_shallow_clone_ends_at_its_edge(git: GitProcess, box: Sandbox, tmp_path: Path) -> None:
    for number in range(3):
        box.put("a.py", str(number))
        box.commit(str(number))
    box.git("clone", "-q", "--depth", "2", f"file://{box.root}", str(tmp_path / "shallow"))
    shallow = str(tmp_path.resolve() / "shallow")
    head = (await git.head(shallow)).commit or ""
    assert [parse_record(r).subject async for r in git.log(shallow, head, 9)] == ["2", "1"]


async def test_ancestors_are_told_from_others_and_from_commits_that_are_gone(git: GitProcess, box: Sandbox) -> None:
    root, one, two = str(box.root), box.commit("one"), box.commit("two")
    assert await git.is_ancestor(root, one, two)
    assert not await git.is_ancestor(root, two, one)
    assert not await git.is_ancestor(root, "0" * 39 + "1", two)


async def test_a_missing_git_is_named(box: Sandbox) -> None:
    with pytest.raises(StoreUnavailable, match="git was not found"):
        await GitProcess({"PATH": "/nonexistent"}).head(str(box.root))


async def test_a_git_inside_the_repository_is_never_taken(box: Sandbox, tmp_path: Path) -> None:
    fake = box.put("bin/git", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    fake.chmod(0o755)
    environment = git_environment() | {"PATH": f"{box.root}/bin:bin:.::{os.environ['PATH']}"}
    assert (await GitProcess(environment).head(str(box.root))).branch == "main"
    assert await GitProcess(environment).find_root(str(box.root / "bin")) == (str(box.root), False)
    assert not (tmp_path / "ran").exists()


def test_a_root_that_holds_the_whole_system_leaves_its_own_programs() -> None:
    assert search_path({"PATH": "/usr/bin"}, "/") == [name for name in os.defpath.split(":") if name]


def script(folder: Path, body: str, timeout: float = 30.0) -> Invocation:
    program = folder / "slow"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return Invocation(str(program), [], {"PATH": os.environ["PATH"]}, timeout)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_a_git_that_hangs_is_killed_with_its_group(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="did not answer within"):
        await run(script(tmp_path, f"sleep 600 & echo $! > {tmp_path}/pid; wait", timeout=1.0))
    grandchild = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not is_alive(grandchild):
            break
        await asyncio.sleep(0.02)
    assert not is_alive(grandchild)


async def test_cancelling_ends_the_process_and_reaps_it(tmp_path: Path) -> None:
    started = asyncio.Event()
    pids: list[bytes] = []

    async def reading() -> None:
        async with start(script(tmp_path, "echo $$; exec yes")) as running:
            pids.append(await running.read_line())
            started.set()
            while await running.read():
                pass

    task = asyncio.create_task(reading())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not Path(f"/proc/{int(pids[0])}").exists()


async def test_cancelling_amid_a_write_that_nobody_reads_leaves_nothing_open(tmp_path: Path) -> None:
    task = asyncio.create_task(run(script(tmp_path, "exec sleep 600"), b"x" * 5_000_000))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [other for other in asyncio.all_tasks() if other is not asyncio.current_task()] == []


async def test_leaving_a_log_early_ends_its_process(git: GitProcess, box: Sandbox) -> None:
    for number in range(3):
        box.commit(str(number))
    head = (await git.head(str(box.root))).commit or ""
    async with aclosing(git.log(str(box.root), head, 10)) as log:
        assert parse_record(await anext(log)).subject == "2"


async def test_a_flood_of_complaints_is_cut_and_blocks_nothing(tmp_path: Path) -> None:
    async with start(script(tmp_path, "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo done; exit 3")) as running:
        assert await running.read() == b"done\n"
        code, complaint = await running.finish()
    assert code == 3
    assert len(complaint) == 65_536


def forged_index(box: Sandbox, honest: bytes, forged: bytes) -> None:
    """Rewrite a path of the index to one of the same length, checksum included."""
    index = box.root / ".git/index"
    body = index.read_bytes()[:-20].replace(honest, forged)
    index.write_bytes(body + sha1(body, usedforsecurity=False).digest())
    assert struct.unpack(">4sL", body[:8])[0] == b"DIRC"


async def test_a_forged_index_is_listed_as_it_stands_for_discovery_to_judge(git: GitProcess, box: Sandbox) -> None:
    box.put("aa/secret.py")
    box.commit("one")
    forged_index(box, b"aa/secret.py", b"../secret.py")
    assert "../secret.py" in await git.list_candidates(str(box.root))
