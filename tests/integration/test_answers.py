"""Answers over the whole stack: exact things are found, age only orders, scopes and budgets hold, errors never look empty."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from tenure.core import context, prompts
from tenure.core.context import OmissionReason, RetrieveOptions
from tests.support.clock import MovedClock
from tests.support.embedded import Embedded
from tests.support.git_history import Step, write_history
from tests.support.git_sandbox import Sandbox
from tests.support.troubled import troubled

pytestmark = pytest.mark.asyncio(loop_scope="module")

SIGNS = '''"""Letters to @borealis go through relay@harbour; don't shout, it's late."""

# ticket #harvest, mark [hr], share 75%, formula v=at2
PATTERN = "map::list<float>"
ARROW = "left->right"
FOLDER = "one\\\\two"
LANGUAGES = ("Objective-C++", "p,q")
TOOL = "ask-oracle"
ENTRY = "portal/start.py"
'''
CASES = """class XMLParserFactory:
    def __missing__(self, key):
        return key


def fetch_order_id(order):
    return order


def fetchOrderTotal(order):
    return fetch_order_id(order)
"""
FILES = {
    "signs.py": SIGNS,
    "cases.py": CASES,
    "tests/test_cases.py": "from cases import fetch_order_id\n\n\ndef test_fetch_order_id():\n    assert fetch_order_id(1)\n",
    "docs/orders.md": "# Orders\n\nHow fetch_order_id and fetchOrderTotal work together.\n",
    **{f"rooms/room_{n}.py": f"def heat_{n}(room):\n    return room.warm({n})\n" for n in range(12)},
}
EXACT = {
    "@borealis": "signs.py",
    "relay@harbour": "signs.py",
    "don't shout": "signs.py",
    "it's": "signs.py",
    "portal/start.py": "signs.py",
    "ask-oracle": "signs.py",
    "v=at2": "signs.py",
    "#harvest": "signs.py",
    "[hr]": "signs.py",
    "75%": "signs.py",
    "map::list<float>": "signs.py",
    "left->right": "signs.py",
    "one\\two": "signs.py",
    "Objective-C++": "signs.py",
    "p,q": "signs.py",
    "fetch_order_id": "cases.py",
    "fetchOrderTotal": "cases.py",
    "XMLParserFactory": "cases.py",
    "__missing__": "cases.py",
}
HARMLESS = [
    *("AND", "OR NOT", "NEAR(order room)", "fetch*", '"unbalanced', "(", ")", "^", "*", "%", "\\", "{}", "[", "-order"),
    *(
        "'; DROP TABLE files; --",
        "path:signs.py",
        "title : x",
        "a" * 5000,
        "order\x00room",
        "(a+)+$",
        "日本",
        "ＦＵＬＬ",
    ),
]
EXACT_MESSAGE = "Stop the walrus overflow in the ballast pump"
TWIN_MESSAGE = "Recalibrate the sextant mirror"
NOW = MovedClock().now()


@dataclass(frozen=True, slots=True)
class Library:
    """An indexed repository with its stack."""

    stack: Embedded
    workspace_id: str
    failing: set[str]
    clock: MovedClock

    async def retrieve(self, query: str, **options: Any) -> context.ContextBundle:
        return await self.stack.tenure.retrieval.retrieve(self.workspace_id, query, RetrieveOptions(**options))

    async def paths(self, query: str, **options: Any) -> list[str]:
        found = await self.stack.search(self.workspace_id, query, **options)
        return [hit["path"] for hit in found["hits"] if hit["path"]]

    async def refusal(self, query: str, **options: Any) -> str:
        body = {"query": query, **options}
        response = await self.stack.client.post(f"/v1/workspaces/{self.workspace_id}/search", json=body)
        assert response.status_code == 422, response.text
        return str(response.json()["detail"])


def _history() -> Iterator[Step]:
    yield Step("Begin", NOW - timedelta(days=900), FILES)
    for message, days in ((TWIN_MESSAGE, 200), (EXACT_MESSAGE, 90), (TWIN_MESSAGE, 1)):
        yield Step(message, NOW - timedelta(days=days), {"log.txt": f"{message} {days}\n"})
    for number in range(10):
        yield Step(f"Repaint pump room number {number}", NOW, {"log.txt": f"{number}\n"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    folder = tmp_path_factory.mktemp("answers")
    box = Sandbox(folder / "library")
    write_history(box, _history())
    failing: set[str] = set()
    clock = MovedClock()
    async with troubled(folder, failing=failing, clock=clock) as stack:
        workspace_id = await stack.workspace()
        await stack.index(workspace_id, box.root)
        yield Library(stack, workspace_id, failing, clock)


@contextmanager
def set_in(library: Library, call: str) -> Iterator[None]:
    library.failing.add(call)
    try:
        yield
    finally:
        library.failing.discard(call)


@pytest.mark.parametrize("query", EXACT)
async def test_what_is_written_exactly_so_is_found(library: Library, query: str) -> None:
    found = await library.stack.search(library.workspace_id, query)
    assert EXACT[query] in [hit["path"] for hit in found["hits"][:5]]
    assert not found["is_partial"]


@pytest.mark.parametrize("query", HARMLESS)
async def test_no_query_raises_or_means_something_hidden(library: Library, query: str) -> None:
    first = await library.stack.search(library.workspace_id, query)
    again = await library.stack.search(library.workspace_id, query)
    assert (first["hits"], first["failed_sources"]) == (again["hits"], {})


@pytest.mark.parametrize("query", ["", "   ", "\n\t\r", "\x00", "\u202e"])
async def test_an_empty_query_is_refused_with_what_to_do(library: Library, query: str) -> None:
    assert "empty" in await library.refusal(query)


async def test_an_overlong_query_and_an_empty_scope_entry_are_refused(library: Library) -> None:
    assert str(context.MAX_QUERY_CHARS) in await library.refusal("x" * (context.MAX_QUERY_CHARS + 1))
    assert "scope" in await library.refusal("order", file_scope=[" "])


async def test_an_old_exact_match_stands_before_fresh_fillers(library: Library) -> None:
    bundle = await library.retrieve("walrus overflow in the ballast pump", limit=8)
    found = {item.title: item for item in bundle.items}
    exact = found[EXACT_MESSAGE]
    fillers = [item for title, item in found.items() if title.startswith("Repaint")]
    assert exact.age_days == 90
    assert all(exact.relevance > filler.relevance and exact.score > filler.score for filler in fillers)
    assert bundle.result == "hit"


async def test_equals_are_both_returned_the_newer_first(library: Library) -> None:
    bundle = await library.retrieve("Recalibrate the sextant mirror", limit=8)
    ages = [(item.age_days, item.relevance) for item in bundle.items if item.title == TWIN_MESSAGE]
    assert [age for age, _ in ages] == [1, 200]
    assert ages[0][1] == ages[1][1]


@pytest.mark.parametrize("days", [60, 400, 4000])
async def test_an_idle_workspace_forgets_nothing(library: Library, days: int) -> None:
    before = await library.retrieve("walrus overflow in the ballast pump", limit=8)
    library.clock.move(days=days)
    try:
        after = await library.retrieve("walrus overflow in the ballast pump", limit=8)
    finally:
        library.clock.move(days=-days)
    assert after.result == before.result
    assert {(item.id, item.relevance) for item in after.items} == {(item.id, item.relevance) for item in before.items}


@pytest.mark.parametrize(
    "query",
    ["How do I book a cheap flight to Reykjavik?", "best recipe for sourdough bread", "who won the election in 1908"],
)
async def test_a_foreign_question_is_a_miss(library: Library, query: str) -> None:
    assert (await library.retrieve(query)).result == "miss"


async def test_tests_are_left_out_unless_they_are_asked_for(library: Library) -> None:
    assert "tests/test_cases.py" not in await library.paths("fetch_order_id")
    assert "tests/test_cases.py" in await library.paths("fetch_order_id", include_tests="yes")
    assert "tests/test_cases.py" in await library.paths("test case of fetch_order_id")
    assert "tests/test_cases.py" in await library.paths("fetch_order_id", directory_scope=["tests"])
    assert "tests/test_cases.py" not in await library.paths("test case of fetch_order_id", include_tests="no")


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ({"file_scope": ["docs/orders.md"]}, {"docs/orders.md"}),
        ({"directory_scope": ["docs/"]}, {"docs/orders.md"}),
        ({"languages": ["markdown"]}, {"docs/orders.md"}),
        ({"directory_scope": ["nowhere"]}, set()),
    ],
    ids=["file", "directory", "language", "nowhere"],
)
async def test_nothing_outside_the_scope_is_answered(
    library: Library, scope: dict[str, list[str]], allowed: set[str]
) -> None:
    assert set(await library.paths("fetch_order_id fetchOrderTotal", **scope)) == allowed


async def test_an_answer_that_does_not_fit_is_a_hit_and_says_what_to_raise(library: Library) -> None:
    bundle = await library.retrieve("fetch_order_id", max_tokens=10)
    assert (bundle.result, bundle.items) == ("hit", ())
    assert any("max_tokens 10 holds none" in hint for hint in bundle.hints)


async def test_a_scope_that_holds_nothing_is_named(library: Library) -> None:
    bundle = await library.retrieve("fetch_order_id", directory_scope=("nowhere",))
    assert bundle.items == ()
    assert any("in this scope" in hint for hint in bundle.hints)
    (item, *_) = (await library.retrieve("fetch_order_id", file_scope=("./rooms//../cases.py",))).items
    assert item.path == "cases.py"


async def test_a_dotted_name_of_thousands_of_parts_is_data(library: Library) -> None:
    bundle = await library.retrieve(f"{'.'.join('a' * 40_000)} fetch_order_id")
    assert bundle.items


@pytest.mark.parametrize("max_tokens", [0, 50, 150, 400, 1200, 8000])
async def test_the_budget_counts_the_rendered_block_exactly(library: Library, max_tokens: int) -> None:
    bundle = await library.retrieve("fetch_order_id in a room with a pump", max_tokens=max_tokens)
    count = library.stack.tenure.infrastructure.tokens.count
    rendered = prompts.render_data(bundle.items) if bundle.items else ""
    assert bundle.budget.used == count(rendered) <= max_tokens
    assert bundle.items if max_tokens >= 400 else max_tokens > 50 or not bundle.items
    dropped = [one for one in bundle.omitted if one.reason is OmissionReason.BUDGET]
    assert dropped if max_tokens <= 400 else max_tokens < 8000 or not dropped


async def test_what_is_left_out_is_listed_with_its_reason(library: Library) -> None:
    limited = await library.retrieve("fetch_order_id fetchOrderTotal", limit=1)
    assert len(limited.items) == 1
    assert {one.reason for one in limited.omitted} == {OmissionReason.LIMIT}
    assert limited.omitted_count >= len(limited.omitted) > 0
    ids = [one.id for one in (*limited.items, *limited.omitted)]
    assert len(set(ids)) == len(ids), "what matched and is called by the best is listed once"
    strict = await library.retrieve("fetch_order_id", relevance_threshold=1.0)
    assert {one.reason for one in strict.omitted} == {OmissionReason.THRESHOLD}
    assert all(item.relevance >= 1.0 for item in strict.items)


async def test_a_dead_source_makes_a_partial_answer_that_names_it(library: Library) -> None:
    with set_in(library, "search"):
        found = await library.stack.search(library.workspace_id, "fetch_order_id")
        nothing_named = await library.stack.client.post(
            f"/v1/workspaces/{library.workspace_id}/search", json={"query": "something quite unknown"}
        )
    assert found["is_partial"]
    assert "vector store failed" in found["failed_sources"]["sparse"]
    assert found["hits"][0]["path"] == "cases.py"
    assert nothing_named.status_code == 503
    assert "vector store failed" in nothing_named.json()["detail"]
    assert not (await library.stack.search(library.workspace_id, "fetch_order_id"))["is_partial"]
