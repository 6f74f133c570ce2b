"""Which options of a table may change (features 3.25; Java: SchemaManager.checkAlterTableOption)."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_spark.errors import OptionError
from paimon_spark.format.options.catalogue import IMMUTABLE_OPTIONS
from paimon_spark.format.options.table_settings import SchemaChangeSettings, TableSettings
from paimon_spark.format.options.value_texts import parse_list
from paimon_spark.format.schema import TableSchema

_PATH = "path"
_MODIFIABLE = SchemaChangeSettings.vectors_modifiable.key
_CLUSTERING, _CLUSTERING_OVERRIDE = "clustering.columns", "pk-clustering-override"
_ONE_WAY = {option.key: option for option in (TableSettings.ignore_delete, TableSettings.ignore_update_before)}
_NEW_TABLE = "create another table with it, and copy the rows: CREATE TABLE ... AS SELECT * FROM ..."
_INSTEAD = {
    "primary-key": "the rows in the files are ordered by it; create another table with it, and copy the rows",
    "partition": "the files lie in the directories of the partitions; create another table with it, and copy the rows",
    "merge-engine": f"the stored rows are already merged by it; {_NEW_TABLE}",
    "bucket-key": f"rows are found by their bucket; {_NEW_TABLE}",
    "bucket-function.type": f"rows are found by their bucket; {_NEW_TABLE}",
}


def check_set(schema: TableSchema, key: str, value: str, has_snapshots: bool) -> bool:
    """Checks that an option may be set.

    Args:
        schema: as it was before all changes of the call.
        key: the official key.
        has_snapshots: whether the table has or had rows.

    Returns:
        False: the table has that value already, where an option is kept as a part of the schema.

    Raises:
        OptionError: it may not; the message says what to do instead.
    """
    stored = TableSettings(schema.options)
    if schema.options.get(key) == value or _is_declared(schema, key, value):
        return False
    if key in (_PATH, TableSettings.table_type.key):
        raise _fixed(key)
    if has_snapshots:
        _check_stored_rows(stored, key, value)
    return True


def check_unset(schema: TableSchema, key: str, has_snapshots: bool) -> None:
    """Checks that an option may be removed; see check_set.

    Raises:
        OptionError: it may not.
    """
    if key == TableSettings.table_type.key:
        raise _fixed(key)
    if not has_snapshots:
        return
    stored = TableSettings(schema.options)
    if key in IMMUTABLE_OPTIONS:
        raise _fixed(key)
    if key == TableSettings.bucket.key:
        raise OptionError(f"the option '{key}' cannot be unset once a table has rows; {_rescale()}")
    if key == TableSettings.deletion_vectors_enabled.key:
        _check_stored_rows(stored, key, "false")
    if key == _CLUSTERING and _CLUSTERING_OVERRIDE in stored:
        raise _clustering()


def _check_stored_rows(stored: TableSettings, key: str, value: str) -> None:
    new = TableSettings({key: value})
    if key in IMMUTABLE_OPTIONS:
        raise _fixed(key)
    if key == TableSettings.bucket.key:
        before, after = stored.bucket, new.bucket
        if -1 in (before, after):
            raise OptionError(
                f"the option 'bucket' cannot change from {before} to {after} once a table has rows; {_NEW_TABLE}"
            )
    if key == TableSettings.deletion_vectors_enabled.key and not stored.changes.vectors_modifiable:
        is_on, wanted = stored.deletion_vectors_enabled, new.deletion_vectors_enabled
        if is_on != wanted:
            raise OptionError(
                f"the option '{key}' cannot change from {_text(is_on)} to {_text(wanted)} once a table has rows: rows "
                f"could be there twice until a full compaction; set '{_MODIFIABLE}' = 'true' first, in a call of its "
                "own, to change it nevertheless"
            )
    if key in _ONE_WAY and _ONE_WAY[key].read(stored) and not _ONE_WAY[key].read(new):
        raise OptionError(
            f"the option '{key}' cannot change from true to false once a table has rows: the rows that were ignored "
            f"are not stored; {_NEW_TABLE}"
        )
    if key == _CLUSTERING and _CLUSTERING_OVERRIDE in stored:
        raise _clustering()


def _is_declared(schema: TableSchema, key: str, value: str) -> bool:
    """True if an option that the schema keeps in a place of its own has that value (Java: isUnchangedNormalizedKey)."""
    if key == TableSettings.table_type.key:
        return value.lower() == schema.options.get(key, "table").lower()
    declared = {
        TableSettings.primary_key.key: schema.primary_keys,
        TableSettings.partition.key: schema.partition_keys,
    }.get(key)
    return declared is not None and key not in schema.options and parse_list(value) == declared


def _text(flag: bool) -> str:
    return str(flag).lower()


def _fixed(key: str) -> OptionError:
    if key == _PATH:
        return OptionError("the option 'path' cannot change: the table is where its files are; rename it, or copy it")
    if key == TableSettings.table_type.key:
        return OptionError(f"the option 'type' cannot change; {_NEW_TABLE}")
    return OptionError(f"the option '{key}' cannot change once a table has rows; {_INSTEAD.get(key, _NEW_TABLE)}")


def _rescale() -> str:
    return "PaimonTable.rescale(n), or CALL sys.rescale, gives it another number of buckets"


def _clustering() -> OptionError:
    return OptionError(
        f"the option '{_CLUSTERING}' cannot change with '{_CLUSTERING_OVERRIDE}': the files are ordered by them"
    )


# ----------------------------------------------------------------------------------------------------- renamed columns

_FIELDS = "fields."
_DEFAULT_FUNCTION = "fields.default-aggregate-function"
_SEQUENCE_GROUP = ".sequence-group"
_LISTS_OF_COLUMNS = ("bucket-key", "sequence.field", "partial-update.remove-record-on-sequence-group")


def renamed_options(options: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """The options with another name for a column, in the keys and values that name it.

    Those of ``fields.<column>.*``, of sequence groups, ``bucket-key`` and ``sequence.field`` are rewritten, as in Java
    (SchemaManager.applyRenameColumnsToOptions), and the groups whose deletions remove rows, which Java leaves as they
    are, so that it refuses the change. Others that name the column make the schema invalid, and so refuse the change.
    """
    found: dict[str, str] = {}
    for key, value in options.items():
        if key in _LISTS_OF_COLUMNS:
            value = _renamed_list(value, old, new)
        elif key.startswith(_FIELDS) and key != _DEFAULT_FUNCTION:
            columns, what = _split_field_key(key)
            key = f"{_FIELDS}{_renamed_list(columns, old, new)}{what}"
            if what == _SEQUENCE_GROUP:
                value = _renamed_list(value, old, new)
        found[key] = value
    return found


def _split_field_key(key: str) -> tuple[str, str]:
    """(columns, ``.<what>``) of ``fields.<columns>.<what>``; what may have points, a name of a column has none."""
    columns, point, what = key[len(_FIELDS) :].partition(".")
    return columns, point + what


def _renamed_list(text: str, old: str, new: str) -> str:
    return ",".join(new if item == old else item for item in text.split(","))
