"""`tenure bench …`: commands that measure, each with a baseline of the same run."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from tenure.runtime.bootstrap import git_repository
from tenure.workspace.bench.fit import DENSE_CHUNKS
from tenure.workspace.bench.fit import fit as measure_fit
from tenure.workspace.bench.impact import bench_impact
from tenure.workspace.bench.index import bench_index
from tenure.workspace.bench.localize import Outcome
from tenure.workspace.bench.localize import localize as measure_localize
from tenure.workspace.bench.report import BenchReport
from tenure.workspace.bench.retrieve import DEFAULT_CACHE, QUESTIONS, bench_retrieve
from tenure.workspace.cli.context import HELP, exits, session_of

app = typer.Typer(help="Measure, with a baseline of the same run.", no_args_is_help=True, context_settings=HELP)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Records = Annotated[Path, typer.Argument(help="Records, one JSON object a line.")]
Clones = Annotated[Path, typer.Option("--repos", help="Folder with bare clones as owner+name/repo.")]


@app.command("impact")
@exits
def impact(context: typer.Context, file: Records, repos: Clones, json_: Json = False) -> None:
    """What else changes with a file: recall in the first ten, against counting common commits."""
    with Progress(transient=True, disable=not sys.stderr.isatty(), console=None) as bar:
        task = bar.add_task("questions", total=None)
        report = asyncio.run(
            bench_impact(
                git_repository(), file, repos, lambda done, total: bar.update(task, completed=done, total=total)
            )
        )
    show(context, report, is_json=json_)


@app.command("index")
@exits
def index(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A tree; it is copied and never written to.")],
    dense: Annotated[bool, typer.Option(help="Measure the dense vectors as well.")] = True,
    dense_seconds: Annotated[float | None, typer.Option(min=1, help="Sample them for so long only.")] = None,
    json_: Json = False,
) -> None:
    """How long until a tree is searchable, and until an edit is, against reading and hashing the same files."""
    session = session_of(context)
    work = bench_index(
        session.profile,
        session.flags,
        path,
        dense=dense,
        dense_seconds=dense_seconds,
        notice=lambda what: typer.echo(f"measuring: {what}", err=True),
    )
    show(context, asyncio.run(work), is_json=json_)


@app.command("localize")
@exits
def localize(
    context: typer.Context,
    file: Records,
    repos: Clones,
    dense: Annotated[bool, typer.Option(help="Wait for the dense vectors of every tree.")] = False,
    ablate: Annotated[bool, typer.Option(help="Repeat without each source.")] = False,
    json_: Json = False,
) -> None:
    """From an issue to the files and functions of its fix, against a fixed BM25 over files."""

    def notice(done: Outcome) -> None:
        where = f"file {done.rank}, baseline {done.baseline_rank}, {done.milliseconds:.0f} ms"
        typer.echo(f"{done.instance.id}: {where}", err=True)

    report = asyncio.run(measure_localize(file, repos, dense=dense, ablate=ablate, on_outcome=notice))
    show(context, report, is_json=json_)


@app.command("fit")
@exits
def fit(
    context: typer.Context,
    file: Records,
    repos: Clones,
    dense_chunks: Annotated[
        int, typer.Option(min=0, help="Judge trees of at most so many chunks with dense vectors too.")
    ] = DENSE_CHUNKS,
) -> None:
    """Fit the weights of the sources and the relevance model; prints what is pasted into the code."""
    session = session_of(context)
    fitted = asyncio.run(measure_fit(file, repos, lambda done: typer.echo(done.instance.id, err=True), dense_chunks))
    session.console.print_json(data=fitted)


@app.command("retrieve")
@exits
def retrieve(
    context: typer.Context,
    nodes: Annotated[int, typer.Option(min=1_000, help="Nodes of the made index, its commits beside.")] = 100_000,
    clients: Annotated[int, typer.Option(min=1, max=64, help="Questions that are asked side by side.")] = 1,
    asked: Annotated[int, typer.Option(min=1, max=2_000, help="Questions that are measured.")] = QUESTIONS,
    cache: Annotated[Path, typer.Option(help="Where made indexes are kept.")] = DEFAULT_CACHE,
    json_: Json = False,
) -> None:
    """How long an answer takes over a made index, the question's embedding included, against the searches alone."""
    session = session_of(context)
    work = bench_retrieve(
        session.profile,
        session.flags,
        nodes,
        clients,
        cache,
        asked,
        notice=lambda what: typer.echo(f"retrieve: {what}", err=True),
    )
    show(context, asyncio.run(work), is_json=json_)


def show(context: typer.Context, report: BenchReport, *, is_json: bool) -> None:
    """Print a report as the command, or the options before it, ask for it."""
    session = session_of(context)
    report.show(session.console, is_json=is_json or session.as_json)
