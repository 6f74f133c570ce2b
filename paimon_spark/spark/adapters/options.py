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
from paimon_spark.format.options.option import Option, Settings
from paimon_spark.format.options.value_texts import parse_bool, parse_choice
from paimon_spark.format.rules.missing_columns import DEFAULT, ERROR, MISSING_COLUMNS
from paimon_spark.store.evolution.merged_schema import Merging
from paimon_spark.store.scan.time_travel import TIME_TRAVEL_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATH = "path"
PATHS = "paths"  # Spark's form of load([a, b])
COLUMNS = "columns"
FILTER = "filter"
PUSH_FILTERS = "push-filters"
ROW_KINDS = "row-kinds"
NATIVE = "read.native"
LOCAL = "read.local"
ROW_KIND_COLUMN = "row-kind-column"
OVERWRITE_WHERE = "overwrite-where"
DYNAMIC_OVERWRITE = "dynamic-partition-overwrite"
TIME_ZONE = "time-zone"
CREATES_TABLE = "write.create-table"
OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
SESSION_ZONE = "spark.sql.session.timeZone"
MERGE_SCHEMA = "write.merge-schema"
TYPE_WIDENING = "write.merge-schema.type-widening"
EXPLICIT_CAST = "write.merge-schema.explicit-cast"
MERGE_OPTIONS = (MERGE_SCHEMA, TYPE_WIDENING, EXPLICIT_CAST)
OVERWRITE_SCHEMA = "overwrite-schema"
ONCE_APPLICATION = "once.application"
ONCE_VERSION = "once.version"
ONCE_SKIPS_OLDER = "once.skips-older"
UNKNOWN_BATCH = "write.stream.unknown-batch"
_ONCE_ALIASES = {"txnappid": ONCE_APPLICATION, "txnversion": ONCE_VERSION}  # Delta Lake's names
WRITE_MISSING_COLUMNS = Option("write.missing-columns", ERROR, parse_choice(*MISSING_COLUMNS))
FAIL = "fail"
_UNKNOWN = Option(UNKNOWN_BATCH, FAIL, parse_choice(FAIL, "skip", "write"))
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
_READ_ONLY = (COLUMNS, FILTER, PUSH_FILTERS, ROW_KINDS, NATIVE, LOCAL)
_NATIVE_VALUES: dict[str, bool | None] = {"auto": None, "true": True, "false": False}
_WRITE_ONLY = (
    ROW_KIND_COLUMN,
    OVERWRITE_WHERE,
    WRITE_MISSING_COLUMNS.key,
    *MERGE_OPTIONS,
    OVERWRITE_SCHEMA,
    ONCE_APPLICATION,
    ONCE_VERSION,
    ONCE_SKIPS_OLDER,
    UNKNOWN_BATCH,
    *_ONCE_ALIASES,
)


@dataclass(frozen=True)
class Once:
    """The name and number under which a write happens once.

    Attributes:
        application: the name; several writes of one version need names of their own.
        version: the number, which grows from write to write.
        skips_older: whether a version below the last one is skipped; else it is an error.
        user: the commit user, where it is not made from the application.
        of_stream: whether Spark numbers the writes as batches of a stream; else the application does.
    """

    application: str
    version: int
    skips_older: bool = False
    user: str | None = None
    of_stream: bool = False

    @staticmethod
    def of(once: tuple[str, int] | None, skips_older: bool = False) -> Once | None:
        """What a caller of PaimonTable says.

        Raises:
            OptionError: it is not a name and a number.
        """
        match once:
            case None if skips_older:
                raise OptionError("once_skips_older=True needs once=(application, version)")
            case None:
                return None
            case (str(application), int(version)) if application.strip() and not isinstance(version, bool):
                return Once(application, version, skips_older)
        raise OptionError(f"once={once!r:.200}: expected the name of an application and a whole number, as a tuple")


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


