"""Format tables of a metastore: tables of Hive whose files are parquet, orc or lines, and those that Paimon makes.

Java: HiveTableUtils.tryToFormatSchema, HiveCatalog.createFormatTable of release 2.0.0. Java takes more tables of Hive
for format tables than it reads as Hive does. Those are named here too, and refused when they are opened.
"""

from __future__ import annotations

from collections.abc import Mapping

from pymetastore.hive_metastore import ttypes

from paimon_spark.catalogs.hive.hive_tables import COMMENT, fields_for_hive, table_of_now
from paimon_spark.catalogs.hive.hive_types import paimon_type
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.places import HiveTable, is_paimon, is_view, put_table
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.text_file_settings import CsvSettings
from paimon_spark.format.options.value_texts import parse_bool
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table_options import PATH

_TABLE_TYPE, _TYPE = "table_type", "type"
_DELIMITER, _HIVE_DELIMITER = "field.delim", "\x01"
_TEXT_INPUT = "org.apache.hadoop.mapred.TextInputFormat"
_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_LINE_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
_PARQUET, _ORC = "org.apache.hadoop.hive.ql.io.parquet.", "org.apache.hadoop.hive.ql.io.orc."
_CLASSES: Mapping[str, tuple[str, str, str]] = {
    "parquet": (
        f"{_PARQUET}MapredParquetInputFormat",
        f"{_PARQUET}MapredParquetOutputFormat",
        f"{_PARQUET}serde.ParquetHiveSerDe",
    ),
    "orc": (f"{_ORC}OrcInputFormat", f"{_ORC}OrcOutputFormat", f"{_ORC}OrcSerde"),
    "csv": (_TEXT_INPUT, _LINE_OUTPUT, _LAZY),
    "text": (_TEXT_INPUT, _LINE_OUTPUT, _LAZY),
    "json": (_TEXT_INPUT, _LINE_OUTPUT, "org.apache.hive.hcatalog.data.JsonSerDe"),
}
"""By the format: the classes by which Hive reads, writes, and understands the files."""
_INPUTS = {name: {classes[0]} for name, classes in _CLASSES.items()}
_INPUTS["parquet"].add("parquet.hive.DeprecatedParquetInputFormat")
_HEADER, _FOOTER = "skip.header.line.count", "skip.footer.line.count"
_PROVIDER = "spark.sql.sources.provider"


def is_format_table(table: HiveTable | None) -> bool:
    """True if Java takes a table of the metastore for a format table (Java: HiveCatalog.isFormatTable)."""
    return table is not None and not is_paimon(table) and not is_view(table) and _format_of(table) is not None


def format_schema(identifier: Identifier, table: HiveTable) -> TableSchema:
    """The schema of a format table, which the metastore alone has.

    Raises:
        UnsupportedFeature: a column is of a type that Paimon does not have.
    """
    parameters, sd = dict(table.parameters or {}), table.sd
    file_format = _format_of(table)
    assert file_format is not None, "it was checked"
    comment = parameters.pop(COMMENT, None)
    keys = tuple(str(key.name) for key in table.partitionKeys or ())
    columns = [*sd.cols, *(table.partitionKeys or ())]
    fields, highest = assign_field_ids(
        [DataField(n, column.name, paimon_type(column.type), column.comment) for n, column in enumerate(columns)]
    )
    options = {**parameters, _TYPE: str(TableKind.FORMAT_TABLE), FileSettings.format.key: file_format}
    options.pop(PATH, None)
    if file_format == "csv":
        options[CsvSettings.field_delimiter.key] = _serde_parameters(table).get(_DELIMITER, _HIVE_DELIMITER)
    return TableSchema(0, tuple(fields), highest, keys, (), options, comment)


