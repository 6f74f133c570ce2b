"""Object tables: each file below a directory is a row (Java: ObjectTable, ObjectTableImpl of release 2.0.0).

An object table has a schema file and a directory, and no snapshots. The release 1.0 and 1.1 had tables of the same type
with the option `object-location` and rows of their own, which a procedure refreshed; later ones list the directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, NoReturn

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.predicates.expressions import Expr, as_predicate
from paimon_spark.arrow.predicates.predicate import Predicate, columns_of
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import OptionError, UnsupportedFeature, UnsupportedMethod
from paimon_spark.file_io import FileIO
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.rules.object_tables import OBJECT_FIELDS, OBJECT_LOCATION
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.read_spec import find_fields
from paimon_spark.store.system_tables.made_rows import MetadataScan
from paimon_spark.store.system_tables.request import Columns, columns_of_rows

_STATES = ("scan.", "incremental-")


@checks_arguments
@dataclass(frozen=True, repr=False)
class ObjectTable:
    """An open object table: its rows are the files below its directory; picklable. It is read only.

    Attributes:
        table: its schema file and the store of its directory.
    """

    table: Table

    def __repr__(self) -> str:
        return f"<ObjectTable {self.location}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):  # as pickle asks for
            raise AttributeError(f"'ObjectTable' has no attribute '{name}'", name=name, obj=self)
        raise UnsupportedMethod(
            f"{self.location} is an object table, which has no '{name}': scan() lists its files, open_file(path) reads "
            "one of them"
        )

    @property
    def kind(self) -> str:
        return str(TableKind.OBJECT_TABLE)

    @property
    def location(self) -> str:
        """The directory whose files are listed."""
        return self.table.location

    @property
    def options(self) -> Mapping[str, str]:
        """Those that are stored."""
        return self.table.schema.options

    @property
    def hidden_fields(self) -> tuple[DataField, ...]:
        """None: its rows lie in no files."""
        return ()

    @property
    def time_zone(self) -> TimeZone | None:
        return self.table.time_zone

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
        fields = self.schema.fields if columns is None else find_fields(self.schema, columns)
        predicate = as_predicate(where, self.schema.fields, self.time_zone)
        more = (self.schema.by_name[name] for name in sorted(columns_of(predicate) - {f.name for f in fields}))
        return MetadataScan(self._columns, predicate, (*fields, *more), tuple(fields))

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
    for key, value in dynamic.items():
        if key.lower().startswith(_STATES):
            raise UnsupportedFeature(
                f"reading {table.location} with '{key}' = '{value}': an object table has no snapshots, its rows are "
                "the files that are there now; leave the version or time out"
            )
    return ObjectTable(table)


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
