"""What `tenure watch` tells about each update of the index."""

import io
import threading
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tenure.core.errors import StoreUnavailable
from tenure.workspace.cli.context import Session
from tenure.workspace.cli.updates import Updates, shown_paths, told

ROOT = Path("/src/shop")
REPOSITORY = {"id": "r1", "root": str(ROOT)}
REPORT = {"parsed": 2, "removed": 1, "failed": 0, "commits": 0}


def _job(state: str, *, id: str = "j1", key: str = "r1", kind: str = "index", **progress: int) -> dict[str, Any]:
    return {"id": id, "kind": kind, "key": key, "state": state, "progress": REPORT | progress, "error": "disk full"}


@pytest.mark.parametrize(
    ("job", "paths", "line"),
    [
        (_job("done"), "a.py", "a.py changed: 2 files indexed, 1 file removed in 1.2 s"),
        (_job("done", parsed=1, removed=0), "", "1 file indexed in 1.2 s"),
        (_job("done_with_errors", failed=1), "", "2 files indexed, 1 file removed, 1 file not parsed in 1.2 s"),
        (_job("done", commits=9, parsed=0, removed=0), "", "history of 9 commits read in 1.2 s"),
        (_job("failed"), "a.py", "a.py changed: indexing failed: disk full"),
        (_job("done", parsed=0, removed=0), ".git/index", None),
    ],
)
def test_a_line_says_what_changed_how_many_files_and_how_long_and_nothing_of_nothing(
    job: dict[str, Any], paths: str, line: str | None
) -> None:
    assert told([job], paths, 1.23) == line


def test_jobs_that_followed_each_other_are_one_update() -> None:
    jobs = [_job("done", removed=0), _job("done", parsed=0), _job("done")]
    assert told(jobs, "a.py", 1.0) == "a.py changed: 4 files indexed, 2 files removed in 1.0 s"
    assert told([], "a.py", 1.0) is None


def test_three_changed_paths_are_named_and_the_others_counted() -> None:
    inside = [ROOT / name for name in ("d.py", "b/b.py", "a.py", "c.py")]
    assert shown_paths(inside[:2], ROOT) == "b/b.py, d.py"
    assert shown_paths([*inside, Path("/src/.git/worktrees/shop/HEAD")], ROOT) == (
        "/src/.git/worktrees/shop/HEAD, a.py, b/b.py and 2 more"
    )


class _Server:
    """Answers as the server does: one list of jobs after the other."""

    def __init__(self, *lists: list[dict[str, Any]]) -> None:
        self.lists = list(lists)
        self.asked: list[str] = []

    def call(self, method: str, endpoint: str, body: Any = None, query: Any = None) -> Any:
        self.asked.append(f"{method} {endpoint}")
        return self.lists.pop(0) if method == "GET" else _job("queued")


class _Session(Session):
    """A session that has a client already, or none that answers."""

    server: "_Server | None" = None

    def client(self) -> Any:
        if self.server is None:
            raise StoreUnavailable("the local server did not answer")
        return self.server


def _run(server: _Server | None, stop: threading.Event | None = None) -> str:
    told_ = io.StringIO()
    session = _Session(notes=Console(file=told_, soft_wrap=True, _environ={}))
    session.server = server
    Updates(session, "w1", REPOSITORY, stop or threading.Event()).run([ROOT / "a.py"])
    return told_.getvalue()


def test_an_update_is_told_once_the_last_job_of_this_tree_has_ended() -> None:
    others = [_job("running", key="r2"), _job("running", kind="embed")]
    joined, ended, before = _job("running"), _job("done", removed=0), _job("done", id="j0")
    after = _job("done", id="j2", parsed=7)
    server = _Server(
        [*others, joined, before],
        [_job("queued", id="j2"), *others, ended, before],
        [*others, after, ended, before],
    )
    assert "a.py changed: 9 files indexed, 1 file removed in 0." in _run(server)
    assert server.asked == ["POST /v1/workspaces/w1/repositories/r1/index", *["GET /v1/workspaces/w1/jobs"] * 3]


def test_a_server_that_does_not_answer_is_told_and_the_next_change_tries_again() -> None:
    assert "did not answer; the next change tries again" in _run(None)


def test_whoever_ends_watching_waits_for_no_job() -> None:
    stop = threading.Event()
    stop.set()
    assert _run(_Server(), stop) == ""
