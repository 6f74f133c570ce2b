"""``info``: a table on one screen, with the problems that its user may want to solve. ``check``: is the table whole?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from paimon_spark.cli.arguments import At, Branch, Output, OutputFormat, TableOptions, TablePath, parse_options
from paimon_spark.cli.facts import (
    FilesFacts,
    LevelFacts,
    SnapshotFacts,
    TableFacts,
    TableView,
    TagFacts,
    files_facts,
    find_object_table,
    view_table,
)
from paimon_spark.cli.messages import if_stopped, say
from paimon_spark.cli.problems import find_problems
from paimon_spark.cli.progress import progress_bars
from paimon_spark.cli.tables import print_json, print_pairs, stdout_console
from paimon_spark.cli.texts import count_text, printable, size_text, span_text
from paimon_spark.errors import OptionError
from paimon_spark.store.checks.table import check as check_table
from paimon_spark.store.holds.consumer_files import ConsumerLag

app: Final = typer.Typer()
_SHOWN = 8  # tags, columns, branches: more do not help on one screen
_ALL = 2**31 - 1
PROBLEMS = 1


@app.command()
def info(
    path: TablePath,
    at: At = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            show_default=False,
            help="Draw the LSM tree and the time line: .png, .svg or .pdf.",
        ),
    ] = None,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """All that matters of a table on one screen."""
    listed = find_object_table(path, parse_options(option, branch), at)
    if listed is not None:
        _show_files(files_facts(listed), plot, output)
        return
    view = view_table(path, parse_options(option, branch), at)
    view = replace(view, facts=replace(view.facts, problems=find_problems(view)))
    if output is Output.JSON:
        print_json(asdict(view.facts))
    else:
        _print(view.facts)
    if plot is not None:
        _draw(view, plot)
        say(f"drawn: {plot}")


def _show_files(facts: FilesFacts, plot: Path | None, output: Output) -> None:
    if plot is not None:
        raise OptionError(f"--plot: {facts.location} is an {facts.kind}, which has no LSM tree to draw; leave it out")
    if output is Output.JSON:
        print_json(asdict(facts))
        return
    pairs = [("table", facts.location), ("kind", f"{facts.kind}: its rows are the files of its directory")]
    pairs += [("comment", facts.comment)] if facts.comment else []
    pairs += [("options", ", ".join(f"{key} = {value}" for key, value in sorted(facts.options.items())))]
    pairs += [("files", f"{facts.files:,}, {size_text(facts.bytes)}")]
    print_pairs([*pairs, *([("newest", facts.newest)] if facts.newest else [])])


def _draw(view: TableView, target: Path) -> None:
    """Draws with matplotlib, which is an extra and takes its time to start."""
    try:
        picture: Any = import_module("paimon_spark.cli.picture.draw")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("matplotlib"):
            raise
        raise OptionError("--plot needs matplotlib: pip install 'paimon-spark[plot]'") from None
    try:
        picture.draw(view, target)
    except OSError as error:
        raise OptionError(f"--plot {target}: the picture cannot be written: {error.strerror}") from None


def _print(facts: TableFacts) -> None:
    print_pairs([*_definition(facts), *_history(facts), *_contents(facts)])
    console = stdout_console()
    if not facts.problems:
        message = "no problem in the metadata; whether all files are there and whole, paimon-spark check tells"
        console.print(Text(message, style="green"), soft_wrap=True)
    for problem in facts.problems:
        console.print(Text.assemble(("! ", "bold yellow"), printable(problem)), soft_wrap=True)


def _definition(facts: TableFacts) -> Iterator[tuple[str, str]]:
    yield "table", facts.location + ("" if facts.branch == "main" else f", branch {facts.branch}")
    if facts.comment:
        yield "comment", facts.comment
    yield "columns", f"{len(facts.columns)}: {_some(facts.columns)}"
    if facts.primary_keys:
        changelog = "" if facts.changelog_producer == "none" else f", changelog by {facts.changelog_producer}"
        vectors = ", deletion vectors" if facts.deletion_vectors else ""
        yield "primary key", ", ".join(facts.primary_keys)
        yield "merge engine", facts.merge_engine + changelog + vectors
    else:
        yield "primary key", "none: rows are appended" + (", deletion vectors" if facts.deletion_vectors else "")
    if facts.partition_keys:
        yield "partitions", f"{facts.stored.partitions:,} by {', '.join(facts.partition_keys)}"
    yield "buckets", _buckets(facts)
    options = {k: v for k, v in facts.options.items() if k != "path"}
    yield "options", ", ".join(f"{key} = {value}" for key, value in sorted(options.items())) or "none"
    yield "schema", f"{facts.schema_id} of {facts.schemas}" if facts.schemas > 1 else str(facts.schema_id)


def _history(facts: TableFacts) -> Iterator[tuple[str, str]]:
    if facts.first is None or facts.last is None or facts.snapshot is None:
        yield "snapshots", "none: nothing was written yet"
    elif facts.first == facts.last:
        yield "snapshots", f"1: {_snapshot(facts.last)}"
    else:
        yield "snapshots", f"{facts.snapshots:,}: {_snapshot(facts.first)} to {_snapshot(facts.last)}"
    if facts.changelogs:
        yield "changelogs", f"{facts.changelogs:,} that outlive their snapshots"
    yield "retention", _retention(facts)
    if facts.tags:
        yield "tags", f"{len(facts.tags)}: {_some([_tag(tag) for tag in facts.tags])}"
    if facts.branches:
        yield "branches", f"{len(facts.branches)}: {_some(facts.branches)}"
    if facts.consumers:
        reads = [f"{name} {_lag(lag)}" for name, lag in sorted(facts.consumers.items())]
        yield "consumers", f"{len(reads)}: {_some(reads)}"


def _lag(lag: ConsumerLag) -> str:
    text = f"reads snapshot {lag.next_snapshot} next"
    if not lag.snapshots:
        return text
    rows = "" if lag.rows is None else f", {count_text(lag.rows, 'row')}"
    late = "" if lag.millis is None else f", {span_text(lag.millis)}"
    return f"{text} ({count_text(lag.snapshots, 'snapshot')}{rows}{late} behind)"


def _contents(facts: TableFacts) -> Iterator[tuple[str, str]]:
    stored = facts.stored
    if facts.snapshot is not None and facts.snapshot != facts.last:
        yield "state shown", f"snapshot {_snapshot(facts.snapshot)}"
    merged = " in files, before equal keys are merged" if facts.primary_keys else ""
    yield "rows", f"{stored.rows:,}{merged}"
    mean = f", {size_text(stored.bytes / stored.files)} on average" if stored.files else ""
    yield "files", f"{stored.files:,}, {size_text(stored.bytes)}{mean}"
    if stored.levels:
        yield "levels", "  ".join(map(_level, stored.levels))
        fresh = stored.levels[0] if stored.levels[0].level == 0 else None
        waits = f"{count_text(fresh.files, 'file')} wait, " if fresh else "no file waits, "
        runs = f"{count_text(stored.most_runs, 'sorted run')} at most in a bucket; {facts.trigger} start a compaction"
        yield "level 0", waits + runs


def _some(words: Sequence[str]) -> str:
    more = len(words) - _SHOWN
    return ", ".join(words[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _buckets(facts: TableFacts) -> str:
    by = f" by {', '.join(facts.bucket_keys)}" if facts.bucket_keys else ""
    return {
        "HASH_FIXED": f"{facts.buckets}{' a partition' if facts.partition_keys else ''}{by}",
        "HASH_DYNAMIC": f"dynamic, {facts.stored.buckets} now",
        "KEY_DYNAMIC": f"dynamic, {facts.stored.buckets} now; a key is unique in the whole table",
        "BUCKET_UNAWARE": "none",
        "POSTPONE_MODE": f"chosen for each partition when it is compacted, {facts.stored.buckets} now",
    }[facts.bucket_mode]


def _snapshot(snapshot: SnapshotFacts) -> str:
    return f"{snapshot.id} ({_time(snapshot.time)}, {snapshot.kind})"


def _tag(tag: TagFacts) -> str:
    until = "" if tag.lives_until is None else f" until {_time(tag.lives_until)}"
    return f"{tag.name} (snapshot {tag.snapshot.id}{until})"


def _time(iso: str) -> str:
    """To the second, with its offset."""
    return iso[:19].replace("T", " ") + iso[23:]


def _level(level: LevelFacts) -> str:
    runs = f"{count_text(level.runs, 'run')} of " if level.level and level.runs != level.files else ""
    return f"L{level.level}: {runs}{count_text(level.files, 'file')}, {size_text(level.bytes)}"


def _retention(facts: TableFacts) -> str:
    kept = facts.retention
    most = "" if kept.at_most >= _ALL else f", {kept.at_most:,} at most"
    who = "expired after each commit" if kept.by_writers else "write-only: expired after compactions, or by expire"
    return f"snapshots of the last {span_text(kept.millis)}, {kept.at_least:,} at least{most}; {who}"


@app.command()
def check(
    path: TablePath,
    latest: Annotated[bool, typer.Option("--latest", help="Look at the latest snapshot only.")] = False,
    metadata_only: Annotated[
        bool, typer.Option("--metadata-only", help="Open no data file: metadata, file sizes, deletion vectors.")
    ] = False,
    keys_only: Annotated[
        bool,
        typer.Option(
            "--keys-only",
            help="Read only the keys, partition and bucket columns of data files: faster, finds no damage in others.",
        ),
    ] = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Verifies that everything the metadata of a table say is true.

    Nothing is changed. Exit codes: 0 the table is good, 1 it has problems, 2 it could not be checked.
    """
    options = parse_options(option, branch)
    with if_stopped("the check says nothing of this table, and has changed nothing"), progress_bars() as bars:
        report = check_table(
            path, options, read_files=not metadata_only, keys_only=keys_only, latest_only=latest, progress=bars
        )
    if output is Output.JSON:
        print_json({"good": report.is_good, "problem_count": report.problem_count, **asdict(report)})
    else:
        print("\n".join(map(printable, str(report).split("\n"))))
    if not report.is_good:
        raise typer.Exit(PROBLEMS)
