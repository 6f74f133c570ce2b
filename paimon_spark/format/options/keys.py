"""Keys of table options: looked up in any letter case, with the columns in them, and separated from user labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from paimon_spark.format.options.core_options import TYPED_OPTIONS
from paimon_spark.format.options.entries import CATALOGUE, OptionEntry

_OLDER_NAMES = {alias: option.key for option in TYPED_OPTIONS.values() for alias in option.aliases}
_EXACT = frozenset(key for key in CATALOGUE if "<" not in key and "#" not in key) | _OLDER_NAMES.keys()
_BY_LOWER = {key.lower(): key for key in _EXACT}

_FIELDS, _ANY = "fields.<column>.", "<any>"
_FIELD_SUFFIXES = tuple(key.removeprefix(_FIELDS) for key in CATALOGUE if key.startswith(_FIELDS))
_FIELD_KEY = re.compile(rf"fields\.(.+)\.({'|'.join(map(re.escape, _FIELD_SUFFIXES))})", re.IGNORECASE)
_VECTOR_KEY = re.compile(r"field\.(.+)\.(vector-dim)", re.IGNORECASE)
_INDEX_KEY = re.compile(r"file-index\.([a-z-]+)\.(?:(.+)\.)?([a-z-]+)", re.IGNORECASE)
_CALLBACK_KEY = re.compile(r"(commit|tag)\.callback\..+\.param", re.IGNORECASE)
_OPEN_FAMILIES = tuple(key.removesuffix(_ANY) for key in CATALOGUE if key.endswith(_ANY))
_OF_COLUMNS = re.compile(r"fields?\.(.+)\.[^.]+", re.IGNORECASE)

# What cannot change once a table holds data.
IMMUTABLE_OPTIONS = frozenset({
    "type", "primary-key", "primary-key.nullable", "partition", "rowkind.field", "bucket-key", "bucket-function.type",
    "data-file.path-directory", "index-file-in-data-file-dir", "row-tracking.enabled", "merge-engine",
    "sequence.snapshot-ordering", "aggregation.remove-record-on-delete", "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group", "force-lookup", "dynamic-bucket.initial-buckets",
    "pk-clustering-override", "data-evolution.enabled", "blob-field", "blob-descriptor-field", "blob-view-field",
    "blob-external-storage-field", "blob-external-storage-path",
})  # fmt: skip


def known_keys() -> frozenset[str]:
    """Every key without a variable part, older names too, and patterns such as ``fields.<column>.stats-mode``."""
    return _EXACT | CATALOGUE.keys()


def known_key(key: str, columns: Mapping[str, str] | None = None) -> str | None:
    """The official spelling of a key; None if no known release has it.

    Args:
        key: in any letter case.
        columns: true column names by their lower-case form, for keys that hold a column.
    """
    lowered = key.lower()
    if lowered in _BY_LOWER:
        return _BY_LOWER[lowered]
    if match := _FIELD_KEY.fullmatch(key):
        return f"fields.{_true_columns(match[1], columns)}.{match[2].lower()}"
    if match := _VECTOR_KEY.fullmatch(key):
        return f"field.{_true_columns(match[1], columns)}.{match[2].lower()}"
    if match := _INDEX_KEY.fullmatch(key):
        column = f"{_true_columns(match[2], columns)}." if match[2] else ""
        return f"file-index.{match[1].lower()}.{column}{match[3].lower()}"
    if _CALLBACK_KEY.fullmatch(key) or lowered.startswith(_OPEN_FAMILIES):
        return key
    return None


def catalogued(key: str) -> OptionEntry | None:
    """The catalogue entry of the option of this key; None if no known release has it.

    Args:
        key: the official spelling, or an older name.
    """
    key = _OLDER_NAMES.get(key, key)
    if key in CATALOGUE:
        return CATALOGUE[key]
    if match := _FIELD_KEY.fullmatch(key):
        return CATALOGUE[f"{_FIELDS}{match[2].lower()}"]
    if _VECTOR_KEY.fullmatch(key):
        return CATALOGUE["field.<column>.vector-dim"]
    if match := _INDEX_KEY.fullmatch(key):
        is_list = match[2] is None and match[3].lower() == "columns"
        return CATALOGUE["file-index.<type>.columns" if is_list else "file-index.<type>.<column>.<x>"]
    if match := _CALLBACK_KEY.fullmatch(key):
        return CATALOGUE[f"{match[1].lower()}.callback.#.param"]
    family = next((family for family in _OPEN_FAMILIES if key.lower().startswith(family)), None)
    return None if family is None else CATALOGUE[family + _ANY]


def unknown_keys(keys: Iterable[str], columns: Collection[str], namespaces: Iterable[str]) -> list[str]:
    """The keys that no known release has but that look like options of a newer one, in order.

    These are keys of existing columns (``fields.<column>.<word>``), and keys that begin with a namespace and a dot or a
    dash after it. Any other, such as ``row-owner`` or ``partition.contact``, is a label of the user.

    Args:
        keys: the option keys of a table.
        columns: the column names of the table.
        namespaces: prefixes of keys that end with a whole word.
    """
    beginnings = tuple(begin + mark for begin in namespaces for mark in ".-")
    return sorted(
        key
        for key in keys
        if known_key(key) is None and (key.lower().startswith(beginnings) or _is_of_columns(key, columns))
    )


def _is_of_columns(key: str, columns: Collection[str]) -> bool:
    match = _OF_COLUMNS.fullmatch(key)
    return match is not None and all(name.strip() in columns for name in match[1].split(","))


def _true_columns(text: str, columns: Mapping[str, str] | None) -> str:
    return ",".join((columns or {}).get(name.strip().lower(), name) for name in text.split(","))
