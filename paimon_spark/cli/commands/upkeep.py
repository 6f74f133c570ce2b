"""What keeps a table small, and takes it back: expire, orphans, tags, rollback."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Annotated, Final

import typer

from paimon_spark.cli.arguments import (
    Branch,
    DryRun,
    Output,
    OutputFormat,
    TableOptions,
    TablePath,
    Yes,
    open_with,
    parse_options,
    snapshot_id,
    tag_or_snapshot,
)
from paimon_spark.cli.commands.removal import remove, removes
from paimon_spark.cli.declared import Shown, takes
from paimon_spark.cli.messages import if_stopped
from paimon_spark.cli.progress import progress_bars
from paimon_spark.cli.tables import print_result
from paimon_spark.cli.texts import count_text, ids_text, list_text, names_text, size_text, span_text, time_text
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.procedures.local_engine import LocalEngine, dry_or_real
from paimon_spark.procedures.orphan_files import RemoveOrphanFiles
from paimon_spark.procedures.rollbacks import Rollback
from paimon_spark.procedures.snapshots import ExpireChangelogs, ExpireSnapshots
from paimon_spark.procedures.tags import CreateTag, DeleteTag, ExpireTags
from paimon_spark.store.clean.orphans import RemoveOrphanFilesResult
from paimon_spark.store.expire.snapshots import ExpireSnapshotsResult
from paimon_spark.store.history.consumers import expire_consumers
from paimon_spark.store.history.rollback import RollbackResult
from paimon_spark.store.history.tag_deletion import DeleteTagResult
from paimon_spark.store.history.tags import CreateTagResult, no_such_tag
from paimon_spark.store.holds.retention import changelog_retention, retention
from paimon_spark.store.holds.tag_holds import tags_being_deleted
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import open_data_table

app: Final = typer.Typer()
_LEFT_TAGS = "the tags that are still listed are whole; call it again for the others"


@app.command()
@takes(ExpireSnapshots, "retain_max", "retain_min", "older_than", "max_deletes")
def expire(
    path: TablePath,
    call: ExpireSnapshots,
    changelogs: Annotated[bool, typer.Option("--changelogs", help="Changelogs that outlived their snapshots.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Expires old snapshots, with the files that only they need.

    What is not given is as the options of the table say. Tags, branches and consumers keep what they need.
    """
    table = open_with(path, option, branch)
    kind = "changelog" if changelogs else "snapshot"
    wanted = ExpireChangelogs(**vars(call)) if changelogs else call
    remove(
        dry_or_real(wanted, table),
        partial(_expired, kind),
        dry_run,
        yes,
        output,
        "every snapshot that is still listed is whole; the next expiry finishes",
        stays=partial(_held, table),
        reason=_what_stays(kind, wanted, table.settings),
    )


