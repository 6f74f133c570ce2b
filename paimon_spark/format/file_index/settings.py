"""The options ``file-index.*``: which indexes the data files of a table get (Java: FileIndexOptions)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.file_index.kinds import (
    BITMAP,
    BLOOM_FILTER,
    BSI,
    DEFAULT_BLOCK_SIZE,
    DEFAULT_FALSE_POSITIVES,
    DEFAULT_ITEMS,
    NEWEST_BITMAP,
    RANGE_BITMAP,
    check_bloom_size,
    check_type,
)
from paimon_spark.format.options.value_texts import parse_int, parse_memory, parse_ratio
from paimon_spark.format.types import BINARIES, STRINGS, DataField, DataType, Root

_LIST = re.compile(r"file-index\.([a-z-]+)\.columns")
_OF_COLUMN = re.compile(r"file-index\.([a-z-]+)\.(.+)\.([a-z-]+)")
_MAP_KEY = re.compile(r"([^\[]+)\[(.*)\]", re.DOTALL)


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