def check_like_hive(identifier: Identifier, table: HiveTable) -> None:
    """Checks that the rows of a format table are those that Hive finds in its files.

    Raises:
        UnsupportedFeature: Hive reads them in another way, of which Java knows nothing.
    """
    parameters, sd, file_format = dict(table.parameters or {}), table.sd, _format_of(table)
    library = (sd.serdeInfo.serializationLib or "") if sd.serdeInfo else ""
    provider = parameters.get(_PROVIDER, "hive").lower()
    has_header = CsvSettings(parameters).header if file_format == "csv" else False
    skipped = [parameters.get(key, "0").strip() or "0" for key in (_HEADER, _FOOTER)]
    found = {
        f"Hive reads its files by {sd.inputFormat}": sd.inputFormat not in _INPUTS[file_format or ""],
        f"Hive reads its lines by {library}": file_format in ("csv", "text") and "lazysimple" not in library.lower(),
        "it is transactional, and its rows are in base and delta files": parse_flag(parameters, "transactional"),
        f"it is a table of Spark's source '{provider}', with options of Spark": provider not in _PROVIDERS,
        f"'{_HEADER}' is {skipped[0]}, and '{CsvSettings.header.key}' is {str(has_header).lower()}": skipped[0]
        != ("1" if has_header and _HEADER in parameters else "0"),
        f"'{_FOOTER}' is {skipped[1]}": skipped[1] != "0",
    }
    wrong = next((what for what, is_wrong in found.items() if is_wrong), None)
    if wrong is not None:
        raise UnsupportedFeature(
            f"opening {identifier}: it is a table of Hive, and {wrong}. As a format table it would have other rows; "
            "read it with Hive, or with Spark and its support of Hive"
        )


_PROVIDERS = ("hive", "parquet", "orc")


def parse_flag(parameters: Mapping[str, str], key: str) -> bool:
    """True if a parameter of Hive is true."""
    return parse_bool(parameters.get(key, "false") or "false")


def new_format_table(
    metastore: Metastore, identifier: Identifier, schema: TableSchema, location: str, external: bool
) -> HiveTable:
    """A new format table as the metastore has it. Its partition columns come behind the others."""
    file_format = TableSettings(schema.options).files.format.lower()
    made_for = {_TABLE_TYPE: file_format.upper(), FileSettings.format.key: file_format}
    parameters = {**schema.options, **made_for, _TYPE: str(TableKind.FORMAT_TABLE)}
    if external:
        parameters["EXTERNAL"] = "TRUE"
    if schema.comment is not None:
        parameters[COMMENT] = schema.comment
    input_format, output_format, library = _CLASSES[file_format]
    serde = {_DELIMITER: CsvSettings(schema.options).field_delimiter} if file_format == "csv" else {}
    keys = schema.partition_fields
    storage = ttypes.StorageDescriptor(
        cols=fields_for_hive(metastore, (field for field in schema.fields if field not in keys)),
        inputFormat=input_format,
        outputFormat=output_format,
        serdeInfo=ttypes.SerDeInfo(serializationLib=library, parameters=serde),
    )
    table = table_of_now(metastore, identifier, external, parameters, storage, fields_for_hive(metastore, keys))
    put_table(table, location, metastore.settings.location_in_properties)
    return table


def is_made_by_paimon(table: HiveTable) -> bool:
    """True if a format table was made as one, and not by Hive."""
    return bool((table.parameters or {}).get(_TYPE, "").lower() == TableKind.FORMAT_TABLE)


def _format_of(table: HiveTable) -> str | None:
    """The format of the files, by their classes (Java: HiveTableUtils.tryToFormatSchema); None: it has none."""
    sd = table.sd
    if sd is None or sd.serdeInfo is None:
        return None
    library, input_format = (sd.serdeInfo.serializationLib or "").lower(), sd.inputFormat or ""
    for name in ("parquet", "orc"):
        if name in library:
            return name
    if "Text" not in input_format:
        return None
    if "json" in library:
        return "json"
    return "text" if (table.parameters or {}).get(_TABLE_TYPE) == "TEXT" else "csv"


def _serde_parameters(table: HiveTable) -> Mapping[str, str]:
    return (table.sd.serdeInfo.parameters if table.sd.serdeInfo else None) or {}
