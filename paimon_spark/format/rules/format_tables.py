"""What a new format table must fulfil (Java: CatalogUtils.validateCreateTable, FormatTable of release 2.0.0)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from paimon_spark.errors import OptionError, SchemaError, UnsupportedFeature, similar_names
from paimon_spark.format.options.catalogue import known_key
from paimon_spark.format.options.option import OFFICIAL, Settings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.text_file_settings import CsvSettings, JsonSettings, TextSettings
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.options.value_texts import parse_bool
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import (
    BINARIES,
    FLOATS,
    INTEGERS,
    MAX_LENGTH,
    STRINGS,
    TIMESTAMPS,
    DataField,
    DataType,
    Root,
)

FILE_FORMATS = ("parquet", "orc", "csv", "json", "text")
"""Those of files that this release reads."""
ONLY_VALUE = "format-table.partition-path-only-value"
_IMPLEMENTATION = "format-table.implementation"
_DELIMITERS = ("sep", "delimiter")
_NEAR_MISS = 0.8
_LABEL = "user."
"""How the name of a property of the user begins that looks like an option."""
_OF_NULL_KEYS = frozenset({"json.map-null-key-mode", "json.map-null-key-literal"})
"""What Java writes for a NULL among the keys of a map, which no row of Spark or Arrow has (Java: JsonOptions)."""
_OPTIONS_OF_SPARK = """
sep delimiter encoding charset codec inferschema enforceschema multiline locale ignoreleadingwhitespace
ignoretrailingwhitespace emptyvalue nanvalue positiveinf negativeinf dateformat timestampformat timestampntzformat
chartoescapequoteescaping quoteall escapequotes unescapedquotehandling columnnameofcorruptrecord maxcharspercolumn
maxcolumns samplingratio primitivesasstring prefersdecimal allowcomments allowunquotedfieldnames allowsinglequotes
allownumericleadingzeros allowbackslashescapinganycharacter dropfieldifallnull ignorenullfields wholetext
mergeschema recursivefilelookup pathglobfilter modifiedbefore modifiedafter
"""
_SETTINGS: Mapping[str, type[Settings]] = {"csv": CsvSettings, "json": JsonSettings, "text": TextSettings}
_TEXT = DataType(Root.VARCHAR, length=MAX_LENGTH)
_PLAIN = INTEGERS | FLOATS | STRINGS | BINARIES | TIMESTAMPS | {Root.BOOLEAN, Root.DECIMAL, Root.DATE, Root.TIME}


def check_format_table(doing: str, schema: TableSchema) -> None:
    """Checks that this release has format tables with such a schema.

    Args:
        doing: "opening ..." or "creating ...", for messages.

    Raises:
        SchemaError: it has a primary key, or nothing but partition columns.
        OptionError: an option of the format has a value that Java refuses, or that it understands in another way.
        UnsupportedFeature: the format, the type of a column, or who keeps the partitions or reads the files.
    """
    options, settings = schema.options, TableSettings(schema.options)
    file_format = settings.files.format.lower()
    if file_format not in FILE_FORMATS:
        raise UnsupportedFeature(
            f"{doing}: it is a format table of the format '{file_format}', and this release has those of "
            f"{', '.join(FILE_FORMATS)} only; {OFFICIAL}, or spark.read.format('{file_format}')"
        )
    if options.get(_IMPLEMENTATION, "paimon").strip().lower() != "paimon":
        raise UnsupportedFeature(
            f"{doing}: it is a format table with '{_IMPLEMENTATION}' = '{options[_IMPLEMENTATION]}', whose files the "
            f"engine reads by rules of its own; read it with spark.read.format('{file_format}')"
        )
    if schema.primary_keys:
        raise SchemaError(
            f"{doing}: a format table has no primary key, its rows are those of files; leave "
            f"'{TableSettings.primary_key.key}' out"
        )
    fields = file_fields(schema)
    if not fields:
        raise SchemaError(f"{doing}: all columns are partition columns, and files need one of their own; add a column")
    if file_format in _SETTINGS:
        _check_text_files(doing, file_format, options, fields)


def check_new_format_table(doing: str, schema: TableSchema) -> None:
    """Checks that a format table can be made: as check_format_table, and that its options have no other meaning.

    Raises:
        SchemaError, UnsupportedFeature: as of check_format_table.
        OptionError: as of the three checks.
    """
    check_names_of_spark(doing, schema.options)
    check_names_of_lines(doing, schema.options)
    check_format_table(doing, schema)


def check_kept_partitions(doing: str, schema: TableSchema, keeps: bool) -> None:
    """Checks that a catalog can keep the partitions of a format table, if it is to (Java: CatalogUtils.loadTable).

    Args:
        doing: as of check_format_table.
        schema: of the table.
        keeps: whether the catalog keeps those of this table.

    Raises:
        UnsupportedFeature: it does not; or the table has no partitions.
    """
    if not TableSettings(schema.options).partitions.in_metastore:
        return
    key = PartitionSettings.in_metastore.key
    if not keeps:
        raise UnsupportedFeature(
            f"{doing}: it is a format table whose partitions the catalog is to keep ('{key}'), which only a REST "
            "catalog does, for tables without a location of their own; leave the option out"
        )
    if not schema.partition_keys:
        raise UnsupportedFeature(f"{doing}: it has no partition columns, and '{key}' says who keeps its partitions")


def check_names_of_spark(doing: str, keys: Iterable[str]) -> None:
    """Refuses options by which Spark's own sources read files: the official system passes over them.

    Args:
        doing: "creating ...", for messages.
        keys: of the options of a new format table.

    Raises:
        OptionError: one of them is such an option.
    """
    found = next((key for key in keys if key.lower() in _OPTIONS_OF_SPARK.split()), None)
    if found is not None:
        instead = f", and '{CsvSettings.field_delimiter.key}' is the delimiter" if found.lower() in _DELIMITERS else ""
        raise OptionError(
            f"{doing}: the option '{found}' is one of Spark's own sources, which a format table does not have{instead}"
            "; leave it out"
        )


def check_names_of_lines(doing: str, options: Mapping[str, str]) -> None:
    """Refuses keys that look like options of files of lines and are none: lines would be read by the defaults.

    Args:
        doing: "creating ...", for messages.
        options: of a new format table.

    Raises:
        OptionError: one of them begins as the options of its format do, is nearly one of them, or is one without its
            beginning.
    """
    file_format = TableSettings(options).files.format.lower()
    if file_format not in _SETTINGS:
        return
    known = list(_SETTINGS[file_format].declared())
    names = {option.key for option in known}
    older = {name.lower() for option in known for name in option.older}
    for key in options:
        lowered = key.lower()
        begins = lowered.startswith(f"{file_format}.")
        if lowered in names | older | _OF_NULL_KEYS or lowered.startswith(_LABEL):
            continue
        if not begins and known_key(key) is not None:
            continue
        dashed = lowered.replace("_", "-")
        plain = dashed.removeprefix(f"{file_format}.").replace(".", "-")
        ends = {name: name.removeprefix(f"{file_format}.") for name in sorted(names)}
        near = [name for name, end in ends.items() if plain == end or (begins and plain in end.split("-"))]
        if not near:
            near = similar_names(dashed, names if begins else (*names, *older), cutoff=0.6 if begins else _NEAR_MISS)
        if begins or near:
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(ends)}"
            own = "" if begins else f" Or name it '{_LABEL}{key}' if it is a property of your own"
            raise OptionError(f"{doing}: files of the format {file_format} do not have the option '{key}'; {hint}{own}")


def file_fields(schema: TableSchema) -> tuple[DataField, ...]:
    """The columns that files have: all but those of the partition."""
    return tuple(field for field in schema.fields if field.name not in schema.partition_keys)


def names_values_only(schema: TableSchema) -> bool:
    """True if the directories of partitions have the values alone as their names."""
    return parse_bool(schema.options.get(ONLY_VALUE, "false"))


def _check_text_files(doing: str, file_format: str, options: Mapping[str, str], fields: Sequence[DataField]) -> None:
    """Checks that files of lines can hold the columns, and that the options of the format are valid."""
    settings = _SETTINGS[file_format](options)
    for option in settings.declared():
        option.read(settings)
    if isinstance(settings, CsvSettings):
        _check_csv(settings)
    if isinstance(settings, TextSettings) and (len(fields) != 1 or fields[0].type.with_nullable(True) != _TEXT):
        names = ", ".join(f"{field.name} {type_sql(field.type)}" for field in fields)
        raise UnsupportedFeature(
            f"{doing}: files of the format 'text' have one column of the type STRING and no others, and not {names}"
        )
    for field in fields:
        wrong = _refused(field.type, file_format)
        if wrong is not None:
            raise UnsupportedFeature(
                f"{doing}: the column '{field.name}' has the type {type_sql(wrong)}, which this release does not read "
                f"in files of the format '{file_format}'; use the format parquet for it"
            )


def _check_csv(settings: CsvSettings) -> None:
    """Refuses marks that Java refuses too: two that are the same character."""
    delimiter, quote, escape = settings.field_delimiter, settings.quote, settings.escape
    if delimiter in ("\0", quote, escape) or (quote == escape != "\0"):
        raise OptionError(
            f"'{CsvSettings.field_delimiter.key}', '{CsvSettings.quote.key}' and '{CsvSettings.escape.key}' begin with "
            f"{delimiter!r}, {quote!r} and {escape!r}: they must be different characters"
        )


def _refused(data_type: DataType, file_format: str) -> DataType | None:
    """The type, or one within it, that files of the format do not have here; None: it has all."""
    if data_type.root in _PLAIN:
        return None
    if file_format != "json" or data_type.root not in (Root.ARRAY, Root.MAP, Root.ROW):
        return data_type
    if data_type.root is Root.MAP and data_type.key_type.root not in _PLAIN:
        return data_type
    parts = [field.type for field in data_type.fields] if data_type.root is Root.ROW else [data_type.inner]
    return next((found for part in parts if (found := _refused(part, file_format)) is not None), None)
