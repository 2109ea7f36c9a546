"""Several repositories of one workspace on the command line: they answer together, named, or one alone."""

from collections.abc import Iterator

import pytest

from tests.support.command_line import CommandLine, command_line
from tests.support.embedded import write_tree

pytestmark = pytest.mark.xdist_group("e2e-several")


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    folder = tmp_path_factory.mktemp("several")
    for name in ("harbour", "orchard"):
        write_tree(folder / name, {f"{name}.py": f"def count_crates(store):\n    return len(store.{name})\n"})
    with command_line(folder) as line:
        for name in ("harbour", "orchard"):
            assert line.run("index", name).code == 0
        yield line


@pytest.mark.parametrize("command", ["retrieve", "search"])
def test_repositories_answer_together_and_each_place_names_its_own(line: CommandLine, command: str) -> None:
    told = line.run(command, "count_crates").out
    assert told.startswith("hit: 2 ")
    assert "harbour: harbour.py:1" in told
    assert "orchard: orchard.py:1" in told


@pytest.mark.parametrize("command", ["retrieve", "search"])
def test_one_repository_is_asked_by_its_name(line: CommandLine, command: str) -> None:
    told = line.run(command, "count_crates", "--repo", "orchard").out
    assert "orchard.py:1" in told
    assert "harbour.py" not in told


def test_an_unknown_repository_is_named_with_those_that_are_there(line: CommandLine) -> None:
    ran = line.run("search", "count_crates", "--repo", "kitchen")
    assert ran.code != 0
    assert "no repository 'kitchen' in this workspace; it has harbour, orchard" in ran.err


@pytest.mark.parametrize("command", ["retrieve", "search"])
def test_whoever_asks_from_inside_one_of_several_repositories_learns_which_option_narrows(
    line: CommandLine, command: str
) -> None:
    inside = line.cwd / "orchard"
    ran = line.run(command, "count_crates", cwd=inside)
    assert "harbour.py:1" in ran.out
    (told,) = ran.err.splitlines()
    assert told == (
        "tenure: all 2 repositories of this workspace answer; --repo orchard asks only the one of this folder"
    )
    assert line.run(command, "count_crates", "--json", cwd=inside).json["result"] == "hit"
    assert line.run(command, "count_crates", "--repo", "orchard", cwd=inside).err == ""
    assert line.run(command, "count_crates").err == ""


def test_a_lone_repository_needs_no_narrowing(line: CommandLine) -> None:
    write_tree(line.cwd / "alone", {"a.py": "def count_crates():\n    return 1\n"})
    assert line.run("-w", "lonely", "index", "alone").code == 0
    assert line.run("search", "count_crates", cwd=line.cwd / "alone").err == ""
