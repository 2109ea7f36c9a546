"""Loads what opens stores only in the commands that do: the others talk HTTP, and start in a fraction of the time."""

import importlib
from typing import Any, Protocol, cast

import typer

from tenure.runtime.settings import Settings


class OfflineWork(Protocol):
    """The functions of `tenure.workspace.offline`, which say what each guarantees."""

    def run_server(self, settings: Settings, stop_when_idle: bool) -> None:
        """Run the local server in this process."""
        ...

    def migrate(self, settings: Settings) -> str:
        """Bring the database to the newest schema."""
        ...

    def verify(self, settings: Settings) -> list[dict[str, Any]]:
        """What differs between the stores."""
        ...

    def repair(self, settings: Settings) -> list[dict[str, Any]]:
        """Mend what differs."""
        ...

    def rebuild(self, settings: Settings) -> dict[str, int]:
        """Restore the projections."""
        ...

    def reembed(self, settings: Settings) -> dict[str, int]:
        """Replace vectors of another model."""
        ...

    def check_stores(self, settings: Settings) -> dict[str, Any]:
        """Whether each store answers."""
        ...

    def check_git(self, settings: Settings) -> dict[str, Any]:
        """Whether git answers."""
        ...


def offline_work() -> OfflineWork:
    """The module that opens stores."""
    return cast("OfflineWork", importlib.import_module("tenure.workspace.offline"))


def bench_app() -> typer.Typer:
    """The commands of `tenure bench`."""
    app: typer.Typer = importlib.import_module("tenure.workspace.cli.bench").app
    return app
