"""Object tables: each file below a directory is a row (Java: ObjectTable, ObjectTableImpl of release 2.0.0).

An object table has a schema file and a directory, and no snapshots. The release 1.0 and 1.1 had tables of the same type
with the option `object-location` and rows of their own, which a procedure refreshed; later ones list the directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.predicates.expressions import Expr
from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.file_io import FileIO
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.rules.object_tables import OBJECT_FIELDS, OBJECT_LOCATION
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.file_tables.file_table import FileTable
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.system_tables.made_rows import MetadataScan, asked_rows
from paimon_spark.store.system_tables.request import Columns, columns_of_rows


@checks_arguments
@dataclass(frozen=True, repr=False)
class ObjectTable(FileTable):
    """An open object table: its rows are the files below its directory."""

    table_kind = TableKind.OBJECT_TABLE
    called = "an object table"
    offers = "scan() lists its files, open_file(path) reads one of them"
    rows_are = "the files"

    def __repr__(self) -> str:
        return f"<ObjectTable {self.location}>"

    @property
    def options(self) -> Mapping[str, str]:
        """Those that are stored."""
        return self.table.schema.options

    @cached_property
    def schema(self) -> TableSchema:
        """The six columns of every object table, with the options and the comment that are stored."""
        stored = self.table.schema
        return TableSchema(stored.id, OBJECT_FIELDS, OBJECT_FIELDS[-1].id, (), (), stored.options, stored.comment)

    def scan(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | Expr | Predicate | None = None,
    ) -> MetadataScan:
        """A read of some columns of the files that satisfy a condition. Each read lists the directory anew.

        Args:
            columns: names in the order wanted, any letter case, or one text such as "path, length"; None means all.
            where: SQL text, an expression of ``col(...)``, or a bound Predicate.

        Raises:
            OptionError: a column does not exist, or is named twice.
            PredicateError: the condition does not fit the columns.
        """
        return MetadataScan(self._columns, *asked_rows(self.schema, columns, where, self.time_zone))

    def open_file(self, path: str) -> IO[bytes]:
        """One of the files, opened for reading.

        Args:
            path: as the column `path` has it, relative to the directory of the table.

        Raises:
            OptionError: the path leads out of the directory.
            FileNotFoundError: there is no such file.
        """
        parts = path.split("/")
        if not path or any(part in ("", ".", "..") for part in parts):
            raise OptionError(
                f"reading '{path}' of the object table {self.location}: expected a path as its column 'path' has it, "
                "relative to the directory of the table and without '.' and '..'"
            )
        return self.table.file_io.open_input(f"{self.location}/{path}")

    def _columns(self) -> Columns:
        return columns_of_rows(OBJECT_FIELDS, files_below(self.table.file_io, self.location))


def object_table(table: Table, dynamic: Mapping[str, str]) -> ObjectTable:
    """The object table with this schema file.

    Args:
        dynamic: the options of the call.

    Raises:
        UnsupportedFeature: it is one of release 1.0 or 1.1, or a state is asked for.
    """
    if OBJECT_LOCATION in table.schema.options:
        raise UnsupportedFeature(
            f"opening {table.location}: it is an object table with the option '{OBJECT_LOCATION}', as releases 1.0 and "
            "1.1 made them, and later releases do not list that place; make an object table at "
            f"{table.schema.options[OBJECT_LOCATION]}, in a Hive or REST catalog with the option 'path'"
        )
    found = ObjectTable(table)
    found.refuse_states(dynamic)
    return found


def files_below(file_io: FileIO, location: str) -> Iterator[tuple[str, str, int, int, int, str | None]]:
    """Each file below a directory as values of OBJECT_FIELDS: directory by directory, the nearest first.

    No store that this release reads tells when a file was read last, or whose it is: 0 and NULL, as Java shows them of
    a local disk.

    Raises:
        StorageError: a directory cannot be listed.
    """
    directories = [location]
    for directory in directories:
        for status in sorted(file_io.list(directory), key=lambda status: status.name):
            if status.is_directory:
                directories.append(status.path)
                continue
            path = f"{directory}/{status.name}".removeprefix(f"{location}/")
            yield path, status.name, status.size, status.modified_millis, 0, None
