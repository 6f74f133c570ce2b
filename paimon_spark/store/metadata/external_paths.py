"""External paths: where files of a table lie outside of its directory, and which files it may write and delete there.

Table options name the external roots. Everyone who can write the table can write its options, so the options alone are
no permission. A data file may be written and deleted only if it is in the directory of a bucket, and an index file of
the whole table only if its name contains a UUID, as writers make them. No directory from the root on may belong to
another table, and the root may not lie within one: the directory of a partition there looks like an external path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from paimon_spark.errors import AccessDenied, OptionError
from paimon_spark.file_io import ConfinedFileIO, FileIO, Publisher, file_io_for, is_same_store, plain_location
from paimon_spark.format.names import is_bucket_directory, is_inside
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import MAIN_BRANCH, SCHEMA_PREFIX, external_paths, id_of, index_root
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.storage.files import list_branches

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PARTITION = re.compile(r"[^/]+=[^/]*")


def names_external_paths(settings: TableSettings) -> bool:
    """True if files of the table may lie outside of its directory."""
    return bool(external_paths(settings)) or index_root(settings) is not None


def check_external_path(file_io: FileIO, table: str, root: str) -> None:
    """Checks that an external root may hold files of the table at that location.

    Raises:
        OptionError: it is not an absolute path, is the directory of a table, or contains this table.
        OSError: the storage failed.
    """
    if not _is_root(root):
        raise OptionError(f"'{root}', an external path of the table at {table}, is no absolute path of a directory")
    if f"{plain_location(table)}/".startswith(f"{plain_location(root)}/") or file_io.exists(f"{root}/schema"):
        raise OptionError(
            f"'{root}', an external path of the table at {table}, is the directory of a table: files of that would be "
            "taken for orphans of this one; give each table an external path of its own"
        )
    other = table_above(file_io, table, root)
    if other is not None:
        raise OptionError(
            f"'{root}', an external path of the table at {table}, lies within the table at {other}: files of that "
            "would be taken for orphans of this one; give each table an external path of its own"
        )


def table_above(file_io: FileIO, table: str, root: str) -> str | None:
    """The directory of another table in which an external root lies; None: there is none that may be looked at.

    Args:
        file_io: the store of the root.
        table: the table whose root it is.
        root: an absolute path.

    Raises:
        OSError: the storage failed.
    """
    own, place = map(_resolved, (table, root))
    scheme, mark, rest = place.rpartition("://")
    above = rest.rpartition("/")[0]
    while above:
        directory = f"{scheme}{mark}{above}"
        with suppress(AccessDenied, PermissionError):  # an account for the root alone need not see what is above
            if directory != own and _has_schemas(file_io, directory):
                return directory
        above = above.rpartition("/")[0]
    return None


def _resolved(location: str) -> str:
    """The place, on a local disk after resolving all links."""
    plain = plain_location(location)
    return os.path.realpath(plain) if plain.startswith("/") else plain


def _has_schemas(file_io: FileIO, directory: str) -> bool:
    """True for the directory of a table, and not for one in which anybody has a directory named schema."""
    try:
        found = file_io.list(f"{directory}/schema")
    except FileNotFoundError:
        return False
    return any(id_of(status.name, SCHEMA_PREFIX) is not None for status in found)


def _is_root(path: str) -> bool:
    plain = plain_location(path)
    is_absolute = plain.startswith("/") or "://" in plain
    return is_absolute and is_inside(plain.partition("://")[2] or plain)


@dataclass(frozen=True)
class ExternalPaths:
    """The external paths of one table (see file_io.Outside), from the schemas of all branches and the caller's options.

    Attributes:
        file_io: the store, unconfined.
        table: the table directory.
        given: the options of the caller.
        storage: options that may hold keys of other stores; no repr shows their secrets.
    """

    file_io: FileIO
    table: str
    given: tuple[tuple[str, str], ...] = ()
    storage: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def root_of(self, path: str) -> str | None:
        directory, _, name = plain_location(path).rpartition("/")
        for root, is_for_data in self._roots.items():
            base = plain_location(root)
            if f"{directory}/".startswith(f"{base}/"):
                below = directory[len(base) :]
                if _may_hold(below, name, is_for_data) and not self._is_of_other_table(root, below):
                    return root
        return None

    def _is_of_other_table(self, root: str, below: str) -> bool:
        store = self.file_io if is_same_store(self.table, root) else file_io_for(root, dict(self.storage))
        parts = [part for part in below.split("/") if part]
        directories = (root + "".join(f"/{part}" for part in parts[:count]) for count in range(len(parts) + 1))
        return self._is_within_table(store, root) or any(self._is_table(store, place) for place in directories)

    def _is_within_table(self, store: FileIO, root: str) -> bool:
        """True for a root in the directory of another table. The store is asked once for each root."""
        known = self._within.get(root)
        if known is None:
            known = self._within[root] = table_above(store, self.table, root) is not None
        return known

    def _is_table(self, store: FileIO, directory: str) -> bool:
        """True for the directory of a table. The store is asked once for each: a job has many files in a bucket."""
        known = self._tables.get(directory)
        if known is None:
            known = self._tables[directory] = store.exists(f"{directory}/schema")
        return known

    @cached_property
    def _within(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _tables(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _roots(self) -> dict[str, bool]:
        """The roots; the value is True for a root of data files, False for one of indexes."""
        found: dict[str, bool] = {}
        for options in (TableSettings(dict(self.given)), *self._stored()):
            found.update(dict.fromkeys(external_paths(options), True))
            index = index_root(options)
            if index is not None:
                found.setdefault(index, False)
        return {root: is_for_data for root, is_for_data in found.items() if _is_root(root)}

    def _stored(self) -> Iterator[TableSettings]:
        """The options of all schemas: files are not moved when the option changes."""
        for branch in (MAIN_BRANCH, *list_branches(self.file_io, self.table)):
            schemas = SchemaStore(self.file_io, self.table, branch)
            yield from (TableSettings(schemas.load(number).options) for number in schemas.ids())


def confined(
    file_io: FileIO,
    table: str,
    given: Mapping[str, str],
    publisher: Publisher | None = None,
    storage: Mapping[str, str] | None = None,
) -> ConfinedFileIO:
    """The store of a table, which refuses to change files of others.

    Args:
        file_io: the store.
        table: the table directory.
        given: the options of the caller.
        publisher: of the catalog of the table; None: it has no part in commits.
        storage: options that may hold keys of other stores, for external paths.
    """
    others = tuple((storage or {}).items())
    outside = ExternalPaths(file_io, table, tuple(given.items()), others)
    return ConfinedFileIO(file_io, table, outside, publisher, others)


def _may_hold(directory: str, name: str, is_for_data: bool) -> bool:
    """True if writers create files, or directories of buckets or partitions, of this name below an external path."""
    if not is_for_data:
        return not directory and _UUID.search(name) is not None
    return is_bucket_directory(directory) or is_bucket_directory(name) or _PARTITION.fullmatch(name) is not None
