"""History brought up to date step by step equals history read at once."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.adapters.git.repository import GitProcess
from tenure.code.episodes import commit_nodes, commit_of, touched_edges
from tenure.code.history import Commit, parse_record, present_paths
from tenure.code.profiles import profiles
from tenure.core.memory import Node
from tests.support.git_sandbox import Sandbox, git_environment

WORKSPACE = "8a5c2a44-6e0a-4b52-9d39-0b7cf5a6c111"
REPOSITORY = "b8b6a6de-74b9-4a41-a1b4-40ce2cf8a222"
GIT = GitProcess(git_environment())


async def sync(root: str, stored: dict[str, Node], limit: int) -> dict[str, Node]:
    """As an index run does it: read what is not stored, drop what is no longer listed."""
    head = (await GIT.head(root)).commit or ""
    order = await GIT.newest_commits(root, head, limit)
    new = [sha for sha in order if sha not in stored]
    commits = [parse_record(record) async for record in GIT.log_of(root, new)]
    known = stored | {node.source.commit or "": node for node in commit_nodes(WORKSPACE, REPOSITORY, commits, len)}
    return {sha: known[sha] for sha in order}


def outcome(nodes: dict[str, Node], present: set[str]) -> tuple[object, ...]:
    commits: list[Commit] = [commit_of(node) for node in nodes.values()]
    touched = present_paths(commits, present)
    return list(nodes.values()), touched_edges(WORKSPACE, REPOSITORY, commits, touched), profiles(commits, present)


STEPS = st.lists(st.sampled_from(["edit", "add", "rename", "delete", "branch", "switch", "merge", "amend"]), max_size=9)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, st.integers(2, 6))
async def test_history_brought_up_to_date_equals_history_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], limit: int
) -> None:
    root = tmp_path_factory.mktemp("history").resolve() / "repo"
    box = Sandbox(root)
    box.put("f0.py", "start\n" * 9)
    box.commit("start")
    stored: dict[str, Node] = {}
    for number, step in enumerate(steps, start=1):
        take(box, step, number)
        stored = await sync(str(root), stored, limit)
    stored = await sync(str(root), stored, limit)
    present = set(await GIT.list_candidates(str(root)))
    assert outcome(stored, present) == outcome(await sync(str(root), {}, limit), present)


def take(box: Sandbox, step: str, number: int) -> None:
    files = sorted(path.name for path in box.root.glob("*.py"))
    first = files[0] if files else ""
    if step == "branch":
        box.git("checkout", "-q", "-b", f"b{number}")
    elif step == "switch":
        box.git("checkout", "-q", "main")
    elif step == "merge":
        other = box.git("for-each-ref", "--format=%(refname)", "refs/heads").split()[0]
        box.git("merge", "-q", "-m", f"merge {number}", "-X", "ours", "-s", "ours", other)
    elif step == "amend":
        box.git("commit", "-q", "--amend", "-m", f"amended {number}")
    elif step == "rename" and first:
        box.git("mv", first, f"f{number}.py")
        box.commit(f"rename {number}")
    elif step == "delete" and len(files) > 1:
        (box.root / first).unlink()
        box.commit(f"delete {number}")
    else:
        box.put(first if step == "edit" and first else f"f{number}.py", f"{number}\n" * 9)
        box.commit(f"{step} {number}")


async def test_a_rename_moves_the_edges_of_older_commits(tmp_path: Path) -> None:
    box = Sandbox(tmp_path.resolve() / "repo")
    box.put("old.py", "x\n" * 9)
    box.commit("one")
    before = await sync(str(box.root), {}, 10)
    box.git("mv", "old.py", "new.py")
    box.commit("two")
    after = await sync(str(box.root), before, 10)
    commits = [commit_of(node) for node in after.values()]
    assert list(present_paths(commits, {"new.py"}).values()) == [("new.py",), ("new.py",)]


async def test_a_repository_without_commits_has_no_history_to_read(tmp_path: Path) -> None:
    box = Sandbox(tmp_path.resolve() / "repo")
    assert (await GIT.head(str(box.root))).commit is None
    assert outcome({}, {"a"}) == ([], [], ({}, {}))
