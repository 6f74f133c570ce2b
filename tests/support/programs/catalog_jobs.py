"""A process that creates, drops and renames tables of one warehouse; its own module, so that it starts fast."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field, replace

import pyarrow as pa

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.factory import open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    DatabaseNotEmpty,
    DatabaseNotFound,
    PaimonError,
    TableAlreadyExists,
    TableNotFound,
)
from paimon_spark.file_io import ConfinedFileIO, LocalFileIO
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from support.faults.faulty_store import kill
from support.tables.catalog_tables import append

COLUMNS = pa.schema([("id", pa.int64())])
EXPECTED: dict[str, tuple[type[PaimonError], ...]] = {
    "create": (TableAlreadyExists,),
    "drop": (TableNotFound,),
    "rename": (TableAlreadyExists, TableNotFound),
}
_CASCADES = ("create database", "create table", "create table", "create table", "drop database")
_DROPPED = "another client has dropped it already"
_CONCURRENT_CHANGES = (_DROPPED, "is at work", "are still at", "there are no files of it at")
_OF_HIVE = (
    'because "db" is null',
    "chmod: cannot access",
    "MetaException Unable to delete directory",
    "is not a directory or unable to create one",
)
"""What the metastore of Hive itself says where another client drops the database in the middle of a call."""
_ORDER = ("create", "commit", "rename", "alter", "drop", "create", "commit", "alter")
"""Each process does these first; then as chance has it."""


def change_tables(options: str | dict[str, str], seed: int, steps: int, names: int) -> Counter[str]:
    """Creates, drops and renames tables of the database `d` that others change too; how often each was done.

    An error that does not tell of the work of others ends the process.
    """
    catalog, draw, done = open_catalog(options), random.Random(seed), Counter[str]()
    for step in range(steps):
        what = draw.choice(list(EXPECTED))
        table, other = (Identifier("d", f"t{draw.randrange(names)}") for _ in range(2))
        try:
            match what:
                case "create":
                    catalog.create_table(table, new_schema(COLUMNS, comment=f"{seed}-{step}"))
                case "drop":
                    catalog.drop_table(table)
                case "rename":
                    catalog.rename_table(table, other)
        except EXPECTED[what]:
            done[f"lost {what}"] += 1
        else:
            done[what] += 1
    return done


def change_databases(warehouse: str, seed: int, steps: int) -> Counter[str]:
    """Creates and drops the database `e`, and creates tables in it; how often each was done."""
    catalog, draw, done = open_catalog(warehouse), random.Random(seed), Counter[str]()
    for step in range(steps):
        what = draw.choice(["create database", "drop database", "create table"])
        try:
            match what:
                case "create database":
                    catalog.create_database("e")
                case "drop database":
                    catalog.drop_database("e")
                case "create table":
                    name = f"{seed}-{step}"
                    catalog.create_table(Identifier("e", name), new_schema(COLUMNS, comment=name))
        except (DatabaseAlreadyExists, DatabaseNotFound, DatabaseNotEmpty):
            done[f"lost {what}"] += 1
        else:
            done[what] += 1
    return done


def cascade(options: dict[str, str], seed: int, seconds: float) -> Counter[str]:
    """Creates the database `e` and tables in it, and drops it with all of them; how often each was done.

    An error that does not tell of the work of others ends the process.
    """
    catalog, draw, done = open_catalog(options), random.Random(seed), Counter[str]()
    until, step = time.monotonic() + seconds, 0
    while step < len(_CASCADES) or time.monotonic() < until:
        what = _CASCADES[step] if step < len(_CASCADES) else draw.choice(_CASCADES)
        step += 1
        try:
            match what:
                case "create database":
                    catalog.create_database("e")
                case "drop database":
                    catalog.drop_database("e", cascade=True)
                case "create table":
                    catalog.create_table(Identifier("e", f"t{draw.randrange(5)}"), new_schema(COLUMNS))
        except (DatabaseAlreadyExists, DatabaseNotFound, TableAlreadyExists):
            done[f"lost {what}"] += 1
        except PaimonError as error:
            if not any(words in str(error) for words in (*_CONCURRENT_CHANGES, *_OF_HIVE)):
                raise
            done[f"refused {what}"] += 1
        else:
            done[what] += 1
    return done


@dataclass
class Lived:
    """What a process has done.

    Attributes:
        done: how often each thing was done, and how often others were faster (``lost ...``).
        rows: those it has committed to the table ``kept.rows``.
        columns: those it has added to the table ``kept.columns`` and not dropped again.
    """

    done: Counter[str] = field(default_factory=Counter)
    rows: list[int] = field(default_factory=list)
    columns: set[str] = field(default_factory=set)


def live(options: dict[str, str], seed: int, seconds: float, names: int) -> Lived:
    """Creates, drops and renames tables of the database `d`, and alters and commits to tables of all processes.

    An error that does not tell of the work of others ends the process. A call that began in time is finished.
    """
    catalog, draw, lived = open_catalog(options), random.Random(seed), Lived()
    until, step = time.monotonic() + seconds, 0
    while step < len(_ORDER) or time.monotonic() < until:
        what = _ORDER[step] if step < len(_ORDER) else draw.choice(_ORDER)
        step += 1
        table, other = (Identifier("d", f"t{draw.randrange(names)}") for _ in range(2))
        try:
            if what == "commit":
                append(catalog.load_table(Identifier("kept", "rows")), seed * 1_000_000 + step)
                lived.rows.append(seed * 1_000_000 + step)
            elif what == "alter":
                _alter(catalog, lived, f"c{seed}_{step}")
            else:
                _change(catalog, what, table, other, f"{seed}-{step}")
        except EXPECTED.get(what, ()):
            lived.done[f"lost {what}"] += 1
        except PaimonError as error:
            if _DROPPED in str(error):  # it was created
                lived.done[what] += 1
            elif any(words in str(error) for words in _CONCURRENT_CHANGES):
                lived.done[f"refused {what}"] += 1
            else:
                raise
        else:
            lived.done[what] += 1
    return lived


def _alter(catalog: Catalog, lived: Lived, column: str) -> None:
    """Adds a column, or drops the one that this process has added."""
    table = catalog.load_table(Identifier("kept", "columns"))
    if lived.columns:
        (old,) = lived.columns
        alter_table(table, SchemaUpdate().drop_column(old).changes)
        lived.columns.clear()
    else:
        alter_table(table, SchemaUpdate().add_column(column, "INT").changes)
        lived.columns.add(column)


def _change(catalog: Catalog, what: str, table: Identifier, other: Identifier, comment: str) -> None:
    match what:
        case "create":
            catalog.create_table(table, new_schema(COLUMNS, comment=comment))
        case "drop":
            catalog.drop_table(table)
        case "rename":
            catalog.rename_table(table, other)


def commit_and_die(options: dict[str, str], name: str) -> None:
    """Commits a row to a table, and is killed where the snapshot is to be made, with the lock of the table."""

    class Killing(LocalFileIO):
        def create_if_absent(self, path: str, data: bytes) -> bool:
            if "/snapshot/snapshot-" in path:
                kill()
            return super().create_if_absent(path, data)

    table = open_catalog(options).load_table(Identifier.parse(name))
    assert isinstance(table.file_io, ConfinedFileIO)
    append(replace(table, file_io=replace(table.file_io, inner=Killing())), 666)
