"""A name that more files define than are looked at is still found where the question is about a folder or a file."""

from pathlib import Path

import pytest

from tenure.core.context import RetrieveOptions
from tenure.retrieval.sources import DEFINITIONS_READ
from tests.support.embedded import embedded, write_tree

LONG = [f"def other_{n}(account):\n    return account.audit({n}).close(today)\n" for n in range(200)]
FILES = {f"early/step_{n}.py": f"def settle(account):\n    return account + {n}\n" for n in range(DEFINITIONS_READ + 5)}
FILES |= {
    "late/other.py": "def unrelated(account):\n    return account\n",
    "late/step.py": "def settle(account):\n    return account * 2\n" + "\n\n".join(LONG),
    **{f"late/use_{n}.py": f"def use_{n}():\n" + "    settle(settle(settle))\n" * 8 for n in range(40)},
}


@pytest.mark.parametrize(
    "options", [RetrieveOptions(directory_scope=("late",)), RetrieveOptions(file_scope=("late/step.py",))]
)
async def test_a_common_name_is_found_in_the_scope_that_was_asked_for(tmp_path: Path, options: RetrieveOptions) -> None:
    tree = write_tree(tmp_path / "ledger", FILES)
    async with embedded(tmp_path) as stack:
        workspace = await stack.workspace()
        await stack.index(workspace, tree.root)
        bundle = await stack.tenure.retrieval.retrieve(workspace, "settle", options)
    assert bundle.result == "hit"
    assert bundle.items[0].path == "late/step.py"
    assert all((item.path or "").startswith("late/") for item in bundle.items)
