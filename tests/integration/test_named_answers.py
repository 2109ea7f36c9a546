"""Whoever asks for a name gets its definitions: first, a hit, in tests where only tests have it, however large or common."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tenure.core.context import ContextBundle, IncludeTests, RetrieveOptions
from tenure.retrieval.statistics import Statistics, TermStatistics
from tests.support.embedded import Embedded, embedded, write_tree

pytestmark = pytest.mark.asyncio(loop_scope="module")

VALVES = 24
"""More files than a name may have that says something about each of them."""
BOILER = "class Boiler:\n    '''Heats water.'''\n\n" + "\n".join(
    f"    def stage_{number}(self, water):\n        return water.heated_by({number}, self.burner, self.pressure)\n"
    for number in range(900)
)
FILES = {
    "plant/__init__.py": "from plant.heat.boiler import Boiler\n",
    "plant/heat/__init__.py": "",
    "plant/heat/boiler.py": BOILER,
    "plant/heat/pipe.py": "class Pipe:\n    def __len__(self):\n        return 3\n\n    def bend(self):\n        return Pipe()\n",
    **{f"plant/valves/valve_{n}.py": f"def turn(amount):\n    return amount + {n}\n" for n in range(VALVES)},
    "tests/test_pipe.py": (
        "class LeakyPipe:\n    def drip(self):\n        return 1\n\n\nclass Boiler:\n    pass\n\n\n"
        "def test_a_pipe_bends_twice():\n    assert LeakyPipe().drip()\n\n\ndef turn():\n    return 0\n"
    ),
    "docs/boiler.md": "# Boiler\n\nA Boiler heats. The boiler of the plant is a plant.Boiler; a boiler boils.\n" * 6,
}


@dataclass(frozen=True, slots=True)
class Plant:
    stack: Embedded
    workspace_id: str

    async def ask(self, query: str, tests: IncludeTests = IncludeTests.AUTO) -> ContextBundle:
        options = RetrieveOptions(include_tests=tests)
        return await self.stack.tenure.retrieval.retrieve(self.workspace_id, query, options)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plant(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plant]:
    folder = tmp_path_factory.mktemp("plant")
    box = write_tree(folder / "works", FILES)
    async with embedded(folder) as stack:
        workspace_id = await stack.workspace()
        await stack.index(workspace_id, box.root)
        yield Plant(stack, workspace_id)


@pytest.mark.parametrize(
    ("query", "path", "name"),
    [
        ("bend", "plant/heat/pipe.py", "Pipe.bend"),
        ("Pipe.bend", "plant/heat/pipe.py", "Pipe.bend"),
        ("`Pipe`", "plant/heat/pipe.py", "Pipe"),
        ("bend()", "plant/heat/pipe.py", "Pipe.bend"),
        ("__len__", "plant/heat/pipe.py", "Pipe.__len__"),
        ("Boiler", "plant/heat/boiler.py", "Boiler"),
        ("plant.Boiler", "plant/heat/boiler.py", "Boiler"),
        ("plant.heat.boiler.Boiler.stage_7", "plant/heat/boiler.py", "Boiler.stage_7"),
        ("plant/heat/pipe.py", "plant/heat/pipe.py", "plant/heat/pipe.py"),
        ("pipe.py", "plant/heat/pipe.py", "plant/heat/pipe.py"),
        ("heat/pipe.py:4", "plant/heat/pipe.py", "plant/heat/pipe.py"),
        ("boiler.md", "docs/boiler.md", "docs/boiler.md"),
        ("plant/heat/boiler.py", "plant/heat/boiler.py", "plant/heat/boiler.py"),
        ("tests/test_pipe.py", "tests/test_pipe.py", "tests/test_pipe.py"),
        ("class Pipe", "plant/heat/pipe.py", "Pipe"),
        ("def bend", "plant/heat/pipe.py", "Pipe.bend"),
        ("“Pipe”?", "plant/heat/pipe.py", "Pipe"),
        ("LeakyPipe", "tests/test_pipe.py", "LeakyPipe"),
        ("drip", "tests/test_pipe.py", "LeakyPipe.drip"),
        ("test_a_pipe_bends_twice", "tests/test_pipe.py", "test_a_pipe_bends_twice"),
    ],
)
async def test_a_bare_name_is_a_hit_whose_first_item_defines_it(plant: Plant, query: str, path: str, name: str) -> None:
    bundle = await plant.ask(query)
    assert bundle.result == "hit"
    assert (bundle.items[0].path, bundle.items[0].qualified_name) == (path, name)


async def test_a_name_that_many_files_define_is_a_hit_without_those_of_tests(plant: Plant) -> None:
    bundle = await plant.ask("turn")
    assert bundle.result == "hit"
    assert {item.qualified_name for item in bundle.items} == {"turn"}
    assert all((item.path or "").startswith("plant/valves/") for item in bundle.items)


@pytest.mark.parametrize(
    "query",
    [
        "Why does test_a_pipe_bends_twice fail?",
        "How does LeakyPipe work?",
        "What calls `drip`?",
        "Fix what fails in tests/test_pipe.py",
        "What is in tests.test_pipe",
    ],
)
async def test_a_question_that_names_a_test_wants_it(plant: Plant, query: str) -> None:
    assert "tests/test_pipe.py" in {item.path for item in (await plant.ask(query)).items}


async def test_a_question_that_names_nothing_of_tests_alone_gets_none(plant: Plant) -> None:
    for query in ("How does the Boiler heat water?", "Where is `turn` used?"):
        assert "tests/test_pipe.py" not in {item.path for item in (await plant.ask(query)).items}


async def test_tests_stay_out_where_the_options_say_so(plant: Plant) -> None:
    bundle = await plant.ask("test_a_pipe_bends_twice", IncludeTests.NO)
    assert "tests/test_pipe.py" not in {item.path for item in bundle.items}


async def test_a_large_definition_that_no_passage_matched_is_shown_by_its_beginning(plant: Plant) -> None:
    first = (await plant.ask("plant.Boiler")).items[0]
    assert first.text.startswith("class Boiler:\n    '''Heats water.'''")
    assert first.start_line == 1
    assert first.token_count < 400


async def test_a_large_file_whose_lines_all_stand_in_definitions_is_shown_by_the_first_of_them(plant: Plant) -> None:
    first = (await plant.ask("plant/heat/boiler.py")).items[0]
    assert first.text.startswith("class Boiler:")
    assert first.token_count < 400


async def test_a_miss_says_how_many_passages_wait_for_their_vectors(plant: Plant) -> None:
    bundle = await plant.ask("What is the capital of Mongolia?")
    assert bundle.result == "miss"
    assert any("passages have no dense vector yet" in hint for hint in bundle.hints)


async def test_the_first_question_after_the_first_index_knows_how_rare_words_are(tmp_path: Path) -> None:
    async with embedded(tmp_path) as stack:
        workspace_id = await stack.workspace()
        assert (await Plant(stack, workspace_id).ask("Where is water heated?")).items == ()
        await stack.index(workspace_id, write_tree(tmp_path / "works", FILES).root)
        options = RetrieveOptions(explain=True)
        bundle = await stack.tenure.retrieval.retrieve(workspace_id, "Where is water heated?", options)
    assert bundle.explanation["documents"] > len(FILES)


async def test_a_question_to_one_repository_does_not_make_the_workspace_count_its_terms_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions: list[object] = []
    of = Statistics.of

    async def noted(self: Statistics, workspace_id: str, version: object) -> TermStatistics:
        versions.append(version)
        return await of(self, workspace_id, version)

    monkeypatch.setattr(Statistics, "of", noted)
    async with embedded(tmp_path) as stack:
        workspace_id = await stack.workspace()
        one, _ = [
            await stack.index(workspace_id, write_tree(tmp_path / name, {f"{name}.py": "def f(): ...\n"}).root)
            for name in ("one", "two")
        ]
        for options in (RetrieveOptions(), RetrieveOptions(repository_ids=(one,))):
            await stack.tenure.retrieval.retrieve(workspace_id, "f", options)
    assert len(versions) == 2
    assert versions[0] == versions[1]


async def test_a_name_with_a_wrong_module_before_it_is_not_taken_for_the_definition(plant: Plant) -> None:
    bundle = await plant.ask("kitchen.oven.Pipe")
    assert all(item.relevance < 1.0 for item in bundle.items)
