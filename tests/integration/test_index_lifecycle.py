"""What becomes of an index when its tree changes: nothing is left behind, nothing is doubled, nothing goes unnoticed."""

import os
from pathlib import Path

import pytest

from tenure.ports.vector_store import Space
from tests.support.contents import calls, contents
from tests.support.embedded import Embedded, write_tree
from tests.support.git_sandbox import Sandbox
from tests.support.troubled import start, troubled

FRUITS = ("apples", "pears", "plums", "quinces", "cherries", "figs", "grapes", "melons")


def stock(fruits: tuple[str, ...]) -> str:
    bodies = (f'def weigh_{f}(crate):\n    """Weigh {f}."""\n    return crate["{f}"]\n' for f in fruits)
    return "\n\n".join(bodies)


ORCHARD = {
    "stock.py": stock(FRUITS),
    "ship.py": "from stock import weigh_figs, weigh_pears\n\n\ndef ship(crate):\n    return weigh_figs(crate) + weigh_pears(crate)\n",
    "vendor/press.py": "def press_juice(fruit):\n    return fruit\n",
    "docs/juice.md": "# Juice\n\nHow vendor/press.py presses juice.\n",
}


async def sync(stack: Embedded, workspace_id: str, repository_id: str, *, full: bool = False) -> None:
    await stack.tenure.ingestion.request_index(workspace_id, repository_id, full)
    await stack.settled()


async def clean(stack: Embedded, workspace_id: str) -> bool:
    found = await stack.tenure.ingestion.verify(workspace_id)
    return all(one.is_clean and not one.is_partial for one in found)


async def test_indexing_again_changes_no_count_and_no_id(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "orchard", ORCHARD)
    async with troubled(tmp_path, indexing__dense=True) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        first = await contents(stack, workspace, repository)
        for full in (False, True, True):
            await sync(stack, workspace, repository, full=full)
            assert await contents(stack, workspace, repository) == first
        assert first.points_of(Space.CHUNK) == first.chunks
        assert await clean(stack, workspace)


async def test_a_file_that_shrinks_leaves_nothing_of_its_old_self_in_any_store(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "orchard", ORCHARD)
    async with troubled(tmp_path) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        before = await contents(stack, workspace, repository)
        box.put("stock.py", stock(FRUITS[:2]))
        await sync(stack, workspace, repository)
        after = await contents(stack, workspace, repository)
        gone = {f"weigh_{fruit}" for fruit in FRUITS[2:]}
        assert len(calls(before)) == len(calls(after)) + 1
        assert not gone & {name for path, name in after.symbols if path == "stock.py"}
        assert "melons" not in after.texts
        assert after.points_of(Space.CHUNK) == after.chunks < before.chunks
        async with stack.tenure.infrastructure.database.reading(workspace) as work:
            assert not any((await work.nodes.named(sorted(gone))).values())
            assert [one.name for one in await work.edges.unresolved(["weigh_figs"])] != []
        found = await stack.search(workspace, "weigh_melons")
        assert not any("melons" in hit["title"] for hit in found["hits"])
        assert await clean(stack, workspace)


@pytest.mark.parametrize("call", ["upsert", "delete_owned"])
async def test_old_points_stay_until_the_new_ones_are_written(tmp_path: Path, call: str) -> None:
    box = write_tree(tmp_path / "orchard", ORCHARD)
    failing: set[str] = set()
    async with troubled(tmp_path, failing=failing) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        before = await contents(stack, workspace, repository)
        failing.add(call)
        box.put("stock.py", stock(FRUITS[:2]))
        await sync(stack, workspace, repository)
        assert (await contents(stack, workspace, repository)).points >= before.points
        status = await stack.tenure.ingestion.status(workspace, repository)
        assert (status.state, status.is_complete) == ("projecting", False)
        failing.clear()
        await stack.tenure.ingestion.resume()
        await stack.settled()
        after = await contents(stack, workspace, repository)
        assert after.points_of(Space.CHUNK) == after.chunks
        assert await clean(stack, workspace)


async def test_what_a_rename_or_a_delete_leaves_behind_is_nothing(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "orchard", ORCHARD)
    async with troubled(tmp_path) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        box.git("mv", "stock.py", "store.py")
        (box.root / "vendor/press.py").unlink()
        box.commit("Tidy")
        await sync(stack, workspace, repository)
        held = await contents(stack, workspace, repository)
        assert held.paths == {"store.py", "ship.py", "docs/juice.md"}
        assert {path for path, _ in held.symbols} <= held.paths
        assert not calls(held)
        assert len(held.points_of(Space.FILE)) == 3
        assert len(held.points_of(Space.EPISODE)) == 2
        assert await clean(stack, workspace)


