"""The pure parts of the command line: where options may stand, what is waited for, what `watch` notices."""

import io
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from tenure.core.errors import InvalidInput
from tenure.workspace.cli import bench, main
from tenure.workspace.cli.context import Session, escape, parse_flags, profile_of
from tenure.workspace.cli.index import next_step
from tenure.workspace.cli.main import options_first
from tenure.workspace.cli.watching import is_worth_a_sync, linked_git_folder

ROOT, HOME = Path("/src/tree"), Path("/src/tree/.demo/home")


@pytest.mark.parametrize(
    ("given_", "moved"),
    [
        (["status", "--json"], ["--json", "status"]),
        (["status", "-w", "team", "--json"], ["-w", "team", "--json", "status"]),
        (["search", "--workspace=team", "x"], ["--workspace=team", "search", "x"]),
        (["retrieve", "--", "--json"], ["retrieve", "--", "--json"]),
        (["retrieve", "about --json"], ["retrieve", "about --json"]),
        (["status", "-w"], ["-w", "status"]),
        ([], []),
    ],
)
def test_options_of_every_command_may_stand_behind_it(given_: list[str], moved: list[str]) -> None:
    assert options_first(given_) == moved


@given(st.lists(st.sampled_from(["index", "--json", "-w", "x", "--full", "--", "--home", "--home=/h"])))
def test_moving_options_loses_nothing_and_keeps_the_order_of_the_rest(arguments: list[str]) -> None:
    moved = options_first(arguments)
    assert sorted(moved) == sorted(arguments)
    assert options_first(moved) == moved or "--" in arguments


def test_a_flag_keeps_its_value_as_text() -> None:
    assert parse_flags(["a.b=c=d", " x.y = 1 # no comment"]) == {"a.b": "c=d", "x.y": " 1 # no comment"}
    with pytest.raises(InvalidInput, match=r"section\.key=value"):
        parse_flags(["server.port"])


def test_a_profile_file_is_found_by_a_server_in_another_folder() -> None:
    assert profile_of("test") == "test"
    assert Path(profile_of("own.yaml")).is_absolute()


def test_text_of_a_repository_can_not_steer_the_terminal() -> None:
    assert escape("a\x1b[31mred\r[bold]") == "a\ufffd\\[31mred\ufffd\\[bold]"


def _state(job: str, embed: str | None = None, **counts: int) -> dict[str, Any]:
    known = {"outbox_pending": 0, "chunks_embedded": 2, "chunks_failed": 1, "chunks": 10} | counts
    progress = {"files": 10, "pending": 4, "phase": "structure", "rate": 7.5}
    embed_job = {"state": embed, "progress": progress} if embed else None
    return {"job": {"state": job, "progress": progress}, "counts": known, "embed_job": embed_job}


@pytest.mark.parametrize(
    ("state", "dense", "step"),
    [
        (_state("queued"), False, ("structure", 6, 10)),
        (_state("running"), True, ("structure", 6, 10)),
        (_state("failed", outbox_pending=3), False, None),
        (_state("parked"), True, None),
        (_state("done", outbox_pending=3), False, ("writing 3 projections", 0, None)),
        (_state("done"), False, None),
        (_state("done"), True, ("dense vectors, ?/s", 3, 10)),
        (_state("done_with_errors", "running"), True, ("dense vectors, 7.5/s", 3, 10)),
        (_state("done", "done"), True, None),
        (_state("done", "failed"), True, None),
    ],
)
def test_index_waits_for_the_next_thing_and_never_for_what_can_not_come(
    state: dict[str, Any], dense: bool, step: tuple[str, int, int | None] | None
) -> None:
    assert next_step(state, dense) == step


@pytest.mark.parametrize(
    ("changed", "is_wanted"),
    [
        ("a.py", True),
        (".gitignore", True),
        (".github/x.yml", True),
        (".git/HEAD", True),
        (".git/refs/heads/main", True),
        (".git/packed-refs", True),
        (".git/index", True),
        (".git/index.lock", False),
        (".git/refs/heads/main.lock", False),
        (".git/objects/ab/cdef", False),
        (".git/logs/HEAD", False),
        (".git/FETCH_HEAD", False),
        (".git", False),
        ("vendored/.git/HEAD", True),
        ("vendored/.git/objects/x", False),
        (".demo/home/tenure.sqlite3-wal", False),
        (".demo/home", False),
        (".demo/other", True),
    ],
)
def test_watch_notices_what_concerns_the_index_and_not_what_indexing_writes(changed: str, is_wanted: bool) -> None:
    assert is_worth_a_sync(ROOT / changed, ROOT, None, HOME) is is_wanted


def test_watch_follows_a_linked_work_tree_to_its_git_folder(tmp_path: Path) -> None:
    git_folder = tmp_path / "main" / ".git" / "worktrees" / "w"
    git_folder.mkdir(parents=True)
    tree = tmp_path / "w"
    tree.mkdir()
    (tree / ".git").write_text("gitdir: ../main/.git/worktrees/w\n")
    assert linked_git_folder(tree) == git_folder
    assert is_worth_a_sync(git_folder / "HEAD", tree, git_folder, HOME)
    assert not is_worth_a_sync(git_folder / "logs" / "HEAD", tree, git_folder, HOME)


@pytest.mark.parametrize("text", ["", "nonsense", "gitdir: /nowhere/at/all", "gitdir:"])
def test_a_pointer_to_nowhere_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    assert linked_git_folder(tmp_path) is None


LONG = "services/shop/basket/with_a_folder_of_some_length/and_a_file_whose_name_is_not_short_either.py:1234"
HEADINGS = ("relevance", "where", "what", "why")
ROWS = [("0.98", LONG, "Basket.total_with_taxes", "name, text, history"), ("0.51", "a.py:7", "a", "name")]


def _table(width: int, *, is_terminal: bool) -> str:
    told = io.StringIO()
    console = Console(
        file=told, width=width, soft_wrap=True, force_terminal=is_terminal, color_system=None, _environ={}
    )
    Session(console=console).table(HEADINGS, ROWS, "nothing")
    return told.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_narrow_terminal_shows_every_character_of_a_place_up_to_its_line_number(width: int) -> None:
    lines = _table(width, is_terminal=True).splitlines()
    start, end = lines[0].index("where"), lines[0].index("what")
    folded = "".join(line[start:end].strip() for line in lines[1 : next(i for i, x in enumerate(lines) if "0.51" in x)])
    assert folded == LONG
    assert "\N{HORIZONTAL ELLIPSIS}" not in "".join(lines)


def test_in_a_pipe_each_hit_is_one_whole_line() -> None:
    lines = _table(80, is_terminal=False).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["0.98", LONG, "Basket.total_with_taxes", "name,", "text,", "history"],
        ["0.51", "a.py:7", "a", "name"],
    ]


@pytest.mark.parametrize(
    ("app", "words"),
    [(main.app, []), (main.app, ["search"]), (main.app, ["verify"]), (bench.app, []), (bench.app, ["index"])],
)
def test_a_short_h_asks_for_help_wherever_the_long_one_does(app: typer.Typer, words: list[str]) -> None:
    short, long = (CliRunner().invoke(app, [*words, option]) for option in ("-h", "--help"))
    assert short.exit_code == 0
    assert short.output == long.output
    assert "Usage" in short.output
