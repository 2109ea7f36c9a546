"""What `tenure watch` does about a burst of changes: asks for an index job, and tells in one line what came of it."""

import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from tenure.core.errors import StoreUnavailable
from tenure.workspace.cli.client import ServerClient
from tenure.workspace.cli.context import Session

POLL_SECONDS = 0.1
JOBS_SHOWN = 50
"""Newest jobs of the workspace among which that of this tree is looked for."""
PATHS_SHOWN = 3
_ACTIVE = frozenset({"queued", "running"})
_BROKEN = frozenset({"failed", "parked"})


class Updates:
    """Updates of one tree's index. `run` blocks until the update is done, or `stop` is set; one at a time."""

    def __init__(self, session: Session, workspace_id: str, repository: Any, stop: threading.Event) -> None:
        self._session = session
        self._base = f"/v1/workspaces/{workspace_id}"
        self._repository_id = str(repository["id"])
        self._root = Path(repository["root"])
        self._stop = stop

    def run(self, changed: Collection[Path] = ()) -> None:
        """Bring the index up to the tree. An update that changed nothing is not worth a line.

        The server may have stopped for being idle: it is found, or started, every time.
        """
        started = time.monotonic()
        try:
            client = self._session.client()
            job = client.call("POST", f"{self._base}/repositories/{self._repository_id}/index", {})
            jobs = self._ended(client, job["id"])
        except StoreUnavailable as error:
            self._session.note(f"{error}; the next change tries again")
            return
        line = told(jobs, shown_paths(changed, self._root), time.monotonic() - started)
        if line is not None:
            self._session.note(line, None if jobs[0]["state"] not in _BROKEN else "red")

    def _ended(self, client: ServerClient, job_id: str) -> list[Any]:
        """This job and those that followed it, newest first, once they have ended: one that was joined while it ran is
        followed by another. Empty if it is not to be seen any more, or nobody waits for it.
        """
        while not self._stop.is_set():
            jobs = client.call("GET", f"{self._base}/jobs", query={"limit": JOBS_SHOWN})
            mine = [job for job in jobs if (job["kind"], job["key"]) == ("index", self._repository_id)]
            if not any(job["state"] in _ACTIVE for job in mine):
                place = next((at for at, job in enumerate(mine) if job["id"] == job_id), -1)
                return mine[: place + 1]
            self._stop.wait(POLL_SECONDS)
        return []


def shown_paths(changed: Collection[Path], root: Path) -> str:
    """Some changed paths, inside the tree by their place in it, and how many more there are. Pure."""
    names = sorted({str(path.relative_to(root)) if path.is_relative_to(root) else str(path) for path in changed})
    more = len(names) - PATHS_SHOWN
    return ", ".join(names[:PATHS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def told(jobs: Sequence[Any], paths: str, seconds: float) -> str | None:
    """One line about ended index jobs, newest first; None if they found nothing to do. Pure."""
    cause = f"{paths} changed: " if paths else ""
    if jobs and jobs[0]["state"] in _BROKEN:
        return f"{cause}indexing {jobs[0]['state']}: {jobs[0]['error']}"
    parsed, removed, failed = (
        sum(job["progress"].get(name, 0) for job in jobs) for name in ("parsed", "removed", "failed")
    )
    commits = max((job["progress"].get("commits", 0) for job in jobs), default=0)
    parts = [
        f"{_counted(parsed, 'file')} indexed" if parsed else "",
        f"{_counted(removed, 'file')} removed" if removed else "",
        f"{_counted(failed, 'file')} not parsed" if failed else "",
        f"history of {_counted(commits, 'commit')} read" if commits else "",
    ]
    done = ", ".join(part for part in parts if part)
    return f"{cause}{done} in {seconds:.1f} s" if done else None


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
