"""A git of the tests' own: no user configuration, a fixed author, times that grow by the minute."""

import os
import subprocess
from pathlib import Path

FIRST_COMMIT_AT = 1_700_000_000


def git_environment() -> dict[str, str]:
    """The process's environment without git's own variables, and with no user's configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in _PERSON.items()}
    return kept | who | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


_PERSON = {"NAME": "Ada", "EMAIL": "ada@example.invalid"}


class Sandbox:
    """A git work tree under a temporary folder."""

    def __init__(self, root: Path, initialise: bool = True) -> None:
        self.root = root
        self._commits = 0
        root.mkdir(parents=True, exist_ok=True)
        if initialise:
            self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, stdin: bytes | None = None, cwd: Path | None = None) -> str:
        """Run git and return what it printed."""
        at = f"{FIRST_COMMIT_AT + 60 * self._commits} +0000"
        environment = git_environment() | {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=cwd or self.root,
            env=environment,
            input=stdin,
            check=True,
            capture_output=True,
        )
        return os.fsdecode(done.stdout)

    def put(self, path: str, content: str | bytes = "") -> Path:
        """Write a file, its folders included."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return target

    def commit(self, message: str, *options: str) -> str:
        """Commit everything; returns the commit's id."""
        self._commits += 1
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", message, *options)
        return self.git("rev-parse", "HEAD").strip()
