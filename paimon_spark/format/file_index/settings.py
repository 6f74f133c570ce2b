"""The options ``file-index.*``: which indexes the data files of a table get (Java: FileIndexOptions)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.value_texts import parse_int, parse_memory, parse_ratio
from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataField, DataType, Root

_LIST = re.compile(r"file-index\.([a-z-]+)\.columns")
_OF_COLUMN = re.compile(r"file-index\.([a-z-]+)\.(.+)\.([a-z-]+)")
_MAP_KEY = re.compile(r"([^\[]+)\[(.*)\]", re.DOTALL)
BLOOM_FILTER = "bloom-filter"
BITMAP = "bitmap"
BSI = "bsi"
RANGE_BITMAP = "range-bitmap"
DEFAULT_ITEMS = 1_000_000
DEFAULT_FALSE_POSITIVES = 0.1
NEWEST_BITMAP = 2
DEFAULT_BLOCK_SIZE = 16 * 1024
_TIMES = TIMESTAMPS | {Root.DATE, Root.TIME}
_ROOTS: Mapping[str, Set[Root]] = MappingProxyType(
    {
        BLOOM_FILTER: INTEGERS | FLOATS | STRINGS | BINARIES | _TIMES,
        BITMAP: INTEGERS | FLOATS | STRINGS | _TIMES | {Root.BOOLEAN},
        BSI: INTEGERS | _TIMES | {Root.DECIMAL},
        RANGE_BITMAP: INTEGERS | FLOATS | STRINGS | _TIMES | {Root.BOOLEAN, Root.DECIMAL},
    }
)
_MOST_PRECISE = {Root.DECIMAL: 18, Root.TIMESTAMP: 6, Root.TIMESTAMP_LTZ: 6}  # of range bitmaps
_MOST_BITS = 2**31 - 16


def _version(text: str) -> int:
    version = parse_int(text)
    if not 1 <= version <= NEWEST_BITMAP:
        raise ValueError(f"expected a version from 1 to {NEWEST_BITMAP}")
    return version


_PARSERS: Mapping[str, Mapping[str, tuple[Callable[[str], Any], Any]]] = MappingProxyType(
    {
        BLOOM_FILTER: {"items": (parse_int, DEFAULT_ITEMS), "fpp": (parse_ratio, DEFAULT_FALSE_POSITIVES)},
        BITMAP: {"version": (_version, NEWEST_BITMAP), "index-block-size": (parse_memory, DEFAULT_BLOCK_SIZE)},
        BSI: {},
        RANGE_BITMAP: {"chunk-size": (parse_memory, None)},
    }
)
"""By kind and name of an option: how its text is read, and its default."""


@dataclass(frozen=True)
class IndexSetting:
    """One index of one column.

    Attributes:
        kind: such as "bitmap".
        column: the name of the column.
        map_key: the key whose values are indexed, of a column that is a map; None: the column itself is.
        options: the values of the options of the kind, by name.
    """

    kind: str
    column: str
    map_key: str | None
    options: tuple[tuple[str, Any], ...]

    @property
    def name(self) -> str:
        """What the container of the indexes calls the column."""
        return self.column if self.map_key is None else f"{self.column}[{self.map_key}]"

    def value(self, option: str) -> Any:
        """The value of an option of the kind."""
        return dict(self.options)[option]

    def data_type(self, field: DataField) -> DataType:
        """The type of the values that are indexed, of the column with that name."""
        return field.type if self.map_key is None else field.type.inner


def index_settings(options: Mapping[str, str]) -> tuple[IndexSetting, ...]:
    """The indexes that the options of a table ask for.

    Raises:
        OptionError: a kind is unknown, a name of a column is empty, an option cannot be read, or is of a column that
            the list of the kind does not name.
    """
    listed: dict[tuple[str, str, str | None], dict[str, Any]] = {}
    for key, text in options.items():
        if match := _LIST.fullmatch(key):
            for column, map_key in _columns(key, text):
                listed[match[1], column, map_key] = {name: default for name, (_, default) in _parsers(key, match[1])}
    given = sorted((key, match) for key in options if (match := _option_of_column(key)))
    for key, match in sorted(given, key=lambda pair: "[" in pair[1][2]):  # those of one key of a map come last
        kind, name, option = match[1], match[2], match[3]
        column, map_key = _divided(name)
        wanted = [place for place in listed if place[:2] == (kind, column) and (map_key is None or place[2] == map_key)]
        if not wanted:
            raise OptionError(
                f"the option '{key}' is of an index that no file gets: name '{name}' in 'file-index.{kind}.columns', "
                "or remove the option"
            )
        for place in wanted:
            listed[place] |= _parsed(key, kind, option, options[key])
    return tuple(IndexSetting(*place, tuple(values.items())) for place, values in listed.items())


def check_indexes(settings: tuple[IndexSetting, ...], fields: Mapping[str, DataField]) -> None:
    """Checks that the columns have types that the indexes can hold (Java: SchemaValidation.validateFileIndex).

    Raises:
        OptionError: a column does not exist, is no map with texts as keys, or has another type.
    """
    for setting in settings:
        key, field = f"file-index.{setting.kind}.columns", fields.get(setting.column)
        if field is None:
            raise OptionError(
                f"the option '{key}' names '{setting.column}', which is not a column; the columns are "
                f"{', '.join(fields)}"
            )
        if setting.map_key is not None and (field.type.root is not Root.MAP or field.type.key_type.root not in STRINGS):
            raise OptionError(
                f"the option '{key}' names a key of '{setting.column}', which is {field.type.root}: only maps with "
                "texts as keys have indexes of single keys"
            )
        try:
            check_type(setting.kind, setting.data_type(field))
        except UnsupportedFeature as error:
            raise OptionError(f"the option '{key}' names '{setting.name}': {error}") from None
        if setting.kind == BLOOM_FILTER:
            check_bloom_size(setting.value("items"), setting.value("fpp"))


def is_bytes(data_type: DataType) -> bool:
    """True if the values are texts or bytes, which have keys of any length."""
    return data_type.root in STRINGS | BINARIES


def _option_of_column(key: str) -> re.Match[str] | None:
    match = _OF_COLUMN.fullmatch(key)
    return None if match is None or (match[3] == "columns" and match[2] == "") else match


def _columns(key: str, text: str) -> list[tuple[str, str | None]]:
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    if not all(names):
        raise OptionError(f"the option '{key}' = '{text}' names an empty column; remove the comma too much")
    return [_divided(name) for name in names]


def _divided(name: str) -> tuple[str, str | None]:
    """The column, and the key of its map, of ``column`` or ``column[key]``."""
    match = _MAP_KEY.fullmatch(name)
    return (name, None) if match is None else (match[1], match[2])


def _parsers(key: str, kind: str) -> list[tuple[str, tuple[Callable[[str], Any], Any]]]:
    if kind not in _PARSERS:
        raise OptionError(
            f"the option '{key}' asks for indexes of the kind '{kind}', which this release cannot make; there are "
            f"{', '.join(_PARSERS)}"
        )
    return list(_PARSERS[kind].items())


def _parsed(key: str, kind: str, option: str, text: str) -> dict[str, Any]:
    parsers = dict(_parsers(key, kind))
    if option not in parsers:
        raise OptionError(
            f"the option '{key}' is none of an index of the kind '{kind}'; it has "
            f"{', '.join(parsers) or 'no options of columns'}"
        )
    try:
        return {option: parsers[option][0](text)}
    except ValueError as error:
        raise OptionError(f"the option '{key}' = '{text}' cannot be read: {error}") from None


def check_type(kind: str, data_type: DataType) -> None:
    """Checks that an index of this kind can hold values of a type.

    Raises:
        UnsupportedFeature: it cannot.
    """
    root, precision = data_type.root, data_type.precision
    if root not in _ROOTS[kind]:
        raise UnsupportedFeature(
            f"a {kind} index cannot hold values of type {root}: take the column out of file-index.{kind}.columns"
        )
    limit = _MOST_PRECISE.get(root) if kind == RANGE_BITMAP else None
    if limit is not None and precision is not None and precision > limit:
        raise UnsupportedFeature(
            f"a {kind} index cannot hold values of type {root}({precision}): at most precision {limit}"
        )


def check_bloom_size(items: int, false_positives: float) -> int:
    """The number of bits of a bloom filter.

    Args:
        items: the index option ``items``, the expected number of distinct values.
        false_positives: the index option ``fpp``.

    Raises:
        OptionError: the numbers give no size of a filter, or one that no bit can be numbered in.
    """
    whole = -1
    if items > 0 and 0 < false_positives < 1:
        whole = int(-items * math.log(false_positives) / (math.log(2) * math.log(2)))
    if not 0 <= whole <= _MOST_BITS:
        raise OptionError(
            f"a {BLOOM_FILTER} index for items = {items} and fpp = {false_positives} cannot be made: items must be at "
            f"least 1, fpp between 0 and 1, and both together ask for at most {_MOST_BITS // 8} bytes"
        )
    return whole + (8 - whole % 8)
