"""`bench impact` on a generated repository: only what stood before a commit is evidence."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenure.adapters.git.repository import GitProcess
from tenure.core.errors import InvalidInput
from tenure.core.impact import rank
from tenure.workspace.bench.impact import bench_impact
from tenure.workspace.bench.past_trees import PastTrees
from tests.support.git_sandbox import Sandbox


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    sandbox = Sandbox(tmp_path / "tree")
    sandbox.put("shop/__init__.py")
    sandbox.put("shop/cart.py", "def total(): return 1\n")
    sandbox.put("shop/stock.py", "from shop.cart import total\n\ndef left(): return total()\n")
    sandbox.put("shop/mail.py", "def send(): return 2\n")
    sandbox.put("notes.md", "notes\n")
    sandbox.commit("Begin")
    for number in range(3):
        sandbox.put("shop/cart.py", f"def total(): return {number + 2}\n")
        sandbox.put("shop/mail.py", f"def send(): return {number + 3}\n")
        sandbox.commit(f"Change the price {number}")
    return sandbox


def change(sandbox: Sandbox, *paths: str) -> str:
    for path in paths:
        target = sandbox.root / path
        target.write_text(target.read_text() + "# more\n")
    return sandbox.commit("Change " + " ".join(paths))


async def test_the_commit_itself_is_no_evidence(sandbox: Sandbox) -> None:
    asked = change(sandbox, "shop/cart.py", "shop/stock.py")
    change(sandbox, "shop/cart.py", "shop/stock.py")
    [(commit, ties)] = [state async for state in PastTrees(GitProcess(), str(sandbox.root)).before([asked])]
    assert commit == asked
    assert ties.history.times_together(["shop/cart.py"]) == {
        "shop/mail.py": 4,
        "shop/stock.py": 1,
        "shop/__init__.py": 1,
    }
    assert rank(ties, ["shop/cart.py"])[0].path == "shop/mail.py"


async def test_imports_of_that_time_are_known(sandbox: Sandbox) -> None:
    before = change(sandbox, "shop/mail.py")
    sandbox.put("shop/stock.py", "from shop.mail import send\n")
    sandbox.commit("Import another")
    after = change(sandbox, "shop/mail.py")
    states = {sha: ties async for sha, ties in _states(sandbox, [after, before])}
    assert states[before] == (True, False)
    assert states[after] == (False, True)


async def _states(sandbox: Sandbox, commits: list[str]) -> AsyncIterator[tuple[str, tuple[bool, bool]]]:
    async for sha, ties in PastTrees(GitProcess(), str(sandbox.root)).before(commits):
        yield (
            sha,
            (
                ties.imports.imports("shop/stock.py", ["shop/cart.py"]),
                ties.imports.imports("shop/stock.py", ["shop/mail.py"]),
            ),
        )


async def test_a_renamed_file_keeps_its_history(sandbox: Sandbox) -> None:
    sandbox.git("mv", "shop/mail.py", "shop/post.py")
    sandbox.commit("Rename")
    asked = change(sandbox, "shop/cart.py")
    [(_, ties)] = [state async for state in PastTrees(GitProcess(), str(sandbox.root)).before([asked])]
    assert "shop/mail.py" not in ties.names
    assert ties.history.times_together(["shop/cart.py"])["shop/post.py"] == 4


async def test_a_file_that_is_gone_is_no_candidate(sandbox: Sandbox) -> None:
    first = change(sandbox, "shop/cart.py")
    (sandbox.root / "shop/mail.py").unlink()
    sandbox.commit("Remove")
    second = change(sandbox, "shop/cart.py")
    paths = {
        sha: ties.names.paths()
        async for sha, ties in PastTrees(GitProcess(), str(sandbox.root)).before([first, second])
    }
    assert paths[first] == ["shop/__init__.py", "shop/cart.py", "shop/mail.py", "shop/stock.py"]
    assert paths[second] == ["shop/__init__.py", "shop/cart.py", "shop/stock.py"]


async def test_nothing_was_known_before_the_first_commit(sandbox: Sandbox) -> None:
    first = sandbox.git("rev-list", "--max-parents=0", "HEAD").strip()
    with pytest.raises(InvalidInput, match="has no parent"):
        _ = [state async for state in PastTrees(GitProcess(), str(sandbox.root)).before([first])]


async def test_the_bench_reports_both_answers_of_one_run(sandbox: Sandbox, tmp_path: Path) -> None:
    rows = []
    for _ in range(2):
        sha = change(sandbox, "shop/cart.py", "shop/mail.py")
        rows.append({"repo": "ann/shop", "sha": sha, "seed": "shop/cart.py", "gold": ["shop/mail.py"]})
        rows.append({"repo": "ann/shop", "sha": sha, "seed": "shop/mail.py", "gold": ["shop/cart.py"]})
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sandbox.git("clone", "-q", "--bare", str(sandbox.root), str(tmp_path / "clones" / "ann+shop" / "repo"))
    told: list[tuple[int, int]] = []
    report = await bench_impact(GitProcess(), file, tmp_path / "clones", lambda done, all_: told.append((done, all_)))
    assert (report.bench, report.n) == ("impact", 4)
    assert report.figures == {"r@10": 1.0, "mrr": 1.0}
    assert report.baseline == {"r@10": 1.0, "mrr": 1.0}
    assert set(report.by) == {"ann/shop"}
    assert told == [(2, 4), (4, 4)]
