"""A repository that tries everything to run something while it is indexed. Each attempt leaves a marker if it works."""

from pathlib import Path

import pytest

from tenure.adapters.git.repository import GitProcess
from tenure.code.discover import discover
from tenure.ports.records import RepositoryKind
from tests.support.git_sandbox import Sandbox, git_environment

HOOKS = ("post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc", "post-checkout", "query")


class Trap:
    """Makes programs that leave a marker named after them."""

    def __init__(self, folder: Path) -> None:
        self.markers = folder / "markers"
        self._programs = folder / "programs"
        self.markers.mkdir()
        self._programs.mkdir()

    def program(self, name: str) -> str:
        """The path of a program that touches `markers/name`."""
        path = self._programs / name
        path.write_text(f"#!/bin/sh\ntouch '{self.markers}/{name}'\nexec cat\n")
        path.chmod(0o755)
        return str(path)

    def sprung(self) -> list[str]:
        """Names of the programs that ran."""
        return sorted(path.name for path in self.markers.iterdir())


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def arm(box: Sandbox, trap: Trap) -> None:
    """Put a trap behind every setting, hook, attribute and name that could start a program."""
    settings = {
        "core.fsmonitor": "fsmonitor",
        "core.pager": "pager",
        "pager.log": "pager-log",
        "pager.ls-files": "pager-ls",
        "core.editor": "editor",
        "core.askPass": "askpass",
        "core.sshCommand": "ssh",
        "core.gitProxy": "proxy",
        "core.alternateRefsCommand": "alternates",
        "diff.external": "external",
        "diff.trap.command": "diff-command",
        "diff.trap.textconv": "textconv",
        "filter.trap.clean": "clean",
        "filter.trap.smudge": "smudge",
        "filter.trap.process": "process",
        "merge.trap.driver": "merge",
        "gpg.program": "gpg",
        "gpg.ssh.program": "gpg-ssh",
        "credential.helper": "credential",
        "uploadpack.packObjectsHook": "pack-hook",
        "interactive.diffFilter": "interactive",
        "trailer.x.command": "trailer",
        "remote.evil.uploadpack": "uploadpack",
    }
    for setting, name in settings.items():
        box.git("config", setting, trap.program(name))
    for alias in ("log", "ls-files", "cat-file", "rev-parse", "rev-list", "config", "ls-tree"):
        box.git("config", f"alias.{alias}", f"!{trap.program(f'alias-{alias}')}")
    box.git("config", "log.showSignature", "true")
    box.git("config", "filter.trap.required", "true")
    included = box.put(".git/evil.inc", f"[core]\n\tfsmonitor = {trap.program('included')}\n")
    box.git("config", "include.path", str(included))
    box.git("config", "core.hooksPath", str(box.root / ".git/hooks"))
    for hook in HOOKS:
        box.put(f".git/hooks/{hook}", Path(trap.program(f"hook-{hook}")).read_text()).chmod(0o755)


def odd_names(trap: Trap) -> list[str]:
    """File names that are commands or options to a careless caller. They can't hold `/`, so they touch by PATH alone."""
    touch = f"cd {trap.markers}; touch".replace("/", "${HOME%${HOME#?}}")
    return [
        *(f"$({touch} name1)", f";{touch} name2", f"`{touch} name3`", f"|{touch} name4"),
        *("--upload-pack=touch x", "-Oorder", "--output=markers", "-c core.fsmonitor=x", ":(exclude)*", "a\n--help"),
    ]


async def read_everything(git: GitProcess, root: str) -> None:
    """All that an index run asks of git, and more."""
    found = await git.find_root(root)
    assert found is not None
    top, is_bare = found
    head = await git.head(top)
    assert head.commit is not None
    assert await git.resolve_commit(top, "HEAD") == head.commit
    commits = await git.newest_commits(top, head.commit, 100)
    assert len([record async for record in git.log(top, head.commit, 100)]) == len(commits) > 0
    assert len([record async for record in git.log_of(top, commits)]) == len(commits)
    assert await git.is_ancestor(top, commits[-1], head.commit)
    entries = await git.list_tree(top, head.commit)
    await git.read_blobs(top, [entry.object_id for entry in entries] + ["1" * 40])
    kinds = [RepositoryKind.BARE] if is_bare else [RepositoryKind.WORK_TREE, RepositoryKind.BARE, RepositoryKind.FOLDER]
    for kind in kinds:
        assert (await discover(top, kind, git, tree_commit=head.commit)).candidates


