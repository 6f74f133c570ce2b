"""A table or view and the types of its columns in the words of SQL, and the statement that makes such a one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from paimon_spark.catalogs.views import SPARK, View
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.quoting import quoted_if_needed
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataType, Root
from paimon_spark.spark.adapters.types import spark_type, type_words
from paimon_spark.sql.text.literals import literal_text
from paimon_spark.store.file_tables.object_table import ObjectTable
from paimon_spark.store.open import OpenTable

PATH = "path"


def shown_properties(table: OpenTable) -> Mapping[str, str]:
    """The options that are stored, with the primary key and the path, by their keys."""
    schema = table.schema
    keys = {TableSettings.primary_key.key: ",".join(schema.primary_keys)} if schema.primary_keys else {}
    return dict(sorted({**schema.options, **keys, PATH: table.location}.items()))


def create_statement(name: str, table: OpenTable) -> str:
    """CREATE TABLE with all clauses. The path is not among them: a catalog chooses it."""
    schema = table.schema
    columns = []
    for field in schema.fields:
        words = [quoted_if_needed(field.name), sql_type(field.type)]
        words += [] if field.type.nullable else ["NOT NULL"]
        words += [] if field.default_value is None else [f"DEFAULT {field.default_value}"]
        words += [] if field.description is None else [f"COMMENT {literal_text(field.description)}"]
        columns.append(" ".join(words))
    properties = {key: value for key, value in shown_properties(table).items() if key != PATH}
    declared = not isinstance(table, ObjectTable)  # whose columns are always the same
    lines = [f"CREATE TABLE {name} (", "  " + ",\n  ".join(columns) + ")"] if declared else [f"CREATE TABLE {name}"]
    lines.append("USING paimon")
    if schema.partition_keys:
        lines.append(f"PARTITIONED BY ({', '.join(quoted_if_needed(key) for key in schema.partition_keys)})")
    if schema.comment:
        lines.append(f"COMMENT {literal_text(schema.comment)}")
    if properties:
        pairs = ",\n  ".join(f"{literal_text(key)} = {literal_text(value)}" for key, value in properties.items())
        lines.append(f"TBLPROPERTIES (\n  {pairs})")
    return "\n".join(lines) + "\n"


def simple_type(data_type: DataType) -> str:
    """``decimal(10,2)``, ``varchar(5)``, ``struct<a:char(3)>``: as DESCRIBE shows a type."""
    return type_words(data_type, str, _plain)


def sql_type(data_type: DataType) -> str:
    """``DECIMAL(10,2)``, ``VARCHAR(5)``, ``STRUCT<a: INT NOT NULL>``: as CREATE TABLE has a type."""
    match data_type.root:
        case Root.ARRAY:
            return f"ARRAY<{sql_type(data_type.inner)}>"
        case Root.MAP:
            return f"MAP<{sql_type(data_type.key_type)}, {sql_type(data_type.inner)}>"
        case Root.ROW:
            inner = (
                f"{quoted_if_needed(field.name)}: {sql_type(field.type)}{'' if field.type.nullable else ' NOT NULL'}"
                for field in data_type.fields
            )
            return f"STRUCT<{', '.join(inner)}>"
    return simple_type(data_type).upper()


def _plain(data_type: DataType) -> str:
    try:
        return spark_type(data_type).simpleString()
    except UnsupportedFeature:
        return type_sql(data_type.with_nullable(True)).lower()


def create_view_statement(name: str, view: View) -> str:
    """CREATE VIEW with all clauses, as the official SHOW CREATE TABLE has them."""
    text = f"CREATE VIEW {name} "
    if view.fields:
        columns = (
            quoted_if_needed(f.name) + ("" if f.description is None else f" COMMENT {literal_text(f.description)}")
            for f in view.fields
        )
        text += _lines(columns)
    if view.comment is not None:
        text += f"COMMENT {literal_text(view.comment)}\n"
    if view.options:
        pairs = (f"{literal_text(key)} = {literal_text(value)}" for key, value in sorted(view.options.items()))
        text += f"TBLPROPERTIES {_lines(pairs)}"
    return f"{text}AS\n{view.query_for(SPARK)}\n"


def view_description(name: str, view: View, extended: bool) -> list[tuple[str, str, str | None]]:
    """The rows of DESCRIBE."""
    rows: list[tuple[str, str, str | None]] = [(f.name, simple_type(f.type), f.description) for f in view.fields]
    if extended:
        options = ", ".join(f"{key}={value}" for key, value in sorted(view.options.items()))
        rows += [
            ("", "", ""),
            ("# Detailed View Information", "", ""),
            ("Name", name, ""),
            ("Comment", view.comment or "", ""),
            ("View Text", view.query_for(SPARK), ""),
            ("View Query Output Columns", f"[{', '.join(f.name for f in view.fields)}]", ""),
            ("View Properties", f"[{options}]", ""),
        ]
    return rows


def _lines(items: Iterable[str]) -> str:
    return "(\n  " + ",\n  ".join(items) + ")\n"
