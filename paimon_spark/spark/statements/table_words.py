"""A table in the words of SQL: its properties, and the statement that makes such a table."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.quoting import quoted_if_needed
from paimon_spark.spark.statements.type_words import sql_type
from paimon_spark.sql.text.writing import literal_text
from paimon_spark.store.metadata.table import Table

PATH = "path"


def shown_properties(table: Table) -> Mapping[str, str]:
    """The options that are stored, with the primary key and the path, by their keys."""
    schema = table.schema
    keys = {TableSettings.primary_key.key: ",".join(schema.primary_keys)} if schema.primary_keys else {}
    return dict(sorted({**schema.options, **keys, PATH: table.location}.items()))


def create_statement(name: str, table: Table) -> str:
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
    lines = [f"CREATE TABLE {name} (", "  " + ",\n  ".join(columns) + ")", "USING paimon"]
    if schema.partition_keys:
        lines.append(f"PARTITIONED BY ({', '.join(quoted_if_needed(key) for key in schema.partition_keys)})")
    if schema.comment:
        lines.append(f"COMMENT {literal_text(schema.comment)}")
    if properties:
        pairs = ",\n  ".join(f"{literal_text(key)} = {literal_text(value)}" for key, value in properties.items())
        lines.append(f"TBLPROPERTIES (\n  {pairs})")
    return "\n".join(lines) + "\n"
