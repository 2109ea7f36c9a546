"""Loads what opens stores only in the commands that do: the others talk HTTP, and start in a fraction of the time."""

import importlib
from typing import Any, Protocol, cast

import typer

from tenure.runtime.settings import Settings
from tenure.workspace.home_lock import refuse_if_open


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


def offline_work(settings: Settings) -> OfflineWork:
    """The module that opens stores; `StoreUnavailable` at once if another process has the home open."""
    refuse_if_open(settings.home)
    return cast("OfflineWork", importlib.import_module("tenure.workspace.offline"))


def check_git(settings: Settings) -> dict[str, Any]:
    """See `tenure.workspace.git_check`."""
    report: dict[str, Any] = importlib.import_module("tenure.workspace.git_check").check_git(settings)
    return report


def bench_app() -> typer.Typer:
    """The commands of `tenure bench`."""
    app: typer.Typer = importlib.import_module("tenure.workspace.cli.bench").app
    return app
