"""What is done with one mutant: it is opened, planned, read, checked, expired; and what may come of that."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pyarrow as pa
from mutations import mutate
from support.tables.golden_tables import golden_tables
from watched_store import WatchedFileIO, is_within, watch_changes

from paimon_spark.errors import PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store import open as table_module
from paimon_spark.store.checks.table import check
from paimon_spark.store.clean.lost_files import remove_unexisting_files
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.clean.purge import purge_files
from paimon_spark.store.expire.changelogs import expire_all_changelogs
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.history.branches import branch_names
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tag_deletion import delete_tags, expire_tags
from paimon_spark.store.holds.consumer_files import consumer_positions
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.system_tables.table import NAMES
from paimon_spark.tables.open import open_table

MOST_ROWS = 20_000
VICTIM = "victim.parquet"


@dataclass(frozen=True)
class Outcome:
    """What came of one mutant.

    Attributes:
        seed: makes it again.
        what: was wrong with it.
        results: for each thing that was done "rows", "other rows", "done" or the name of the error.
        wrong: what must not happen; empty for a good outcome.
    """

    seed: int
    what: str
    results: dict[str, str]
    wrong: tuple[str, ...]


class Nursery:
    """Unpacks golden tables once, and makes a fresh mutant of one for each seed."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._changed = watch_changes(str(self._folder))
        self._tables = golden_tables()
        self._unpacked: dict[str, Path] = {}
        self._rows: dict[str, list[str]] = {}

    def live(self, seed: int) -> Outcome:
        chance = random.Random(seed)
        golden = chance.choice(self._tables)
        source = self._source(str(golden), golden.unpack)
        home = self._folder / "mutant"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        victim = home / VICTIM
        victim.write_bytes(b"PAR1 nobody may read or delete this")
        table = home / "wh" / "t"
        shutil.copytree(source, table)
        what = f"{golden}: {mutate(table, chance)}"
        store = WatchedFileIO(LocalFileIO())
        self._changed.clear()
        with mock.patch.object(table_module, "file_io_for", return_value=store):
            results, wrong = self._done(str(golden), str(table), chance)
        root = os.path.realpath(table)
        strangers = [found for found in store.strangers(root) if not _is_above(*found, root)]
        wrong += [f"{did} {path}" for did, path in strangers if not _is_recorded(did, path)]
        wrong += [f"{event} {path}" for event, path in self._changed]
        if not victim.exists():
            wrong.append("the victim is gone")
        return Outcome(seed, what, results, tuple(dict.fromkeys(wrong)))

    def _source(self, name: str, unpack: Callable[[Path], Path]) -> Path:
        if name not in self._unpacked:
            target = self._folder / "golden" / name
            target.mkdir(parents=True)
            self._unpacked[name] = unpack(target)
            self._rows[name] = []
            try:
                self._rows[name] = _rows(open_table(str(self._unpacked[name])))
            except PaimonError:  # a table that this release does not read
                self._rows[name] = ["refused"]
        return self._unpacked[name]

    def _done(self, name: str, location: str, chance: random.Random) -> tuple[dict[str, str], list[str]]:
        results: dict[str, str] = {}
        wrong: list[str] = []

        def do(what: str, action: Callable[[Table], str | None]) -> None:
            try:
                results[what] = action(open_table(location)) or "done"
            except PaimonError as error:
                results[what] = type(error).__name__
            except BaseException as error:
                results[what] = f"!{type(error).__name__}"
                wrong.append(f"{what}: {short_text(error)}")

        def read(table: Table) -> str:
            return "rows" if _rows(table) == self._rows[name] else "other rows"

        do("read", read)
        for what, action in chance.sample(ACTIONS, 3):
            do(what, action)
        return results, wrong


def short_text(error: BaseException) -> str:
    """The error with the line of ours it came through last."""
    at, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "paimon_spark/" in name:
            at = f"{name.rpartition('paimon_spark/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {at}: {str(error)[:200]}"


def _is_recorded(did: str, path: str) -> bool:
    """Metadata may record that a file lies elsewhere: such a file is read, and looked for, and nothing else."""
    return did in ("open", "read", "look") and "bucket-0/" in path and not is_within("/nowhere", path)


def _is_above(did: str, path: str, root: str) -> bool:
    """A path without a table may lie within one: its message says so, for which the schemas above are listed."""
    above, name = os.path.split(path)
    return did == "list" and name == "schema" and root.startswith(f"{above.rstrip('/')}/")


def _rows(table: Table) -> list[str]:
    return first_rows(table.scan().to_batches())


def first_rows(batches: Iterator[pa.RecordBatch]) -> list[str]:
    """Sorted; a mutant may tell that a file is there a hundred times."""
    found: list[str] = []
    for batch in batches:
        found += _texts(batch)
        if len(found) > MOST_ROWS:
            break
    return sorted(found)


def _texts(batch: pa.RecordBatch) -> list[str]:
    """One text for each row; one for all where Python has no value for a time so far away."""
    try:
        return list(map(repr, batch.to_pylist()))
    except (OverflowError, ValueError):
        return [batch.serialize().to_pybytes().hex()]


def _system_tables(table: Table) -> None:
    for name in NAMES:
        try:
            first_rows(table.system_table(name).to_batches())
        except PaimonError:
            continue


def _changes(table: Table) -> None:
    ids = table.snapshots.ids()
    between = f"{ids[0] - 1},{ids[-1]}" if ids else "0,1"
    _rows(table.with_options({"incremental-between": between}))


def _check(table: Table) -> str:
    return "good" if check(table).is_good else "problems told"


def _expire(table: Table) -> None:
    expire_snapshots(table, retain_max=1, retain_min=1, older_than=int(time.time() * 1000))


def _expire_dry(table: Table) -> None:
    expire_snapshots(table, retain_max=1, retain_min=1, older_than=int(time.time() * 1000), dry_run=True)


def _roll_back(table: Table) -> None:
    rollback(table, snapshot=table.snapshots.ids()[0] if table.snapshots.ids() else 1)


def _delete_all_tags(table: Table) -> None:
    expire_tags(table)
    delete_tags(table, list(table.snapshots.tag_names()))


def _branches(table: Table) -> None:
    for name in branch_names(table.file_io, table.location):
        open_table(table.location, {"branch": name}).scan().plan()
    consumer_positions(table.file_io, table.location)


def _orphans(table: Table) -> None:
    remove_orphans_before(table, int(time.time() * 1000) + 10**6, dry_run=False)


ACTIONS: list[tuple[str, Callable[[Table], str | None]]] = [
    ("system tables", _system_tables),
    ("changes", _changes),
    ("check", _check),
    ("dry expiry", _expire_dry),
    ("expiry", _expire),
    ("orphans", _orphans),
    ("rollback", _roll_back),
    ("tags", _delete_all_tags),
    ("branches", _branches),
    ("changelogs", lambda table: expire_all_changelogs(table) and None),
    ("unexisting", lambda table: remove_unexisting_files(table, dry_run=False) and None),
    ("purge", lambda table: purge_files(table) and None),
]
