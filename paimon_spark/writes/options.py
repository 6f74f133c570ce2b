"""The options of a write, split into those of the connector and those of the table.

Spark hands option keys over in lower case; the table layer finds their true case again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import OptionError
from paimon_spark.format.options.option import Option, Settings
from paimon_spark.format.options.read_settings import TIME_TRAVEL_OPTIONS
from paimon_spark.format.options.value_texts import parse_bool, parse_choice
from paimon_spark.format.rules.missing_columns import DEFAULT, ERROR, MISSING_COLUMNS, Merging

COLUMNS = "columns"
FILTER = "filter"
PUSH_FILTERS = "push-filters"
ROW_KINDS = "row-kinds"
NATIVE = "read.native"
LOCAL = "read.local"
READ_ONLY = (COLUMNS, FILTER, PUSH_FILTERS, ROW_KINDS, NATIVE, LOCAL)
"""Options that reads alone have."""
ROW_KIND_COLUMN = "row-kind-column"
OVERWRITE_WHERE = "overwrite-where"
DYNAMIC_OVERWRITE = "dynamic-partition-overwrite"
TIME_ZONE = "time-zone"
CREATES_TABLE = "write.create-table"
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
WRITE_ONLY = (
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
"""Options that writes alone have."""
_OWN = (*READ_ONLY, *WRITE_ONLY, DYNAMIC_OVERWRITE, TIME_ZONE, CREATES_TABLE)


@dataclass(frozen=True)
class Once:
    """The name and number under which a write happens once.

    Attributes:
        application: the name; several writes of one version need names of their own.
        version: the number, which grows from write to write.
        skips_older: whether a version below the last one is skipped; else it is an error.
        user: the commit user, where it is not made from the application.
        of_stream: whether Spark numbers the writes as batches of a stream; else the application does.
        start, position: of the source of the rows, which the table keeps, as texts of JSON; None: it keeps none.
    """

    application: str
    version: int
    skips_older: bool = False
    user: str | None = None
    of_stream: bool = False
    start: str | None = None
    position: str | None = None

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
    time_zone: TimeZone | None = None
    merging: Merging | None = None
    overwrite_schema: bool = False
    once: Once | None = None
    unknown: str = FAIL
    creates: bool | None = None


def write_options_of(path: str, options: Mapping[str, str]) -> WriteOptions:
    """The options of a write to a path.

    Raises:
        OptionError: a bad value, or an option that only a read has.
    """
    given = lowered(options)
    refuse_keys(given, READ_ONLY, "is an option of reads; select the rows and columns before you write them")
    travel = [key for option in TIME_TRAVEL_OPTIONS for key in (option.key, *option.older)]
    refuse_keys(
        given, travel, "chooses what a read sees; a write always goes on top of the latest snapshot, leave it out"
    )
    dynamic, zone = given.pop(DYNAMIC_OVERWRITE, None), given.pop(TIME_ZONE, None)
    where = given.pop(OVERWRITE_WHERE, None)
    merging = _merging(given)
    replaces_schema = flag(OVERWRITE_SCHEMA, given.pop(OVERWRITE_SCHEMA, "false"))
    if merging is not None:
        given.setdefault(WRITE_MISSING_COLUMNS.key, DEFAULT)  # rows with other columns are what it is for
        if replaces_schema:
            raise OptionError(f"'{MERGE_SCHEMA}' and '{OVERWRITE_SCHEMA}' contradict each other: give one")
    creates = given.pop(CREATES_TABLE, None)
    once, unknown = _once(given), _UNKNOWN.read(Settings(given))
    given.pop(UNKNOWN_BATCH, None)
    missing = WRITE_MISSING_COLUMNS.read(Settings(given))
    given.pop(WRITE_MISSING_COLUMNS.key, None)
    if where is not None and dynamic is not None and flag(DYNAMIC_OVERWRITE, dynamic):
        raise OptionError(f"'{OVERWRITE_WHERE}' and '{DYNAMIC_OVERWRITE}' = 'true' contradict each other: give one")
    return WriteOptions(
        path,
        given.pop(ROW_KIND_COLUMN, None),
        where,
        None if dynamic is None else flag(DYNAMIC_OVERWRITE, dynamic),
        given,
        missing,
        zone,
        merging,
        replaces_schema,
        once,
        unknown,
        None if creates is None else flag(CREATES_TABLE, creates),
    )


def _once(given: dict[str, str]) -> Once | None:
    """The name and number of the write, which are taken out of the options."""
    for alias, key in _ONCE_ALIASES.items():
        if alias in given:
            if key in given:
                raise OptionError(f"'{alias}' and '{key}' were given, which are one option: give one")
            given[key] = given.pop(alias)
    application, version = given.pop(ONCE_APPLICATION, None), given.pop(ONCE_VERSION, None)
    skips = flag(ONCE_SKIPS_OLDER, given.pop(ONCE_SKIPS_OLDER, "false"))
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
    return _merging({**lowered(options), **({MERGE_SCHEMA: "true"} if is_asked else {})})


def _merging(given: dict[str, str]) -> Merging | None:
    """What the options say of changes of the schema; they are taken out of those given."""
    merges, widens, casts = (flag(key, given.pop(key, "false")) for key in MERGE_OPTIONS)
    if widens and not merges:
        raise OptionError(f"'{TYPE_WIDENING}' = 'true' needs '{MERGE_SCHEMA}' = 'true'")
    if casts and not widens:
        raise OptionError(f"'{EXPLICIT_CAST}' = 'true' needs '{TYPE_WIDENING}' = 'true'")
    return Merging(widens, casts) if merges else None


def lowered(options: Mapping[str, str], more: Sequence[str] = ()) -> dict[str, str]:
    """The options with connector keys in lower case; table options keep their case for the table layer to find.

    Args:
        more: further keys of the connector.
    """
    own = (*_OWN, *more)
    return {key.lower() if key.lower() in own else key: str(value) for key, value in options.items()}


def refuse_keys(given: Mapping[str, str], keys: Sequence[str], why: str) -> None:
    """Refuses options.

    Args:
        why: what is wrong with them, as the end of the sentence.

    Raises:
        OptionError: one of them is given.
    """
    for key in given:
        if key.lower() in keys:
            raise OptionError(f"the option '{key}' {why}")


def flag(key: str, text: str) -> bool:
    """The value of an option that is true or false.

    Raises:
        OptionError: it is neither.
    """
    try:
        return parse_bool(text)
    except ValueError as error:
        raise OptionError(f"option '{key}' has the value '{text}': {error}") from None
