"""`tenure`: the entry point and the options that stand before every command."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tenure.workspace.cli import ask, bench, index, keep, serve
from tenure.workspace.cli.context import Session, exits, parse_flags

app = typer.Typer(
    name="tenure",
    help="The context that a colleague with years of tenure would have.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
@exits
def options(
    context: typer.Context,
    profile: Annotated[str, typer.Option(help="Profile in config/, or a YAML file.")] = "embedded",
    home: Annotated[Path | None, typer.Option(help="Where everything is stored (TENURE_HOME).")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a setting: section.key=value.")] = None,
    workspace: Annotated[str | None, typer.Option("--workspace", "-w", help="Workspace by name or id.")] = None,
    key: Annotated[str | None, typer.Option(help="API key (TENURE_API_KEY).", show_default=False)] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Options for every command."""
    flags = parse_flags(set_ or [])
    if home is not None:
        flags["home"] = str(home)
    context.obj = Session(
        profile=profile, flags=flags, workspace=workspace, as_json=json_, key=key, console=Console(soft_wrap=True)
    )


serve.register(app)
index.register(app)
ask.register(app)
keep.register(app)
app.add_typer(bench.app, name="bench")


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