async def test_a_hostile_repository_leaves_no_trace_of_having_run(tmp_path: Path, trap: Trap) -> None:
    box = Sandbox(tmp_path.resolve() / "repo")
    box.put(".gitattributes", "*.py filter=trap diff=trap merge=trap\n")
    for name in odd_names(trap):
        box.put(f"{name}.py", "x = 1\n")
    box.put("bin/git", Path(trap.program("own-git")).read_text()).chmod(0o755)
    box.commit("$(touch x)")
    signed = f"tree {box.git('write-tree').strip()}\nauthor a <a> 5 +0000\ncommitter a <a> 5 +0000\ngpgsig -----BEGIN SIG\n x\n\nsigned\n"
    box.git("reset", "-q", box.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=signed.encode()).strip())
    (box.root / "bin/git").write_text("changed since it was staged\n")
    arm(box, trap)
    environment = git_environment() | {
        "PATH": f"{box.root}/bin:.:{git_environment()['PATH']}",
        "GIT_EXTERNAL_DIFF": trap.program("env-diff"),
        "GIT_PAGER": trap.program("env-pager"),
        "GIT_SSH_COMMAND": trap.program("env-ssh"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": trap.program("env-config"),
    }
    await read_everything(GitProcess(environment), str(box.root))
    assert trap.sprung() == []


def test_the_traps_do_spring_for_a_plain_git(tmp_path: Path, trap: Trap) -> None:
    box = Sandbox(tmp_path.resolve() / "repo")
    box.put(".gitattributes", "*.py filter=trap diff=trap\n")
    box.put("a.py", "x = 1\n")
    box.commit("one")
    arm(box, trap)
    box.git("ls-files", "-o")
    assert set(trap.sprung()) & {"fsmonitor", "included"}


@pytest.mark.parametrize("transport", ["ext", "uploadpack", "helper"])
async def test_a_partial_clone_fetches_nothing_and_its_absent_files_are_named(
    tmp_path: Path, trap: Trap, transport: str
) -> None:
    upstream = Sandbox(tmp_path.resolve() / "upstream")
    upstream.git("config", "uploadpack.allowFilter", "true")
    upstream.put("old.py", "".join(f"line {number}\n" for number in range(40)))
    upstream.commit("one")
    upstream.git("mv", "old.py", "new.py")
    upstream.put("new.py", "".join(f"line {number}\n" for number in range(41)))
    upstream.put("small.py", "x = 1\n")
    upstream.commit("two")
    box = Sandbox(tmp_path.resolve() / "partial.git", initialise=False)
    box.git("clone", "-q", "--bare", "--filter=blob:none", f"file://{upstream.root}", ".")
    present = box.git("hash-object", "-w", "--stdin", stdin=b"x = 1\n").strip()
    evil = trap.program("fetched")
    if transport == "uploadpack":
        box.git("config", "remote.origin.uploadpack", evil)
    elif transport == "ext":
        box.git("config", "protocol.ext.allow", "always")
        box.git("config", "remote.origin.url", f"ext::{evil}")
    else:
        box.git("config", "remote.origin.vcs", "evil")
    git = GitProcess(git_environment() | {"PATH": f"{Path(evil).parent}:{git_environment()['PATH']}"})
    trap.program("git-remote-evil")
    head = (await git.head(str(box.root))).commit or ""
    entries = {entry.path: entry for entry in await git.list_tree(str(box.root), head)}
    assert (entries["new.py"].size, entries["small.py"].size) == (-1, 6)
    blobs = await git.read_blobs(str(box.root), [entry.object_id for entry in entries.values()])
    assert blobs == {present: b"x = 1\n"}
    assert len([record async for record in git.log(str(box.root), head, 10)]) == 2
    found = await discover(str(box.root), RepositoryKind.BARE, git, tree_commit=head)
    assert [candidate.path for candidate in found.candidates] == ["small.py"]
    assert [(left.path, left.reason) for left in found.left_out] == [("new.py", "not in this partial clone")]
    assert trap.sprung() == []


async def test_a_nested_hostile_repository_is_not_entered(tmp_path: Path, trap: Trap) -> None:
    outer = Sandbox(tmp_path.resolve() / "outer")
    outer.put("a.py")
    outer.commit("one")
    inner = Sandbox(outer.root / "inner")
    inner.put("b.py")
    inner.commit("one")
    arm(inner, trap)
    found = await discover(str(outer.root), RepositoryKind.WORK_TREE, GitProcess(git_environment()))
    assert [candidate.path for candidate in found.candidates] == ["a.py"]
    assert [(left.path, left.reason) for left in found.left_out] == [("inner", "nested repository")]
    assert trap.sprung() == []
