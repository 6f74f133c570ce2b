"""Options given by a caller when a table is opened (features 3; Java: AbstractFileStoreTable.copy, SchemaManager).

A caller gives storage options (``s3.*``, ``fs.*``) and dynamic table options in one map, in any letter case, because
Spark lower-cases option keys, including keys that contain column names or capitals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from paimon_spark.errors import OptionError, similar_names
from paimon_spark.format.options.catalogue import IMMUTABLE_OPTIONS, known_key, known_keys, unknown_keys
from paimon_spark.format.options.file_sources import file_source_advice
from paimon_spark.format.options.option import Option
from paimon_spark.format.options.other_systems import option_advice
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TABLE_OPTIONS, TableSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings, RetentionSettings, TagSettings
from paimon_spark.format.options.value_texts import parse_list
from paimon_spark.format.rules.supported import WRITE_NAMESPACES, check_call
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.storage.publishers import CONNECTION, WAREHOUSE

STORAGE_PREFIXES = ("s3.", "s3a.", "fs.", "gs.", "gcs.", "az.", "azure.", "oss.", "hdfs.", "dfs.", "hadoop.", "rest.")
_STORAGE = (*STORAGE_PREFIXES, CONNECTION, WAREHOUSE)
PATH = "path"
WITHOUT_FALLBACK = {
    ScanSettings.fallback_branch.key: "",
    ScanSettings.primary_branch.key: "",
    ScanSettings.fallback_snapshot_branch.key: "",
    ScanSettings.fallback_delta_branch.key: "",
}
"""Options with which a table is read without another branch."""
_SESSION_PREFIX = "spark.paimon."
_LABEL_PREFIX = "user."
_NEAR_MISS = 0.8
_LIST = "docs/reference/options.md"


def split_storage_options(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """(storage options, other options). The option `path`, which Spark adds for load(path), is in neither."""
    storage, table = {}, {}
    for key, value in options.items():
        if key.lower().startswith(_STORAGE):
            storage[key] = str(value)
        elif key.lower() != PATH:
            table[key] = str(value)
    return storage, table


def other_branch(settings: TableSettings, branch: str) -> str | None:
    """The second branch to read, by the options of the table; None if only its own branch is read."""
    if settings.chain_table_enabled:
        chain = chain_branches(settings, branch)
        return None if chain is None else chain[1]
    name = settings.scan.fallback_branch or settings.scan.primary_branch
    return name if name and name != branch else None


def chain_branches(settings: TableSettings, branch: str) -> tuple[str, str] | None:
    """The branches of a chain table with whole partitions and with changes; None: the branch is read alone.

    They themselves are read alone, whatever letter case the options have (Java: FileStoreTableFactory).
    """
    snapshot, delta = settings.scan.fallback_snapshot_branch or "", settings.scan.fallback_delta_branch or ""
    if not settings.chain_table_enabled or not snapshot or not delta:
        return None
    return None if branch.lower() in (snapshot.lower(), delta.lower()) else (snapshot, delta)


def resolve_keys(options: Mapping[str, str], columns: Iterable[str]) -> dict[str, str]:
    """The options under their official keys, which have the right letter case.

    Args:
        options: keys in any letter case.
        columns: the columns of the table, for the letter case of keys such as ``fields.<column>.stats-mode``.

    Raises:
        OptionError: a key is unknown (the message names the nearest known keys, or the equivalent of an option of
            another system), or is given twice with two values.
    """
    return _resolved(options, tuple(columns), takes_labels=False)


def resolve_properties(options: Mapping[str, str], columns: Iterable[str]) -> dict[str, str]:
    """The properties that a table is to store: options under their official keys, and labels of the user as they are.

    A label is a key that no option has, such as ``team`` or ``my.contact``. To keep typing errors apart from labels, a
    key is refused that is nearly that of an option, or that begins as options of Paimon do (``file.``, ``write-``,
    ``fields.<column>.``), which a newer release may have. A key that begins with ``user.`` is always a label.

    Args:
        options: keys in any letter case; labels keep theirs.
        columns: the columns of the table.

    Raises:
        OptionError: a key is neither, or belongs to another system or to a read or write, or is given twice; or how
            long something is kept has no unit.
    """
    resolved = _resolved(options, tuple(columns), takes_labels=True)
    _check_units(resolved, {})
    return resolved


def _resolved(options: Mapping[str, str], columns: Sequence[str], takes_labels: bool) -> dict[str, str]:
    true_columns = {name.lower(): name for name in columns}
    resolved: dict[str, str] = {}
    for key, value in options.items():
        true_key = known_key(key, true_columns)
        if true_key is None and takes_labels and key.lower().startswith(_LABEL_PREFIX):
            true_key = key
        if true_key is None and key.lower().startswith(_SESSION_PREFIX):
            plain = key[len(_SESSION_PREFIX) :]
            raise OptionError(f"the option '{key}' is a session setting of the official connector; give '{plain}'")
        if true_key is None:
            true_key = _label(key, columns) if takes_labels else None
        if true_key is None:
            raise OptionError(unknown_option(key))
        if resolved.setdefault(true_key, value) != value:
            raise OptionError(f"the option '{true_key}' is given twice: '{resolved[true_key]}' and '{value}'")
    return resolved


def _label(key: str, columns: Sequence[str]) -> str | None:
    """The key of a label of the user; None: it is an option of another system, or of a read or write.

    Raises:
        OptionError: it is nearly the key of an option, or may be one of a newer release.
    """
    from paimon_spark.format.options.connector_keys import CONNECTOR_KEYS  # for tables with labels only

    lowered = key.lower()
    if option_advice(key) is not None or lowered in {name.lower() for name in CONNECTOR_KEYS}:
        return None
    other_name = f"name it '{_LABEL_PREFIX}{key}' if it is a property of your own"
    dashed = key.replace("_", "-")
    switch = f"{dashed.lower()}.enabled"  # 'row-tracking' looks as if it were in force
    near = [switch] if switch in _plain_keys() else similar_names(dashed, _plain_keys(), cutoff=_NEAR_MISS)
    if near:
        raise OptionError(f"the option '{key}' is not known; did you mean '{near[0]}'? Or {other_name}")
    if unknown_keys([key], columns, WRITE_NAMESPACES):
        raise OptionError(
            f"the option '{key}' is not known, and begins like those of Paimon, of which a newer release may have it; "
            f"{other_name}"
        )
    return key


@cache
def _plain_keys() -> tuple[str, ...]:
    """The keys without a variable part."""
    return tuple(name for name in known_keys() if "<" not in name)


def unknown_option(key: str) -> str:
    """What to say of a key that no known release has."""
    advice = option_advice(key) or file_source_advice(key)
    if advice is not None:
        return advice
    from paimon_spark.format.options.connector_keys import CONNECTOR_KEYS, INSTEAD  # for a message only

    connector = {name.lower(): name for name in CONNECTOR_KEYS}
    if key.lower() in connector:
        name = connector[key.lower()]
        way_out = INSTEAD.get(name, "leave it out")
        return f"the option '{name}' is one {CONNECTOR_KEYS[name]}, and would do nothing here; {way_out}"
    near = similar_names(key.replace("_", "-"), (*CONNECTOR_KEYS, *_plain_keys()), count=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"{_LIST} lists all options"
    return f"the option '{key}' is not known; {hint}"


def check_dynamic_options(schema: TableSchema, dynamic: Mapping[str, str]) -> None:
    """Refuses bad values, and options that contradict those the table was created with; equal values are accepted.

    Raises:
        OptionError: a value cannot be parsed, cannot differ from the table's for one read or write, or asks for
            something that this release does not do.
    """
    if not dynamic:
        return
    check_call(dynamic)
    stored, given = TableSettings(schema.options), TableSettings(dynamic)
    _check_units(dynamic, stored)
    for option in TABLE_OPTIONS.values():
        option.read(given)
    for key, value in dynamic.items():
        if key in _DECLARED_KEYS:
            declared = schema.primary_keys if key == TableSettings.primary_key.key else schema.partition_keys
            if [name.lower() for name in parse_list(value)] != [name.lower() for name in declared]:
                raise OptionError(_contradiction(key, value, ",".join(declared) or "none"))
        elif (key in IMMUTABLE_OPTIONS or key in _FIXED_PER_TABLE) and not _same(stored, key, value):
            raise OptionError(_contradiction(key, value, stored.get(key, "not set")))


_KEPT = (
    RetentionSettings.snapshot_time_retained,
    RetentionSettings.changelog_time_retained,
    RetentionSettings.consumer_expiration_time,
    TagSettings.default_time_retained,
    PartitionSettings.expiration_time,
    TableSettings.record_level_expire_time,
)
_LEAST_WITHOUT_UNIT = 60_000


def _check_units(given: Mapping[str, str], stored: Mapping[str, str]) -> None:
    """Refuses a new small number without a unit where older data are deleted: it is milliseconds, and rarely meant so.

    Raises:
        OptionError: there is one. A table that has it already keeps it: the official system takes it too.
    """
    for key in (option.key for option in _KEPT):
        value = given.get(key, "").strip()
        is_small = value.isascii() and value.isdigit() and 0 < int(value[:9]) < _LEAST_WITHOUT_UNIT
        if is_small and stored.get(key) != given[key]:
            raise OptionError(
                f"the option '{key}' is '{value}', which is milliseconds, and what is older is deleted; give the unit, "
                f"such as '{value} d', '{value} h' or '{value} ms'"
            )


_DECLARED_KEYS = (TableSettings.primary_key.key, TableSettings.partition.key)
# Not immutable in the official catalog, but a read or a write that sees them differently from the table is wrong.
_FIXED_PER_TABLE = frozenset({TableSettings.bucket.key, TableSettings.deletion_vectors_enabled.key})
_TYPED: tuple[Option[Any], ...] = (
    TableSettings.table_type,
    TableSettings.bucket,
    TableSettings.bucket_key,
    TableSettings.bucket_function,
    TableSettings.merge_engine,
    TableSettings.deletion_vectors_enabled,
    TableSettings.rowkind_field,
)


def _same(stored: TableSettings, key: str, value: str) -> bool:
    """True if the value equals that of the table; for a typed option, a missing value equals the default."""
    for option in _TYPED:
        if option.key == key:
            return bool(option.read(stored) == option.read(TableSettings({key: value})))
    return stored.get(key) == value


def _contradiction(key: str, value: str, stored: str) -> str:
    advice = "it cannot be changed for one read or write, leave it out"
    if key in _DECLARED_KEYS:
        advice = "keys are given when a table is made: leave the option out, or write the rows to a new path"
    if key == TableSettings.bucket.key and value.strip().isdecimal():
        advice += f", or let PaimonTable.forPath(spark, path).rescale({value.strip()}) change it for the table"
    return f"the option '{key}' = '{value}' contradicts the table, which has {stored}; {advice}"
