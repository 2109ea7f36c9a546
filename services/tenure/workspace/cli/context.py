"""What every command shares: settings, the client of the local server, output, exit codes."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import typer
from rich.console import Console
from rich.table import Table

from tenure.core.errors import InvalidInput, StoreMismatch, StoreUnavailable, TenureError
from tenure.runtime.settings import Settings, is_profile_file, load_settings
from tenure.workspace.cli.client import ServerClient
from tenure.workspace.local_server import find_or_start, fingerprint

EXIT_PROBLEM, EXIT_USAGE = 1, 2
"""1: something is wrong with the stores, or with what was found; 2: the request can't be served as it stands."""
MAX_ROW_WIDTH = 100_000
"""Characters of a row in a pipe: beyond the longest path and title together."""
P = ParamSpec("P")
HELP = {"help_option_names": ["-h", "--help"]}
"""The context settings of every app: `-h` is `--help`, in commands and groups below as well."""


@dataclass(slots=True)
class Session:
    """The options that stand before the command."""

    profile: str = "embedded"
    flags: dict[str, Any] = field(default_factory=dict)
    workspace: str | None = None
    as_json: bool = False
    key: str | None = None
    console: Console = field(default_factory=Console)
    notes: Console = field(default_factory=lambda: Console(stderr=True, soft_wrap=True))

    def settings(self) -> Settings:
        """The effective settings."""
        return load_settings(self.profile, self.flags)

    def client(self) -> ServerClient:
        """A client of the home's server, which is started if none runs."""
        settings = self.settings()
        with self.notes.status("reaching the local server"):
            address = find_or_start(settings, self.profile, self.flags)
        if address.settings != fingerprint(settings):
            self.note("the running server has other settings than this command; `tenure stop` makes the next one apply")
        return ServerClient(address.url, self.key)

    def show(self, value: Any, text: Callable[[], None]) -> None:
        """Print JSON where it was asked for, else whatever `text` prints."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
        else:
            text()

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], empty: str) -> None:
        """Print rows below their headings, or what to do where there are none. Cells are text, never markup.

        Nothing is cut off: what is too wide for a terminal goes on in the line below, and elsewhere a row is a line.
        """
        if not rows:
            self.console.print(empty, markup=False, style="dim")
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(escape(cell) for cell in row))
        if not self.console.is_terminal:
            # Whoever reads a pipe wants a row a line, however wide.
            unbounded = self.console.options.update(max_width=MAX_ROW_WIDTH)
            table.width = self.console.measure(table, options=unbounded).maximum
        self.console.print(table, soft_wrap=False, crop=False)

    def line(self, text: str, style: str | None = None) -> None:
        """Print a line of text, never markup."""
        self.console.print(escape(text), style=style, highlight=False)

    def note(self, text: str, style: str | None = "yellow") -> None:
        """Tell something beside the answer, on standard error."""
        self.notes.print(f"tenure: {escape(text)}", style=style, highlight=False)


def escape(cell: object) -> str:
    """Text for the terminal: no control sequences out of a file's name, no markup."""
    plain = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in str(cell))
    return plain.replace("[", "\\[")


def exits(command: Callable[P, None]) -> Callable[P, None]:
    """Turns our errors into a message on standard error and an exit code."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except TenureError as error:
            sys.stderr.write(f"tenure: {error}\n")
            is_problem = isinstance(error, StoreUnavailable | StoreMismatch)
            raise typer.Exit(EXIT_PROBLEM if is_problem else EXIT_USAGE) from error

    return run


def parse_flags(assignments: Sequence[str]) -> dict[str, Any]:
    """`section.key=value` pairs; the value is text, which the setting's own type reads."""
    flags = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise InvalidInput(f"--set takes section.key=value, not {assignment!r}")
        flags[name.strip()] = value
    return flags


def profile_of(profile: str) -> str:
    """The profile, a file by its absolute path, so that a server with another current folder finds it."""
    return str(Path(profile).absolute()) if is_profile_file(profile) else profile


def session_of(context: typer.Context) -> Session:
    """The session that the main callback made."""
    session: Session = context.obj
    return session
