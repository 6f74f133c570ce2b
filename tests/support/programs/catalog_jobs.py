"""A process that creates, drops and renames tables of one warehouse; its own module, so that it starts fast."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa

from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.factory import open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    DatabaseNotEmpty,
    DatabaseNotFound,
    TableAlreadyExists,
    TableNotFound,
)
from support.tables.catalog_tables import append

COLUMNS = pa.schema([("id", pa.int64())])
EXPECTED = {
    "create": TableAlreadyExists,
    "drop": TableNotFound,
    "rename": (TableAlreadyExists, TableNotFound),
}


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


def append_rows(options: dict[str, str], name: str, seed: int, count: int) -> None:
    """Commits so many rows to a table, one by one: 100 * seed and those that follow."""
    catalog = open_catalog(options)
    for number in range(count):
        append(catalog.load_table(Identifier.parse(name)), 100 * seed + number)
