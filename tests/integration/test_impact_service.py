"""`impact` over a real index of a generated repository: SQLite, git and the first phase as they are."""

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tenure.adapters.git.repository import GitProcess
from tenure.adapters.in_process.task_queue import InProcessTaskQueue
from tenure.adapters.sql import migrate
from tenure.adapters.sql.database import SqlDatabase
from tenure.adapters.system import SystemClock
from tenure.code.model import PreparedFile, PrepareRequest
from tenure.code.prepare import prepare_many
from tenure.core.commands import JobKind, JobState
from tenure.core.errors import InvalidInput, RecordNotFound
from tenure.ingestion.indexing import Indexing
from tenure.ingestion.just_stored import JustStored
from tenure.ingestion.lease import take
from tenure.ingestion.registration import Registration
from tenure.ports.records import Job, Workspace
from tenure.retrieval.impact import ImpactReport, ImpactService
from tests.support.git_sandbox import Sandbox


async def prepare(requests: Sequence[PrepareRequest]) -> list[PreparedFile]:
    return prepare_many(requests)


@dataclass
class Index:
    """A database with one workspace, and what indexes trees into it."""

    database: SqlDatabase
    workspace_id: str
    service: ImpactService

    async def sync(self, root: Path) -> str:
        """Bring the index of a tree up to date; returns the repository's id."""
        clock = SystemClock()
        registration = Registration(self.database, GitProcess(), clock, [], any_root=True)
        repository = await registration.add(self.workspace_id, str(root))
        indexing = Indexing(
            database=self.database,
            git=GitProcess(),
            prepare=prepare,
            warm=lambda: None,
            just_stored=JustStored(),
            queue=InProcessTaskQueue(),
            clock=clock,
            count_tokens=len,
            history_commits=100,
            full_pass_rate=1.0,
        )
        job = Job(
            str(uuid.uuid4()), self.workspace_id, JobKind.INDEX, repository.id, JobState.QUEUED, clock.now(), options={}
        )
        async with self.database.writing(self.workspace_id) as work:
            job = await work.jobs.request(job)
        leased = await take(self.database, clock, self.workspace_id, job.id)
        assert leased is not None
        await indexing.run(leased)
        await leased.end(JobState.DONE)
        return repository.id

    async def ask(self, repository_id: str, *paths: str, limit: int = 20) -> ImpactReport:
        return await self.service.impact(self.workspace_id, repository_id, list(paths), limit)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[Index]:
    url = f"sqlite+aiosqlite:///{tmp_path / 'home' / 'test.sqlite3'}"
    await migrate.upgrade(url)
    database = SqlDatabase(url)
    workspace = Workspace(str(uuid.uuid4()), "team", SystemClock().now())
    await database.directory.add_workspace(workspace)
    yield Index(database, workspace.id, ImpactService(database))
    await database.close()


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    sandbox = Sandbox(tmp_path / "tree")
    sandbox.put("shop/__init__.py")
    sandbox.put("shop/cart.py", "def total():\n    return 1\n")
    sandbox.put("shop/stock.py", "from shop.cart import total\n\n\ndef left():\n    return total()\n")
    sandbox.put("shop/mail.py", "def send():\n    return 2\n")
    sandbox.put("shop/late.py", "def later(basket):\n    return basket.total()\n")
    sandbox.put("guide.md", "# Guide\n\nHow the cart adds up.\n")
    sandbox.commit("Begin")
    change(sandbox, "shop/cart.py", "shop/mail.py", "guide.md")
    change(sandbox, "shop/cart.py", "shop/mail.py")
    return sandbox


def change(sandbox: Sandbox, *paths: str) -> None:
    for path in paths:
        target = sandbox.root / path
        target.write_text(target.read_text() + "\n# more\n")
    sandbox.commit("Change " + " ".join(paths))


async def test_what_changed_together_comes_first_with_its_reasons(index: Index, sandbox: Sandbox) -> None:
    report = await index.ask(await index.sync(sandbox.root), "shop/cart.py")
    assert report.items[0].path == "shop/mail.py"
    assert report.items[0].why[0] == "changed together in 3 commits, last 2023-11-14"
    assert all(0 < item.score <= 1 and item.why for item in report.items)
    stock = next(item for item in report.items if item.path == "shop/stock.py")
    assert "imports it" in stock.why
    reverse = await index.ask(await index.sync(sandbox.root), "shop/stock.py")
    assert "imported by it" in next(item for item in reverse.items if item.path == "shop/cart.py").why


async def test_only_files_of_the_same_language_are_named(index: Index, sandbox: Sandbox) -> None:
    repository_id = await index.sync(sandbox.root)
    assert {Path(item.path).suffix for item in (await index.ask(repository_id, "shop/cart.py")).items} == {".py"}
    alone = await index.ask(repository_id, "guide.md")
    assert alone.items == ()
    assert alone.hints == ("no other markdown file is in the index of this repository",)
    both = await index.ask(repository_id, "guide.md", "shop/cart.py")
    assert both.items[0].path == "shop/mail.py"


