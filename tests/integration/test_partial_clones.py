"""Clones that hold only a part of their repository: what is there is indexed, and what is missing is named."""

from pathlib import Path

import pytest

from tests.support.embedded import embedded, write_tree
from tests.support.git_sandbox import Sandbox

FILES = {f"bed_{n}.py": f"def dig_{n}():\n    return {n}\n" for n in range(3)}
LACKS = "its history is not in the index"


@pytest.fixture
def upstream(tmp_path: Path) -> Sandbox:
    box = write_tree(tmp_path.resolve() / "upstream", FILES)
    box.git("config", "uploadpack.allowFilter", "true")
    box.put("bed_1.py", "def dig_1():\n    return 11\n")
    box.commit("Dig the second bed deeper")
    return box


async def test_a_clone_without_trees_is_searched_without_its_history_and_says_so(
    tmp_path: Path, upstream: Sandbox
) -> None:
    clone = Sandbox(tmp_path.resolve() / "clone", initialise=False)
    clone.git("clone", "-q", "--filter=tree:0", f"file://{upstream.root}", ".")
    async with embedded(tmp_path) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, clone.root)
        status = (await stack.client.get(f"/v1/workspaces/{workspace}/repositories/{repository}/status")).json()
        assert (status["state"], status["job"]["state"]) == ("ready_with_errors", "done_with_errors")
        assert status["repository"]["detail"].startswith(LACKS)
        assert "hint:" not in status["repository"]["detail"]
        assert not await stack.tenure.ingestion.mark_behind(workspace, repository)
        found = await stack.search(workspace, "dig_1")
        assert found["hits"][0]["path"] == "bed_1.py"
        assert any(LACKS in hint for hint in found["hints"])
        clone.git("fetch", "-q", "--refetch", "--no-filter", "origin")
        assert await stack.index(workspace, clone.root) == repository
        status = (await stack.client.get(f"/v1/workspaces/{workspace}/repositories/{repository}/status")).json()
        assert (status["state"], status["repository"]["detail"], status["counts"]["commits"]) == ("ready", "", 2)


async def test_a_clone_without_old_contents_has_its_whole_history(tmp_path: Path, upstream: Sandbox) -> None:
    clone = Sandbox(tmp_path.resolve() / "clone", initialise=False)
    clone.git("clone", "-q", "--filter=blob:none", f"file://{upstream.root}", ".")
    async with embedded(tmp_path) as stack:
        workspace = await stack.workspace()
        repository = await stack.index(workspace, clone.root)
        status = (await stack.client.get(f"/v1/workspaces/{workspace}/repositories/{repository}/status")).json()
        assert (status["state"], status["counts"]["commits"]) == ("ready", 2)
