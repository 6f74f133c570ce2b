"""Which tables this release reads and writes. Others are refused by the name of the option or column, never guessed.

An option is honoured, or it is ignored because rows are the same without it (tuning, maintenance, accelerators), or it
is refused when set to a value that changes rows: ``options.catalogue`` lists all three. In addition:

- An option that no known release has is refused for reading if its name extends the name of an option that can change
  rows (``merge-engine-v2``, ``fields.<column>.<something>``), and for writing if it extends the name of one that
  determines how files or commits are made. Any other unknown option (an owner, a label) is ignored.
- A column of a type that this release cannot read is refused when it is written, or named in a read (readable_columns).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.catalogue import catalogued, unknown_keys
from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.options.option import DATA_FORMATS, OFFICIAL, Moment, Refused
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.paths import write_roots
from paimon_spark.format.quoting import quoted_if_needed
from paimon_spark.format.rules.blobs import check_key_blobs, is_known_blob
from paimon_spark.format.rules.iceberg_tables import check_iceberg
from paimon_spark.format.rules.key_clustering import OVERRIDE, check_key_clustering, orders_otherwise
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, DataField, DataType, Root

_UNSUPPORTED_MARKS = {
    "custom": "which is a class of Java",
}
# Prefixes of keys, in lower case, that end with a whole word: an unknown key with one is an option of a newer release.
_ROW_NAMESPACES = (
    "aggregation", "bucket-function", "chain-table", "data-evolution", "data-file", "deduplicate", "deletion-vector",
    "deletion-vectors", "file.format", "first-row", "ignore-delete", "ignore-update-before", "key-value",
    "merge-engine", "partial-update", "pk-clustering", "postpone", "primary-key", "query-auth", "record-level",
    "row-tracking", "rowkind", "scan.fallback", "scan.primary", "sequence", "table-read",
)  # fmt: skip
WRITE_NAMESPACES = (
    *_ROW_NAMESPACES, "changelog", "changelog-file", "changelog-producer", "clustering", "commit", "dynamic-bucket",
    "file", "file-index", "global-index", "index-file", "manifest", "metadata.stats", "snapshot", "write",
)  # fmt: skip
"""An unknown key that begins with one of them and a dot or dash may be an option that a newer release writes by."""
_UNREADABLE_ROOTS = frozenset({Root.GEOMETRY, Root.GEOGRAPHY})


def check_readable(schema: TableSchema, settings: TableSettings) -> None:
    """Checks that this release reads the rows of the table as the official system does, though perhaps not all columns.

    Args:
        schema: the schema to read with.
        settings: those of the schema with those of the call on top.

    Raises:
        UnsupportedFeature: it does not; the message names the option or column.
    """
    _check_blobs(schema, settings)
    if schema.primary_keys and settings.blob_view_field:
        key, names = TableSettings.blob_view_field.key, ",".join(settings.blob_view_field)
        what = "views of blobs in tables with a primary key, of which no release follows them"
        advice = "put them into a table without a primary key, with 'row-tracking.enabled' and 'data-evolution.enabled'"
        raise _refused(Moment.READ, key, names, what, advice)
    _apply(Moment.READ, settings)
    keeps_one_row = settings.deletion_vectors_enabled or settings.merge_engine == MergeEngine.FIRST_ROW
    if orders_otherwise(settings) and not keeps_one_row:
        what = "files of a primary key in another order, without deletion vectors and of another engine than first-row"
        raise _refused(Moment.READ, OVERRIDE, settings[OVERRIDE], what)
    for name in settings.files.format_per_level.values():
        if name.lower() not in DATA_FORMATS:
            what = "data files other than parquet, orc, avro and row"
            raise _refused(Moment.READ, FileSettings.format_per_level.key, name, what)
    _refuse_unknown(settings, schema.names, _ROW_NAMESPACES, Moment.READ)


def _check_blobs(schema: TableSchema, settings: TableSettings) -> None:
    """Blobs are in files of their own beside those of the other columns, which count as rows without data evolution."""
    for field in schema.fields if not (schema.primary_keys or settings.data_evolution_enabled) else ():
        if holds_blobs(field.type):
            raise UnsupportedFeature(
                f"cannot read the table: column '{field.name}' has the type {type_sql(field.type)}, and an append "
                "table with such columns needs the options 'row-tracking.enabled' = 'true' and "
                "'data-evolution.enabled' = 'true'; create it with these, without which no system has such columns"
            )


def _check_blobs_of_keys(schema: TableSchema, settings: TableSettings) -> None:
    """Options of the call may ask for what the official system refuses of such tables, as it is made now."""
    for broken in check_key_blobs(schema, settings):
        raise UnsupportedFeature(f"cannot write to the table: {broken} (so it is in the official system)")


def check_writable(schema: TableSchema, settings: TableSettings) -> None:
    """Checks that this release writes to the table what the official system would.

    Args:
        schema: the latest schema.
        settings: those of the schema with those of the call on top.

    Raises:
        UnsupportedFeature: it does not; the message names the option or column.
        OptionError: options of external paths do not fit each other.
    """
    check_readable(schema, settings)
    try:
        check_all_columns(schema)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"cannot write to the table: {error}") from None
    _apply(Moment.WRITE, settings)
    _check_row_files(schema, settings)
    _check_blobs_of_keys(schema, settings)
    check_key_clustering(schema, settings)
    check_iceberg(schema, settings)
    write_roots(settings)
    for field in (schema.by_name[name] for name in schema.partition_keys if name in schema.by_name):
        if field.type.root in BINARIES and settings.partitions.legacy_name:
            raise UnsupportedFeature(
                f"cannot write to the table: its partition column '{field.name}' is {field.type.root}, which has no "
                "stable directory name; partition by another column, or set partition.legacy-name=false"
            )
    if settings.partitions.end_input_to_done:
        for action in settings.partitions.mark_done_action:
            why = unsupported_mark_done(action)
            if why is not None:
                raise _refused(Moment.WRITE, PartitionSettings.mark_done_action.key, action, f"this action, {why}")
    _refuse_unknown(settings, schema.names, WRITE_NAMESPACES, Moment.WRITE)


def _check_row_files(schema: TableSchema, settings: TableSettings) -> None:
    """Files of the format 'row' do not tell their columns. Java 2.0.0 takes those of tables with keys or row tracking
    to have others than it writes, and reads other values then, or none."""
    files, tracks = settings.files, bool(schema.tracking_fields)
    given = [(FileSettings.format.key, files.format), (FileSettings.changelog_format.key, files.changelog_format or "")]
    given += [(FileSettings.format_per_level.key, name) for name in files.format_per_level.values()]
    for key, name in given if schema.primary_keys or tracks else ():
        if name.lower() == "row":
            whose = "row tracking" if tracks else "a primary key"
            raise UnsupportedFeature(
                f"cannot write to the table: '{key}' is 'row', and the official system 2.0.0 reads wrong values from "
                f"such files of tables with {whose}; use parquet, orc or avro"
            )


def refuse_evolution(settings: TableSettings, what: str) -> None:
    """Refuses work that takes each data file for whole rows, where files may have some columns of rows only.

    Args:
        settings: of the table.
        what: is done, for the error: "sorting /lake/t".

    Raises:
        UnsupportedFeature: the table has data evolution.
    """
    if settings.data_evolution_enabled:
        raise UnsupportedFeature(
            f"{what}: the columns of its rows may lie in several files ('data-evolution.enabled'), and this release "
            "does this only for tables whose files have whole rows; create a table without the option, and append the "
            "rows to it"
        )


def check_tagging(settings: TableSettings) -> None:
    """Checks that this release creates and deletes tags of a table with these options as the official system does.

    Raises:
        UnsupportedFeature: it does not; the message names the option.
    """
    _apply(Moment.WRITE, TableSettings({key: value for key, value in settings.items() if key == "tag.callbacks"}))


def check_call(given: Mapping[str, str]) -> None:
    """Checks that this release does everything that the options of a read or a write ask for.

    Args:
        given: the options of the call under their official keys, without those that the table stores.

    Raises:
        OptionError: an option asks for something that this release does not do; the message names the option.
    """
    for key, value, refusal in _asked(Moment.CALL, given):
        raise OptionError(
            f"the option '{key}' = '{value}' would do nothing in this call: this release does not support "
            f"{refusal.what}; {refusal.advice}"
        )


def unsupported_mark_done(action: str) -> str | None:
    """Why this release does not do an action of `partition.mark-done-action`; None if it does, or does not know it."""
    return _UNSUPPORTED_MARKS.get(action)


def _apply(moment: Moment, settings: TableSettings) -> None:
    for key, value, refusal in _asked(moment, settings):
        raise _refused(moment, key, value, refusal.what, refusal.advice)


def _asked(moment: Moment, options: Mapping[str, str]) -> Iterator[tuple[str, str, Refused]]:
    """The options with a value that is refused at that moment, in alphabetical order."""
    for key, value in sorted(options.items()):
        entry = catalogued(key)
        for refusal in () if entry is None else entry.refusals:
            if refusal.moment is moment and value.strip().lower() not in refusal.accepted:
                yield key, value, refusal


def _refused(moment: Moment, key: str, value: str, what: str, advice: str = OFFICIAL) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"cannot {moment} the table: its option '{key}' is '{value}', and this release does not support {what}; "
        f"{advice}"
    )


def _refuse_unknown(
    settings: TableSettings, columns: Collection[str], namespaces: Iterable[str], moment: Moment
) -> None:
    for key in unknown_keys(settings, columns, namespaces):
        raise UnsupportedFeature(
            f"cannot {moment} the table: its option '{key}' = '{settings[key]}' is not known to this release, and by "
            "its name it may change rows or files; use a newer release, or remove the option from the table"
        )


def unreadable_root(data_type: DataType) -> Root | None:
    """The first type within a type, at any depth, that this release cannot read; None if it can read all."""
    if holds_blobs(data_type) and not is_known_blob(data_type):
        return Root.BLOB
    return next((root for root in _roots(data_type) if root in _UNREADABLE_ROOTS), None)


def holds_blobs(data_type: DataType) -> bool:
    """True if a type is BLOB or has one in it."""
    return Root.BLOB in _roots(data_type)


def _roots(data_type: DataType) -> Iterator[Root]:
    yield data_type.root
    inner = [t for t in (data_type.key, data_type.element) if t is not None]
    for part in (*inner, *(field.type for field in data_type.fields)):
        yield from _roots(part)


def check_columns(schema: TableSchema, fields: Iterable[DataField], conditions: Collection[str] = ()) -> None:
    """Checks that this release reads these columns.

    Args:
        schema: the schema of the table.
        fields: the columns to read.
        conditions: names of further columns, which a condition uses.

    Raises:
        UnsupportedFeature: it cannot read one of them; the message names that column, and lists the others.
    """
    for field in (*fields, *(schema.by_name[name] for name in conditions if name in schema.by_name)):
        root = unreadable_root(field.type)
        if root is not None:
            raise UnsupportedFeature(f"{_about(field, root)}; {_others(schema)}")


def check_all_columns(schema: TableSchema) -> None:
    """Checks that this release knows the values of all columns of a table.

    Raises:
        UnsupportedFeature: it does not know those of one of them; the message names the column.
    """
    for field in schema.fields:
        root = unreadable_root(field.type)
        if root is not None:
            raise UnsupportedFeature(f"{_about(field, root)}; use the official system for it")


def _about(field: DataField, root: Root) -> str:
    return (
        f"column '{field.name}' has the type {type_sql(field.type)}, and this release does not support {root} columns"
    )


def _others(schema: TableSchema) -> str:
    names = [field.name for field in schema.fields if unreadable_root(field.type) is None]
    if not names:
        return "read the table with the official system"
    listed = ", ".join(map(quoted_if_needed, names))
    return f'read the other columns, with .option("columns", "{listed}") in Spark, or columns={names} in Python'
