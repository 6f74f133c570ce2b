"""Which tables this release reads and writes: refused by the name of the option or column, never guessed.

An option is heeded, or it is ignored because rows come out the same without it (tuning, maintenance, accelerators), or
it is refused when set to a value that changes rows. The rules:

- A known option is refused where a rule below says so; all others are heeded or make no difference to rows.
- An option no known release has is refused when reading if its name belongs to a family that can change rows
  (``fields.*``, ``merge*``, ``scan.fallback*``, ``data-evolution*``, ...), and when writing if it belongs to a family
  that says how files or commits are made. Any other unknown option (an owner, a label) is none of ours.
- A column of a type without a reader is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.spec import options as o
from paimon_spark.spec.option_keys import IMMUTABLE_OPTIONS, known_key, known_keys, unknown_keys
from paimon_spark.spec.options import Options
from paimon_spark.spec.schema import TableSchema
from paimon_spark.spec.type_text import type_sql
from paimon_spark.spec.types import DataType, Root, all_fields

__all__ = ["IMMUTABLE_OPTIONS", "check_readable", "check_writable", "known_key", "known_keys"]

DATA_FORMATS = ("parquet", "orc", "avro")
_UNREADABLE_ROOTS = frozenset({Root.VARIANT, Root.BLOB, Root.VECTOR, Root.GEOMETRY, Root.GEOGRAPHY})
_OFFICIAL = "use the official system for it"


@dataclass(frozen=True)
class _Rule:
    """The option may be absent or have one of the values (lower case); anything else is refused."""

    key: str
    values: tuple[str, ...]
    what: str
    advice: str = _OFFICIAL


_ONE_BRANCH = (
    f"{_OFFICIAL}, or read one of its branches as it is, with the options 'branch' and 'chain-table.enabled' = 'false'"
)
_READ_RULES = (
    _Rule("type", ("table",), "tables of another kind"),
    _Rule("primary-key.nullable", ("false",), "nulls in primary keys"),
    _Rule("query-auth.enabled", ("false",), "row filters and column masks of a catalog"),
    _Rule("file.format", DATA_FORMATS, "data files of this format"),
    _Rule("changelog-file.format", DATA_FORMATS, "changelog files of this format"),
    _Rule("vector.file.format", (), "vector files"),
    _Rule("key-value.sequence_number.enabled", ("false",), "the sequence number as a column"),
    _Rule("data-evolution.enabled", ("false",), "data evolution"),
    _Rule("chain-table.enabled", ("false",), "chain tables", _ONE_BRANCH),
    _Rule("pk-clustering-override", ("false",), "primary-key files in another order"),
    _Rule("batch-scan-mode", ("none",), "internal scan modes"),
    _Rule("stream-scan-mode", ("none",), "internal scan modes"),
    _Rule("blob-field", (), "BLOB columns"),
    _Rule("blob-descriptor-field", (), "BLOB columns"),
    _Rule("blob.stored-descriptor-fields", (), "BLOB columns"),
    _Rule("blob-view-field", (), "BLOB columns"),
    _Rule("vector-field", (), "VECTOR columns"),
)

_WRITE_RULES = (
    _Rule("row-tracking.enabled", ("false",), "row tracking"),
    _Rule("clustering.incremental", ("false",), "incremental clustering"),
    _Rule("data-file.external-paths.strategy", ("none",), "data files in external paths"),
    _Rule("write.sequence-number-init-mode", ("scan",), "sequence numbers kept in snapshots"),
    _Rule("metadata.iceberg.storage", ("disabled",), "Iceberg metadata beside the table"),
    _Rule("commit.callbacks", ("",), "commit callbacks, which are Java classes"),
    _Rule("commit.custom-listeners", ("",), "commit listeners, which are Java classes"),
    _Rule("commit.strict-mode.last-safe-snapshot", (), "strict commits"),
    _Rule("manifest.format", ("avro",), "manifests of another format than Avro"),
)

_UNSUPPORTED_MARKS = {
    "done-partition": "which needs a metastore",
    "mark-event": "which needs a metastore",
    "custom": "which is a class of Java",
}

# Beginnings of keys, lower case. An unknown key of a family is taken for an option of a newer release.
_ROW_FAMILIES = (
    "aggregation", "blob", "branch", "bucket", "chain", "data-evolution", "data-file", "deduplicate", "deletion-vector",
    "field.", "fields.", "file.format", "first-row", "ignore-", "key-value", "merge", "partial-update", "partition.",
    "pk-", "postpone", "primary-key", "query-auth", "read.", "record-level", "row-", "rowkind", "scan.fallback",
    "scan.primary", "sequence", "table-read", "type", "variant", "vector",
)  # fmt: skip
_WRITE_FAMILIES = (
    *_ROW_FAMILIES, "changelog", "clustering", "commit.", "dynamic-bucket", "file.", "file-index.", "global-index",
    "index-", "manifest", "metadata.", "snapshot.", "write.", "write-",
)  # fmt: skip


def check_readable(schema: TableSchema, options: Options) -> None:
    """Whether this release reads the rows of such a table as the official system does.

    Args:
        schema: the schema that is read with.
        options: those of the schema with those of the call on top.

    Raises:
        UnsupportedFeature: it does not; the message names the option or column.
    """
    for field in all_fields(schema.fields):
        root = _unreadable_root(field.type)
        if root is not None:
            raise UnsupportedFeature(
                f"cannot read the table: column '{field.name}' has the type {type_sql(field.type)}, and "
                f"this release does not support {root} columns; read the table with the official system"
            )
    _apply(_READ_RULES, options, "read")
    for format_name in options.value(o.FILE_FORMAT_PER_LEVEL).values():
        if format_name.lower() not in DATA_FORMATS:
            raise _refused("read", "file.format.per.level", format_name, "data files of this format")
    for key, value in options.items():
        if key.endswith(".map.storage-layout") and value.lower() != "default":
            raise _refused("read", key, value, "this layout of maps")
    _refuse_unknown(options, _ROW_FAMILIES, "read")


def check_writable(schema: TableSchema, options: Options) -> None:
    """Whether this release writes to such a table what the official system would.

    Args:
        schema: the latest schema.
        options: those of the schema with those of the call on top.

    Raises:
        UnsupportedFeature: it does not; the message names the option or column.
    """
    check_readable(schema, options)
    _apply(_WRITE_RULES, options, "write to")
    if options.value(o.PARTITION_END_INPUT_TO_DONE):
        for action in options.value(o.PARTITION_MARK_DONE_ACTION):
            why = unsupported_mark_done(action)
            if why is not None:
                raise _refused("write to", o.PARTITION_MARK_DONE_ACTION.key, action, f"this action, {why}")
    _refuse_unknown(options, _WRITE_FAMILIES, "write to")


def unsupported_mark_done(action: str) -> str | None:
    """Why this release does not do an action of `partition.mark-done-action`; None: it does, or there is no such."""
    return _UNSUPPORTED_MARKS.get(action)


def _unreadable_root(data_type: DataType) -> Root | None:
    """The unsupported type within the type, not looking into the fields of rows."""
    if data_type.root in _UNREADABLE_ROOTS:
        return data_type.root
    inner = (t for t in (data_type.key, data_type.element) if t is not None)
    return next((root for root in map(_unreadable_root, inner) if root is not None), None)


def _apply(rules: Iterable[_Rule], options: Options, action: str) -> None:
    for rule in rules:
        value = options.get(rule.key)
        if value is not None and value.strip().lower() not in rule.values:
            raise _refused(action, rule.key, value, rule.what, rule.advice)


def _refused(action: str, key: str, value: str, what: str, advice: str = _OFFICIAL) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"cannot {action} the table: its option '{key}' is '{value}', and this release does not support {what}; "
        f"{advice}"
    )


def _refuse_unknown(options: Options, families: Iterable[str], action: str) -> None:
    for key in unknown_keys(options, families):
        raise UnsupportedFeature(
            f"cannot {action} the table: its option '{key}' = '{options[key]}' is not known to this release, and by "
            "its name it may change rows or files; use a newer release, or remove the option from the table"
        )