async def test_references_that_could_not_be_resolved_are_counted(index: Index, sandbox: Sandbox) -> None:
    report = await index.ask(await index.sync(sandbox.root), "shop/cart.py")
    assert report.unresolved == 1
    assert any("names that these files define: 1" in hint for hint in report.hints)
    assert (await index.ask(await index.sync(sandbox.root), "shop/mail.py")).unresolved == 0


async def test_a_new_commit_changes_the_answer(index: Index, sandbox: Sandbox) -> None:
    repository_id = await index.sync(sandbox.root)
    before = await index.ask(repository_id, "shop/cart.py")
    for _ in range(3):
        change(sandbox, "shop/cart.py", "shop/late.py")
    await index.sync(sandbox.root)
    after = await index.ask(repository_id, "shop/cart.py")
    assert before.items[0].path == "shop/mail.py"
    assert after.items[0].path == "shop/late.py"
    assert after == await ImpactService(index.database).impact(index.workspace_id, repository_id, ["shop/cart.py"], 20)


async def test_an_edit_and_a_removal_change_the_answer_like_a_fresh_start(index: Index, sandbox: Sandbox) -> None:
    repository_id = await index.sync(sandbox.root)
    await index.ask(repository_id, "shop/cart.py")
    sandbox.put("shop/late.py", "from shop.cart import total\n")
    (sandbox.root / "shop/mail.py").unlink()
    await index.sync(sandbox.root)
    after = await index.ask(repository_id, "shop/cart.py")
    assert "shop/mail.py" not in {item.path for item in after.items}
    assert "imports it" in next(item for item in after.items if item.path == "shop/late.py").why
    assert after == await ImpactService(index.database).impact(index.workspace_id, repository_id, ["shop/cart.py"], 20)


async def test_a_renamed_file_keeps_its_history(index: Index, sandbox: Sandbox) -> None:
    sandbox.git("mv", "shop/mail.py", "shop/post.py")
    sandbox.commit("Rename")
    report = await index.ask(await index.sync(sandbox.root), "shop/cart.py")
    assert report.items[0].path == "shop/post.py"
    assert report.items[0].why[0].startswith("changed together in 3 commits")


async def test_a_folder_without_history_answers_from_what_it_has(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "one.py").write_text("def first():\n    return 1\n")
    (folder / "two.py").write_text("from one import first\n")
    report = await index.ask(await index.sync(folder), "one.py")
    assert [item.path for item in report.items] == ["two.py"]
    assert report.items[0].why[0] == "imports it"
    assert any("no history is indexed" in hint for hint in report.hints)


async def test_paths_are_taken_as_people_write_them(index: Index, sandbox: Sandbox) -> None:
    repository_id = await index.sync(sandbox.root)
    expected = await index.ask(repository_id, "shop/cart.py", limit=2)
    assert len(expected.items) == 2
    for written in ("./shop/cart.py", "shop/../shop/cart.py", str(sandbox.root / "shop/cart.py")):
        assert await index.ask(repository_id, written, "shop/cart.py", limit=2) == expected


async def test_what_is_not_indexed_is_an_error_and_never_an_empty_list(index: Index, sandbox: Sandbox) -> None:
    sandbox.put("pixel.png", b"\x89PNG\r\n\x1a\n\0\0\0")
    repository_id = await index.sync(sandbox.root)
    with pytest.raises(InvalidInput, match=r"'cart\.py' is not there; did you mean 'shop/cart\.py'"):
        await index.ask(repository_id, "cart.py")
    with pytest.raises(InvalidInput, match=r"'pixel.png' was left out: "):
        await index.ask(repository_id, "pixel.png")
    with pytest.raises(InvalidInput, match=r"'nowhere\.zig' is not there"):
        await index.ask(repository_id, "nowhere.zig")
    with pytest.raises(InvalidInput, match="between 1 and 50 files, not 0"):
        await index.ask(repository_id)
    with pytest.raises(InvalidInput, match="limit must be between"):
        await index.ask(repository_id, "shop/cart.py", limit=0)


async def test_another_workspaces_repository_is_not_there(index: Index, sandbox: Sandbox) -> None:
    repository_id = await index.sync(sandbox.root)
    await index.ask(repository_id, "shop/cart.py")
    stranger = Workspace(str(uuid.uuid4()), "other", SystemClock().now())
    await index.database.directory.add_workspace(stranger)
    with pytest.raises(RecordNotFound):
        await index.service.impact(stranger.id, repository_id, ["shop/cart.py"], 5)


async def test_only_so_many_repositories_are_kept_in_memory(index: Index, tmp_path: Path) -> None:
    for number in range(5):
        folder = tmp_path / f"plain{number}"
        folder.mkdir()
        (folder / "one.py").write_text("def first():\n    return 1\n")
        (folder / "two.py").write_text("from one import first\n")
        report = await index.ask(await index.sync(folder), "one.py")
        assert [item.path for item in report.items] == ["two.py"]
    assert len(index.service._kept) == 4