@dataclass(frozen=True)
class WriteOptions:
    """What ``df.write.format("paimon")`` was given.

    Attributes:
        path: the table directory.
        row_kind_column: the column of the DataFrame that holds +I, -U, +U or -D and is not stored.
        overwrite_where: SQL text over the partition columns: what an overwrite replaces.
        overwrite_dynamic: an overwrite replaces the partitions that the rows touch; None: nobody has said.
        table: options of a new table, or of this write to an existing one; storage options.
        missing_columns: what becomes of table columns that the DataFrame lacks, as for omissible_columns.
        time_zone: in which `overwrite_where` is read; None: nobody has said.
        merging: what the rows may do to the schema of the table; None: nothing.
        overwrite_schema: an overwrite replaces the columns, and the keys and options that are given, too.
        once: the name and number under which the write happens once; None: each call writes.
        unknown: what to do when nobody can tell whether it has happened: fail, skip or write.
        creates: whether a table that is missing is made for the rows, or is an error; None: nobody has said.
    """

    path: str
    row_kind_column: str | None = None
    overwrite_where: str | None = None
    overwrite_dynamic: bool | None = None
    table: Mapping[str, str] = field(default_factory=dict)
    missing_columns: str = ERROR
    time_zone: str | None = None
    merging: Merging | None = None
    overwrite_schema: bool = False
    once: Once | None = None
    unknown: str = FAIL
    creates: bool | None = None


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """The options of a read.

    Raises:
        OptionError: no path, several paths, an empty list of columns, or an option that only a write has.
        UnsupportedFeature: Spark asks for the columns of a table that it is about to make in its own catalog.
    """
    given = _lowered(options)
    _refuse_create_table(given)
    path = _path(
        given,
        "read it with spark.read.format('paimon').load('<path of the table>'). A name made by CREATE TABLE ... USING "
        f"paimon or saveAsTable has none, because Spark hands it no path: drop that name, and {_VIEW}",
    )
    _refuse(given, _WRITE_ONLY, "is an option of writes; leave it out of the read")
    given.pop(CREATES_TABLE, None)  # a view is read and written by the same options
    columns = given.pop(COLUMNS, None)
    where = given.pop(FILTER, None)
    names = None if columns is None else parse_columns(columns)
    pushes = _bool(PUSH_FILTERS, given.pop(PUSH_FILTERS, "false"))
    kinds = _bool(ROW_KINDS, given.pop(ROW_KINDS, "false"))
    zone = given.pop(TIME_ZONE, None)
    native = native_choice(given.pop(NATIVE, "auto"))
    local = None if LOCAL not in given else _bool(LOCAL, given.pop(LOCAL))
    condition = where if where and where.strip() else None
    return ReadOptions(path, names, condition, pushes, kinds, given, zone, native, local)


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


def write_options(options: Mapping[str, str], save: str = "save") -> WriteOptions:
    """The options of a write.

    Args:
        save: the method of Spark that takes the path, for the message where there is none.

    Raises:
        OptionError: no path, a bad value, or an option that only a read has.
    """
    given = _lowered(options)
    path = _path(given, _NO_STREAM_PATH if save == "start" else _NO_WRITE_PATH)
    _refuse(given, _READ_ONLY, "is an option of reads; select the rows and columns of the DataFrame before writing it")
    travel = [key for option in TIME_TRAVEL_OPTIONS for key in (option.key, *option.older)]
    _refuse(given, travel, "chooses what a read sees; a write always goes on top of the latest snapshot, leave it out")
    dynamic, zone = given.pop(DYNAMIC_OVERWRITE, None), given.pop(TIME_ZONE, None)
    where = given.pop(OVERWRITE_WHERE, None)
    merging = _merging(given)
    replaces_schema = _bool(OVERWRITE_SCHEMA, given.pop(OVERWRITE_SCHEMA, "false"))
    if merging is not None:
        given.setdefault(WRITE_MISSING_COLUMNS.key, DEFAULT)  # rows with other columns are what it is for
        if replaces_schema:
            raise OptionError(f"'{MERGE_SCHEMA}' and '{OVERWRITE_SCHEMA}' contradict each other: give one")
    creates = given.pop(CREATES_TABLE, None)
    once, unknown = _once(given), _UNKNOWN.read(Settings(given))
    given.pop(UNKNOWN_BATCH, None)
    missing = WRITE_MISSING_COLUMNS.read(Settings(given))
    given.pop(WRITE_MISSING_COLUMNS.key, None)
    if where is not None and dynamic is not None and _bool(DYNAMIC_OVERWRITE, dynamic):
        raise OptionError(f"'{OVERWRITE_WHERE}' and '{DYNAMIC_OVERWRITE}' = 'true' contradict each other: give one")
    return WriteOptions(
        path,
        given.pop(ROW_KIND_COLUMN, None),
        where,
        None if dynamic is None else _bool(DYNAMIC_OVERWRITE, dynamic),
        given,
        missing,
        zone,
        merging,
        replaces_schema,
        once,
        unknown,
        None if creates is None else _bool(CREATES_TABLE, creates),
    )


