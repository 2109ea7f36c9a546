"""`tenure`: the entry point and the options that stand before or behind every command."""

import io
import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from tenure.runtime.collector import collect_seldom
from tenure.workspace.cli import ask, index, keep, serve
from tenure.workspace.cli.context import HELP, Session, exits, parse_flags, profile_of
from tenure.workspace.cli.heavy import bench_app

_ANYWHERE = {"--json": 0, "--workspace": 1, "-w": 1, "--home": 1}
"""Options of every command, with how many values they take: people write them behind the command."""
_EPILOG = (
    "First steps: `tenure index` in a repository, then `tenure retrieve 'How is … done?'`. "
    "--json, -w and --home may also stand behind the command."
)


class _Commands(TyperGroup):
    """Takes the options of every command wherever they stand, up to a `--`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, options_first(args))


def options_first(arguments: list[str]) -> list[str]:
    """The arguments with the options of every command moved to the front; what follows `--` stays. Pure."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    front: list[str] = []
    rest: list[str] = []
    place = 0
    while place < end:
        taken = 1 + _ANYWHERE.get(arguments[place], 0)
        is_option = arguments[place].partition("=")[0] in _ANYWHERE
        (front if is_option else rest).extend(arguments[place : min(place + taken, end)])
        place += taken
    return [*front, *rest, *arguments[end:]]


app = typer.Typer(
    name="tenure",
    cls=_Commands,
    help="The context that a colleague with years of tenure would have.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=HELP,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tenure {version('tenure')}")
        raise typer.Exit


@app.callback()
@exits
def options(
    context: typer.Context,
    profile: Annotated[
        str, typer.Option(envvar="TENURE_PROFILE", help="A profile in config/, or a YAML file.")
    ] = "embedded",
    home: Annotated[
        str | None,
        typer.Option(metavar="<path>", help="Where everything is stored (TENURE_HOME, ~/.local/share/tenure)."),
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a setting: section.key=value.")] = None,
    workspace: Annotated[
        str | None, typer.Option("--workspace", "-w", help="Workspace by name or id; else that of this folder.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(envvar="TENURE_API_KEY", help="API key.", show_default=False, show_envvar=True)
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    version_: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """The context that a colleague with years of tenure would have."""
    del version_  # its callback has printed it
    flags = parse_flags(set_ or [])
    if home is not None:
        if not home.strip():
            raise typer.BadParameter("the home is empty; name a folder, or leave --home out", param_hint="--home")
        flags["home"] = home
    context.obj = Session(
        profile=profile_of(profile),
        flags=flags,
        workspace=workspace,
        as_json=json_,
        key=key,
        console=Console(soft_wrap=True),
    )


def bench(context: typer.Context) -> None:
    """Measure, with a baseline of the same run."""
    bench_app()(context.args or ["--help"], prog_name="tenure bench", obj=context.obj)


index.register(app)
ask.register(app)
keep.register(app)
serve.register(app)
app.command(
    rich_help_panel="Measure",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(bench)


def main() -> None:
    """Run the command line. Text that the terminal can't show is escaped, never an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    collect_seldom()
    app()


if __name__ == "__main__":
    main()
