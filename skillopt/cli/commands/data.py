"""`data get | check | list`: the items of the shipped benchmarks on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli import faults

app = typer.Typer(name="data", help="The benchmarks' data: fetch, check, list.", no_args_is_help=True)

Directory = Annotated[
    Path | None, typer.Option("--output-dir", help="Where to write; default: where the configuration looks.")
]


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="A benchmark; `skillopt data list` shows them.", show_default=False)],
    sample: Annotated[
        bool, typer.Option("--sample", help="Write a small set of our own items instead; nothing is fetched.")
    ] = False,
    split: Annotated[
        str, typer.Option("--split", help="A published split by name, or `ratio` to cut one here; default: the first.")
    ] = "",
    output_dir: Directory = None,
    manifest_dir: Annotated[
        Path | None, typer.Option("--manifest-dir", help="The published ids; default: data/<name>_id_split.")
    ] = None,
    source: Annotated[
        list[Path] | None, typer.Option("--source", help="Files you have, in place of a download; may be repeated.")
    ] = None,
    revision: Annotated[str, typer.Option("--revision", help="Another revision than the pinned one.")] = "",
    endpoint: Annotated[str, typer.Option("--endpoint", envvar="HF_ENDPOINT", help="Base URL of the hub.")] = "",
    ratio: Annotated[str, typer.Option("--ratio", help="train:val:test of `--split ratio`.")] = "2:1:7",
    seed: Annotated[int, typer.Option("--seed", help="Seed of `--split ratio`.")] = 42,
) -> None:
    """Fetch a benchmark's data at its pinned revision, verify it and write its splits; or continue to."""

    def action() -> int:
        from skillopt.api.datasets import Request
        from skillopt.cli.data import run_get

        request = Request(split=split, output=output_dir, manifest_dir=manifest_dir, sources=tuple(source or ()),
                          revision=revision, endpoint=endpoint, ratio=ratio, seed=seed)  # fmt: skip
        return run_get(name, request, sample=sample)

    faults.run(action)


@app.command()
def check(
    name: Annotated[str, typer.Argument(help="A benchmark; left out: all that are here.", show_default=False)] = "",
    directory: Annotated[Path | None, typer.Option("--dir", help="Another directory than the usual one.")] = None,
) -> None:
    """Say what is wrong with the data that is here: files, counts, images, fields."""

    def action() -> int:
        from skillopt.cli.data import run_check

        return run_check(name, directory)

    faults.run(action)


@app.command("list")
def list_data() -> None:
    """Show the benchmarks, their splits and licences, and what is present."""

    def action() -> int:
        from skillopt.cli.data import show_list

        return show_list()

    faults.run(action)