async def test_a_new_ignore_rule_removes_rows_from_all_stores_at_the_next_sync(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "orchard", ORCHARD)
    async with troubled(tmp_path) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        box.put(".tenureignore", "vendor/\n*.md\n")
        await sync(stack, workspace, repository)
        held = await contents(stack, workspace, repository)
        assert held.paths - {".tenureignore"} == {"stock.py", "ship.py"}
        assert "press_juice" not in held.texts
        assert held.points_of(Space.CHUNK) == held.chunks
        assert (await stack.search(workspace, "vendor/press.py press_juice"))["result"] == "miss"
        assert await clean(stack, workspace)


async def test_clearing_and_indexing_again_gives_the_same_set_with_the_same_rules(tmp_path: Path) -> None:
    box = write_tree(tmp_path / "orchard", {**ORCHARD, ".tenureignore": "vendor/\n"})
    async with troubled(tmp_path) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        first = await contents(stack, workspace, repository)
        await stack.tenure.ingestion.remove_repository(workspace, repository)
        await stack.settled()
        empty = await contents(stack, workspace, repository)
        assert not {*empty.paths, *empty.nodes, *empty.chunks, *empty.edges, *empty.points}
        assert [p async for p in stack.tenure.infrastructure.vectors.scan(workspace)] == []
        again = await contents(stack, workspace, await stack.index(workspace, box.root))
        assert (again.paths, again.symbols, again.texts) == (first.paths, first.symbols, first.texts)
        assert len(again.points) == len(first.points)
        assert "vendor/press.py" not in again.paths


def branches(root: Path) -> Sandbox:
    """Two branches whose files have equal length; the second has one file less."""
    box = write_tree(root, {f"part{n}.py": f"def alpha_{n}():\n    return {n}\n" for n in range(6)})
    box.git("checkout", "-q", "-b", "other")
    for number in range(5):
        box.put(f"part{number}.py", f"def gamma_{number}():\n    return {number}\n")
    (box.root / "part5.py").unlink()
    box.commit("Rename the functions")
    box.git("checkout", "-q", "main")
    return box


def functions(held: frozenset[tuple[str, str]]) -> set[str]:
    return {name for _, name in held if name.startswith(("alpha", "gamma"))}


async def test_a_branch_switch_while_the_server_was_off_is_told_and_then_caught_up_with(tmp_path: Path) -> None:
    box = branches(tmp_path / "parts")
    async with troubled(tmp_path) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        assert not await stack.tenure.ingestion.mark_behind(workspace, repository)
        main = (await contents(stack, workspace, repository)).symbols
    box.git("checkout", "-q", "other")
    async with troubled(tmp_path, works=False) as stack:
        answer = await ask(stack, workspace, "alpha_3")
        assert answer["freshness"][0]["is_stale"]
        assert answer["freshness"][0]["branch"] == "main"
        assert {item["is_stale"] for item in answer["items"] if item["path"]} == {True}
        assert any("other" in hint for hint in answer["hints"])
        assert await stack.tenure.ingestion.mark_behind(workspace, repository)
        assert (await stack.tenure.ingestion.status(workspace, repository)).repository.is_stale
        await stack.tenure.ingestion.catch_up()
        await start(stack)
        await stack.settled()
        assert functions((await contents(stack, workspace, repository)).symbols) == {f"gamma_{n}" for n in range(5)}
        answer = await ask(stack, workspace, "gamma_3")
        assert not any(item["is_stale"] for item in answer["items"])
        box.git("checkout", "-q", "main")
        await sync(stack, workspace, repository)
        assert (await contents(stack, workspace, repository)).symbols == main
        assert await clean(stack, workspace)


async def test_an_edit_that_keeps_size_and_time_is_found(tmp_path: Path) -> None:
    box = branches(tmp_path / "parts")
    async with troubled(tmp_path) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, box.root)
        target = box.root / "part2.py"
        before = target.stat()
        target.write_text(target.read_text().replace("alpha_2", "delta_2"))
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
        answer = await ask(stack, workspace, "alpha_2")
        stale = {item["path"]: item["is_stale"] for item in answer["items"] if item["path"]}
        assert answer["freshness"][0]["is_stale"]
        assert stale["part2.py"]
        assert not stale.get("part3.py", False)
        await sync(stack, workspace, repository)
        assert ("part2.py", "delta_2") in (await contents(stack, workspace, repository)).symbols
        assert await clean(stack, workspace)


async def ask(stack: Embedded, workspace_id: str, query: str) -> dict:  # type: ignore[type-arg]  # JSON
    response = await stack.client.post(f"/v1/workspaces/{workspace_id}/context", json={"query": query})
    assert response.status_code == 200, response.text
    return response.json()  # type: ignore[no-any-return]  # JSON
