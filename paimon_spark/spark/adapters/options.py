"""The options of a read or a write, split into those of the connector and those of the table.

Spark hands option keys over in lower case; the table layer finds their true case again.

Paths that somebody typed, where Spark plans: their tasks run elsewhere, and so does the planner of Spark Connect. On
classic Spark a relative path begins where the session was started, for everything that has the session: the data source
runs in processes that Spark starts there, and a program may go to another directory since.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.file_io import absolute_location, is_relative
from paimon_spark.format.options.column_names import parse_columns
from paimon_spark.writes.options import (
    COLUMNS,
    CREATES_TABLE,
    FILTER,
    LOCAL,
    MERGE_OPTIONS,
    NATIVE,
    PUSH_FILTERS,
    ROW_KINDS,
    TIME_ZONE,
    WRITE_ONLY,
    WriteOptions,
    flag,
    lowered,
    refuse_keys,
    write_options_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATH = "path"
PATHS = "paths"  # Spark's form of load([a, b])
OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
SESSION_ZONE = "spark.sql.session.timeZone"
_TABLE_NAME = re.compile(r"(`[^`/]+`|\w+)(\.(`[^`/]+`|\w+)){1,2}(\$\w+)*")
_PROVIDER = "provider"  # given by Spark, and only for CREATE TABLE
_VIEW = "for a name in SQL use CREATE TEMPORARY VIEW v USING paimon OPTIONS (path '...')"
_NO_WRITE_PATH = (
    "write with .save('<path of the table>'); saveAsTable, insertInto and CREATE TABLE ... USING paimon lose it: "
    f"{_VIEW}"
)
_NO_STREAM_PATH = (
    "begin the stream with .option('path', '<path of the table>').start(). Of toTable('<name>') Spark hands no "
    "path over, and keeps a table of that name in its own catalog, which cannot be read: drop it with DROP TABLE"
)
_NATIVE_VALUES: dict[str, bool | None] = {"auto": None, "true": True, "false": False}


@dataclass(frozen=True)
class ReadOptions:
    """What ``spark.read.format("paimon")`` was given.

    Attributes:
        path: the table directory.
        columns: names of the columns to read, in order; None means all.
        where: the text of the `filter` option.
        push_filters: whether filters that Spark pushes down make the read smaller.
        row_kinds: whether a column `_row_kind` says what each row does, and rows that take others back are read.
        table: dynamic table options and storage options.
        time_zone: in which `where` is read; None: nobody has said.
        native: the option `read.native`; None: auto, which is also the default.
        local: the option `read.local`: whether the driver reads small tables itself; None: nobody has said.
    """

    path: str
    columns: tuple[str, ...] | None = None
    where: str | None = None
    push_filters: bool = False
    row_kinds: bool = False
    table: Mapping[str, str] = field(default_factory=dict)
    time_zone: str | None = None
    native: bool | None = None
    local: bool | None = None


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """The options of a read.

    Raises:
        OptionError: no path, several paths, an empty list of columns, or an option that only a write has.
        UnsupportedFeature: Spark asks for the columns of a table that it is about to make in its own catalog.
    """
    given = lowered(options, (PATH, PATHS))
    _refuse_create_table(given)
    path = _path(
        given,
        "read it with spark.read.format('paimon').load('<path of the table>'). A name made by CREATE TABLE ... USING "
        f"paimon or saveAsTable has none, because Spark hands it no path: drop that name, and {_VIEW}",
    )
    refuse_keys(given, WRITE_ONLY, "is an option of writes; leave it out of the read")
    given.pop(CREATES_TABLE, None)  # a view is read and written by the same options
    columns = given.pop(COLUMNS, None)
    where = given.pop(FILTER, None)
    names = None if columns is None else parse_columns(columns)
    pushes = flag(PUSH_FILTERS, given.pop(PUSH_FILTERS, "false"))
    kinds = flag(ROW_KINDS, given.pop(ROW_KINDS, "false"))
    zone = given.pop(TIME_ZONE, None)
    native = native_choice(given.pop(NATIVE, "auto"))
    local = None if LOCAL not in given else flag(LOCAL, given.pop(LOCAL))
    condition = where if where and where.strip() else None
    return ReadOptions(path, names, condition, pushes, kinds, given, zone, native, local)


def write_options(options: Mapping[str, str], save: str = "save") -> WriteOptions:
    """The options of a write.

    Args:
        save: the method of Spark that takes the path, for the message where there is none.

    Raises:
        OptionError: no path, a bad value, or an option that only a read has.
    """
    given = lowered(options, (PATH, PATHS))
    path = _path(given, _NO_STREAM_PATH if save == "start" else _NO_WRITE_PATH)
    return write_options_of(path, given)


def last_of(options: Mapping[str, str], name: str) -> str | None:
    """The value of an option under its name in any letter case; None: it is not given."""
    values = [value for key, value in options.items() if key.lower() == name]
    return values[-1] if values else None


def native_choice(text: str, key: str = NATIVE) -> bool | None:
    """What the option `read.native`, or the setting of that key, says; None: auto.

    Raises:
        OptionError: another value than auto, true and false.
    """
    value = text.strip().lower()
    if value not in _NATIVE_VALUES:
        raise OptionError(f"option '{key}' has the value '{text}': expected one of {', '.join(_NATIVE_VALUES)}")
    return _NATIVE_VALUES[value]


def without_merging(options: Mapping[str, str]) -> dict[str, str]:
    """The options without those of changes of the schema, for a read through a table object that has them."""
    return {key: value for key, value in options.items() if key.lower() not in MERGE_OPTIONS}


def _refuse_create_table(given: Mapping[str, str]) -> None:
    """CREATE TABLE without columns asks the source for them; with columns Spark asks nobody, and cannot be stopped."""
    if any(key.lower() == _PROVIDER for key in given):
        path = given.get(PATH, "<path of the table>")
        raise UnsupportedFeature(
            "CREATE TABLE ... USING paimon is not supported by this release: Spark would keep the name and the columns "
            "but hand over no path when the table is read or written. For a table that exists, use CREATE TEMPORARY "
            f"VIEW <name> USING paimon OPTIONS (path '{path}'); to make a table, write a DataFrame with "
            f"df.write.format('paimon').mode('append').save('{path}') or use PaimonTable.create(spark)"
        )


def _path(given: dict[str, str], what_to_do: str) -> str:
    if given.pop(PATHS, None) is not None:
        raise OptionError("several paths were given: a table has one; read each and use union")
    path = given.pop(PATH, "").strip()
    if not path:
        raise OptionError(f"no path was given: {what_to_do}")
    refuse_table_name(path)
    return whole_path(path)


def refuse_table_name(path: str) -> None:
    """Refuses what looks like the name of a table where a path stands, unless there is such a directory.

    Raises:
        OptionError: it is two or three words with points between them.
    """
    if _TABLE_NAME.fullmatch(path) and not os.path.exists(path.partition("$")[0]):
        name = path.replace("`", "")
        raise OptionError(
            f"'{path}' looks like the name of a table, and a path is needed here; there is no such directory. By its "
            f"name a table is opened with PaimonTable.forName(spark, '{name}'), read and written with "
            f"spark.table('{name}') and df.write.saveAsTable('{name}') after paimon_spark.register_catalog, or with "
            f"table() and [...] of paimon_spark.catalog; a directory of that name is './{name}'"
        )


def whole_path(path: str) -> str:
    """The path from the root. A relative one begins where the driver was started, as those of Spark's own sources do.

    Raises:
        OptionError: a relative path of Spark Connect, or one that absolute_location refuses.
    """
    if is_relative(path) and _is_folder_of_session():
        raise OptionError(
            f"the path '{path}' does not begin at the root, and on Spark Connect the server reads and writes it, in a "
            "directory that goes with the session: give the whole path, such as /lake/shop.db/orders"
        )
    return absolute_location(path)


def path_in_session(spark: SparkSession, path: str) -> str:
    """A path that the driver was given, as the data source finds it; one that is not relative stays as it is.

    On Spark Connect the data source refuses relative paths, and here one begins in the working directory of the client.
    """
    start = "file:" if path.startswith("file:") else ""
    rest = path.removeprefix("file:")
    java = getattr(spark, "_jvm", None)
    if java is None or not path.strip() or not is_relative(path) or rest.startswith("~"):
        return path
    return f"{start}{java.java.lang.System.getProperty('user.dir')}/{rest}"


def _is_folder_of_session() -> bool:
    """Spark runs the Python of a Connect session in a folder named by the session's artifacts (PythonWorkerFactory)."""
    artifacts = os.environ.get("SPARK_JOB_ARTIFACT_UUID", "default")
    return artifacts != "default" and os.path.basename(os.getcwd()) == artifacts
