"""Branches: made, given to the table, deleted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Final

import typer

from paimon_spark.cli.arguments import Output, OutputFormat, TableOptions, TablePath, parse_options, tag_or_snapshot
from paimon_spark.cli.commands.removal import removes
from paimon_spark.cli.declared import Shown, takes
from paimon_spark.cli.messages import if_stopped
from paimon_spark.cli.tables import print_result
from paimon_spark.cli.texts import count_text, ids_text, list_text, names_text
from paimon_spark.procedures.branches import CreateBranch, DeleteBranch, FastForward
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.store.history.branches import CreateBranchResult, DeleteBranchResult
from paimon_spark.store.history.fast_forward import FastForwardResult
from paimon_spark.store.open import open_data_table

app: Final = typer.Typer()


@app.command("create-branch")
@takes(CreateBranch, name=Shown(metavar="NAME"))
def make_branch(
    path: TablePath,
    call: CreateBranch,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="STATE", show_default=False, help="A snapshot id, a tag, or a time; else empty."),
    ] = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Makes a branch: a line of snapshots of its own, over the same data files."""
    options = parse_options(option)
    tag, snapshot = (None, None) if at is None else tag_or_snapshot(path, options, at)
    with if_stopped("the branch is made, or the same call makes it"):
        made = replace(call, tag=tag, snapshot=snapshot).run(open_data_table(path, options), LocalEngine())
    print_result(made, partial(_made, path), output)


def _made(path: str, made: CreateBranchResult) -> str:
    if made.snapshot_id is None:
        return f"branch '{made.name}' has the columns of {path} and no rows: --at makes one with those of a state"
    return f"branch '{made.name}' begins with snapshot {made.snapshot_id}"


@removes(
    app,
    "delete-branch",
    DeleteBranch,
    "names",
    left="the branches that are still listed are whole; call it again for the others",
    on_branches=False,
)
def _deleted(result: DeleteBranchResult) -> str:
    """Deletes branches; data files that only they need go with the orphans."""
    return f"{names_text(result.names, 'branch', 'branches')}, {count_text(len(result.paths), 'file')} of metadata"


@removes(
    app,
    "fast-forward",
    FastForward,
    left="the table can be read; call it again to go all the way",
    on_branches=False,
    branch=Shown(metavar="NAME"),
)
def _forwarded(result: FastForwardResult) -> str:
    """Gives the table what a branch has, in place of its own snapshots since the branch began."""
    gone = [ids_text(result.removed_snapshots, "snapshot"), names_text(result.removed_tags, "tag")]
    come = [ids_text(result.added_snapshots, "snapshot"), names_text(result.added_tags, "tag")]
    return f"{list_text(gone) or 'nothing'}; what comes: {list_text(come)}"
