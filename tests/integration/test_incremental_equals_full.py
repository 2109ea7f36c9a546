"""Whatever is edited, renamed, deleted or checked out: the index after each sync is that of a full rebuild."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.support.embedded import embedded
from tests.support.git_sandbox import Sandbox
from tests.support.graph_snapshot import snapshot

PACKAGES = ("shop", "shop/parts", "tools")
NAMES = ("cart", "price", "stock", "order", "audit")
STEPS = 6


class Author:
    """Edits a repository at random: modules that import, extend, re-export and call each other."""

    def __init__(self, sandbox: Sandbox, seed: int) -> None:
        self._sandbox = sandbox
        self._chance = random.Random(seed)
        self._branches = ["main"]

    def begin(self) -> None:
        """A first tree with a first commit."""
        for package in PACKAGES[:2]:
            self._sandbox.put(f"{package}/__init__.py", self._init(package))
        for _ in range(7):
            self._edit()
        self._sandbox.put("README.md", "# Shop\n\nA shop.\n")
        self._sandbox.commit("Begin the shop")

    def step(self) -> None:
        """One or two changes, sometimes committed, sometimes on another branch."""
        for _ in range(self._chance.randint(1, 2)):
            self._chance.choice((self._edit, self._edit, self._rename, self._delete, self._touch_init))()
        if self._chance.random() < 0.6:
            self._sandbox.commit(f"Change {self._chance.choice(NAMES)} and {self._chance.choice(NAMES)}")
            if self._chance.random() < 0.4:
                self._switch()

    def _modules(self) -> list[Path]:
        return sorted(p for p in self._sandbox.root.rglob("*.py") if p.name != "__init__.py")

    def _edit(self) -> None:
        package, name = self._chance.choice(PACKAGES), self._chance.choice(NAMES)
        self._sandbox.put(f"{package}/{name}.py", self._module(package, name))

    def _rename(self) -> None:
        if modules := self._modules():
            old = self._chance.choice(modules)
            new = old.with_name(f"{self._chance.choice(NAMES)}_{self._chance.randint(1, 3)}.py")
            if not new.exists():
                old.rename(new)

    def _delete(self) -> None:
        if len(modules := self._modules()) > 3:
            self._chance.choice(modules).unlink()

    def _touch_init(self) -> None:
        package = self._chance.choice(PACKAGES)
        marker = self._sandbox.root / package / "__init__.py"
        if marker.exists() and self._chance.random() < 0.5:
            marker.unlink()
        else:
            self._sandbox.put(f"{package}/__init__.py", self._init(package))

    def _switch(self) -> None:
        if len(self._branches) < 3:
            self._branches.append(f"topic{len(self._branches)}")
            self._sandbox.git("checkout", "-q", "-b", self._branches[-1])
        else:
            self._sandbox.git("checkout", "-q", self._chance.choice(self._branches))

    def _init(self, package: str) -> str:
        name = self._chance.choice(NAMES)
        return self._chance.choice(
            (f"from .{name} import {name}_total as total\n", f"from .{name} import *\n", "", f"from . import {name}\n")
        )

    def _module(self, package: str, name: str) -> str:
        other, third = self._chance.sample(NAMES, 2)
        home = self._chance.choice(PACKAGES).replace("/", ".")
        imported = self._chance.choice(
            (
                f"from {home}.{other} import {other}_total",
                f"from .{other} import {other}_total, {other.title()}",
                f"import {home}.{other} as helper",
                f"from {home} import total",
            )
        )
        return (
            f"{imported}\n\n\n"
            f"class {name.title()}({self._chance.choice((other.title(), 'object'))}):\n"
            f"    def run(self):\n        return self.check() + {other}_total()\n\n"
            f"    def check(self):\n        return {self._chance.randint(0, 9)}\n\n\n"
            f"def {name}_total(n={self._chance.randint(0, 9)}):\n"
            f"    thing = {name.title()}()\n    thing.run()\n    return helper.{third}_total() if n else total()\n"
        )


@pytest.mark.parametrize("seed", range(6))
async def test_each_sync_ends_where_a_full_rebuild_ends(tmp_path: Path, seed: int) -> None:
    sandbox = Sandbox(tmp_path / "repository")
    author = Author(sandbox, seed)
    author.begin()
    async with embedded(tmp_path) as stack:
        kept = await stack.workspace("kept")
        repository = await stack.index(kept, sandbox.root)
        for number in range(STEPS):
            author.step()
            await stack.index(kept, sandbox.root)
            fresh = await stack.workspace(f"fresh {number}")
            rebuilt = await stack.index(fresh, sandbox.root)
            ours = await snapshot(stack.tenure, kept, repository)
            theirs = await snapshot(stack.tenure, fresh, rebuilt)
            assert ours == theirs
            assert ours["nodes"]
            assert all(file[3] for file in ours["files"])
            findings = await stack.tenure.ingestion.verify(kept)
            assert [found.counts() for found in findings if not found.is_clean] == []
            await asyncio.sleep(0)