def _once(given: dict[str, str]) -> Once | None:
    """The name and number of the write, which are taken out of the options."""
    for alias, key in _ONCE_ALIASES.items():
        if alias in given:
            if key in given:
                raise OptionError(f"'{alias}' and '{key}' were given, which are one option: give one")
            given[key] = given.pop(alias)
    application, version = given.pop(ONCE_APPLICATION, None), given.pop(ONCE_VERSION, None)
    skips = _bool(ONCE_SKIPS_OLDER, given.pop(ONCE_SKIPS_OLDER, "false"))
    if application is None and version is None:
        if skips:
            raise OptionError(f"'{ONCE_SKIPS_OLDER}' needs '{ONCE_APPLICATION}' and '{ONCE_VERSION}'")
        return None
    if not application or version is None:
        raise OptionError(f"a write that happens once needs both '{ONCE_APPLICATION}' and '{ONCE_VERSION}'")
    try:
        return Once(application, int(version), skips)
    except ValueError:
        raise OptionError(f"option '{ONCE_VERSION}' has the value '{version}': expected a whole number") from None


def merging_of(options: Mapping[str, str], is_asked: bool = False) -> Merging | None:
    """What a MERGE may do to the schema of its table; None: nothing.

    Args:
        options: of the table object.
        is_asked: whether the statement itself asks for it: `write.merge-schema` is true then.

    Raises:
        OptionError: a bad value, or options that contradict each other.
    """
    return _merging({**_lowered(options), **({MERGE_SCHEMA: "true"} if is_asked else {})})


def without_merging(options: Mapping[str, str]) -> dict[str, str]:
    """The options without those of changes of the schema, for a read through a table object that has them."""
    return {key: value for key, value in options.items() if key.lower() not in MERGE_OPTIONS}


def _merging(given: dict[str, str]) -> Merging | None:
    """What the options say of changes of the schema; they are taken out of those given."""
    merges, widens, casts = (_bool(key, given.pop(key, "false")) for key in MERGE_OPTIONS)
    if widens and not merges:
        raise OptionError(f"'{TYPE_WIDENING}' = 'true' needs '{MERGE_SCHEMA}' = 'true'")
    if casts and not widens:
        raise OptionError(f"'{EXPLICIT_CAST}' = 'true' needs '{TYPE_WIDENING}' = 'true'")
    return Merging(widens, casts) if merges else None


def _lowered(options: Mapping[str, str]) -> dict[str, str]:
    """The options with connector keys in lower case; table options keep their case for the table layer to find."""
    own = (PATH, PATHS, *_READ_ONLY, *_WRITE_ONLY, DYNAMIC_OVERWRITE, TIME_ZONE, CREATES_TABLE)
    return {key.lower() if key.lower() in own else key: str(value) for key, value in options.items()}


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


def _refuse(given: Mapping[str, str], keys: tuple[str, ...] | list[str], why: str) -> None:
    for key in given:
        if key.lower() in keys:
            raise OptionError(f"the option '{key}' {why}")


def _bool(key: str, text: str) -> bool:
    try:
        return parse_bool(text)
    except ValueError as error:
        raise OptionError(f"option '{key}' has the value '{text}': {error}") from None


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