@app.command()
@takes(RemoveOrphanFiles, "older_than")
def orphans(
    path: TablePath,
    call: RemoveOrphanFiles,
    delete: Annotated[bool, typer.Option("--delete", help="Delete them; asks first.")] = False,
    yes: Yes = False,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Files that no snapshot, tag, branch or changelog names; nothing is deleted without --delete.

    Only files older than a day go, or than --older-than: younger ones may belong to a write under way, and are counted.
    """
    table = open_data_table(path, parse_options(option))

    def run(dry: bool) -> RemoveOrphanFilesResult:
        with progress_bars() as bars:  # no bar is drawn over the question
            return replace(call, dry_run=dry, progress=bars).run(table, LocalEngine())

    left = "orphans that are left are found again; nothing else was touched"
    why = "every older file has its place in the table"
    remove(run, _orphaned, not delete, yes, output, left, lambda _: nullcontext(), _too_young, why)


@app.command("create-tag")
@takes(CreateTag, "time_retained", name=Shown(metavar="NAME"))
def make_tag(
    path: TablePath,
    call: CreateTag,
    at: Annotated[
        str | None, typer.Option("--at", metavar="STATE", help="A snapshot id, a tag, or a time; else the latest.")
    ] = None,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Keeps a snapshot under a name."""
    options = parse_options(option, branch)
    snapshot = None if at is None else snapshot_id(path, options, at)
    with if_stopped("the tag is made, or all is as it was"):
        made = replace(call, snapshot=snapshot).run(open_data_table(path, options), LocalEngine())
    print_result(made, _tagged, output)


@app.command("delete-tag")
@takes(DeleteTag, "names")
def drop_tag(
    path: TablePath,
    call: DeleteTag,
    dry_run: DryRun = False,
    yes: Yes = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Deletes tags, and the files that nothing but they need."""
    table = open_with(path, option, branch)
    known = {*table.snapshots.tag_names(), *tags_being_deleted(table.snapshots)}  # whose deletion broke off
    for name in call.names:
        if name not in known:
            raise no_such_tag(table.snapshots, name)
    remove(dry_or_real(call, table), _untagged, dry_run, yes, output, _LEFT_TAGS)


@app.command("rollback")
def roll_back(
    path: TablePath,
    to: Annotated[str, typer.Argument(metavar="STATE", show_default=False, help="A snapshot id, a tag, or a time.")],
    dry_run: DryRun = False,
    yes: Yes = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Takes a table back to a snapshot, tag or time: what came later goes."""
    options = parse_options(option, branch)
    table = open_data_table(path, options)
    tag, snapshot = tag_or_snapshot(path, options, to)
    remove(
        dry_or_real(Rollback(None, snapshot, tag), table),
        _rolled_back,
        dry_run,
        yes,
        output,
        "the latest snapshot may be one between the last and the wanted one; call it again to go back all the way",
        reason=f"the state asked for is the latest snapshot, {snapshot}" if tag is None else "",
    )


def _what_stays(kind: str, call: ExpireSnapshots | ExpireChangelogs, settings: TableSettings) -> str:
    """Why an expiry may find nothing."""
    if kind == "changelog":
        kept = changelog_retention(settings, retention(settings), call.limits)
    else:
        kept = retention(settings, call.limits)
    if kept.max_deletes == 0:
        limit = "snapshot.expire.limit" if call.max_deletes is None else "--max-deletes"
        return f"{limit} is 0, which lets no {kind} go; give --max-deletes 1 or more"
    least = f"{kind}.num-retained.min" if call.retain_min is None else "--retain-min"
    since = f"{kind}.time-retained" if call.older_than is None else "--older-than"
    return (
        f"the last {count_text(kept.retain_min, kind)} stay ({least}), as do those since {time_text(kept.keep_since)} "
        f"({since}) and those that tags, branches or consumers need"
    )


def _held(table: Table, result: ExpireSnapshotsResult) -> str:
    """The consumer that keeps snapshots which would expire without it; empty: there is none."""
    if result.held_by is None:
        return ""
    first = result.held_from
    text = f"the snapshots from {first} on, for the consumer '{result.held_by}' reads {first} next"
    if result.held_by in expire_consumers(table, dry_run=True).names:
        age = span_text(table.settings.retention.consumer_expiration_time or 0)
        text += f"; it has not moved for more than {age} (consumer.expiration-time): the next commit deletes it"
    return f"{text}; `CALL sys.reset_consumer` without a snapshot deletes it"


def _expired(kind: str, result: ExpireSnapshotsResult) -> str:
    if not result.ids:
        return ""
    counts = [
        count_text(result.data_files, "data file"),
        count_text(result.changelog_files, "changelog file"),
        count_text(result.index_files + result.statistics_files, "index and statistics file"),
        count_text(result.manifest_files, "manifest file"),
    ]
    text = f"{ids_text(result.ids, kind)}, {list_text(counts) or 'no file'}, {size_text(result.bytes)}"
    moved = result.moved_changelogs
    return text + (f"; {count_text(moved, 'snapshot')} live on as changelogs" if moved else "")


def _orphaned(result: RemoveOrphanFilesResult) -> str:
    if not (result.paths or result.directories or result.refused):
        return ""
    text = f"{count_text(len(result.paths), 'file')} older than {time_text(result.older_than_millis)}, "
    text += size_text(result.bytes)
    directories = len(result.directories)
    text += f", {count_text(directories, 'empty directory', 'empty directories')}" if directories else ""
    text += f"; {count_text(len(result.refused), 'file')} that the store does not let go" if result.refused else ""
    return text + (f"; not looked at: {', '.join(result.not_reached)}" if result.not_reached else "")


def _too_young(result: RemoveOrphanFilesResult) -> str:
    if not result.younger_files:
        return ""
    files = f"{count_text(result.younger_files, 'younger file')} ({size_text(result.younger_bytes)}) that nothing names"
    takes = "takes them" if result.younger_files > 1 else "takes it"
    return f"{files}; when no job is writing to the table, --older-than with a later time {takes}"


def _tagged(made: CreateTagResult) -> str:
    kept = "until it is deleted" if made.retained_millis is None else f"for {span_text(made.retained_millis)}"
    return f"tag '{made.name}' keeps snapshot {made.snapshot_id} of {time_text(made.commit_millis)} {kept}"


@removes(app, "expire-tags", ExpireTags, "older_than", left=_LEFT_TAGS)
def _untagged(result: DeleteTagResult) -> str:
    """Deletes the tags whose time is over, and the files that nothing but they need."""
    counts = [
        count_text(result.data_files, "data file"),
        count_text(result.index_files + result.statistics_files, "index and statistics file"),
        count_text(result.manifest_files, "manifest file"),
    ]
    text = f"{names_text(result.names, 'tag')}, {list_text(counts) or 'no file'}, {size_text(result.bytes)}"
    return text if result.names else ""


def _rolled_back(result: RollbackResult) -> str:
    before, now = result.previous_snapshot_id, result.current_snapshot_id
    if not result.paths and before == now:
        return ""
    gone = [
        ids_text(result.snapshots, "snapshot"),
        count_text(len(result.changelogs), "changelog"),
        names_text(result.tags, "tag"),
    ]
    if not before:
        gone = ["no snapshot, because all are lost already", *gone]
    elif before not in (now, *result.snapshots):
        gone = [f"snapshot {before}, which is lost already", *gone]
    return f"{list_text(gone)}; the latest snapshot is then {now}"
