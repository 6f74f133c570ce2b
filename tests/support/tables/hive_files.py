"""Tables of Hive with files of their own, as jobs of Hive leave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
from pymetastore.hive_metastore import ttypes

from paimon_spark.arrow.formats.data_file import open_writer
from paimon_spark.arrow.formats.file_access import WriteSettings
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField

COLUMNS = {"id": ("bigint", "BIGINT"), "name": ("string", "STRING")}
SERDES = {
    "parquet": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    "orc": "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    "avro": "org.apache.hadoop.hive.serde2.avro.AvroSerDe",
    "text": "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
}
INPUTS = {
    "parquet": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "orc": "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "avro": "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat",
    "text": "org.apache.hadoop.mapred.TextInputFormat",
}


def write_file(path: Path, file_format: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """A data file without the name of its format, as Hive writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(dict(columns))
    match file_format:
        case "parquet":
            pyarrow.parquet.write_table(table, path)
        case "orc":
            pyarrow.orc.write_table(table, path)
        case "avro":
            fields = [DataField(n, name, parse_type(text)) for n, (name, (_, text)) in enumerate(COLUMNS.items())]
            with path.open("wb") as sink:
                writer = open_writer(sink, "avro", fields, WriteSettings())
                for batch in table.to_batches():
                    writer.write(batch)
                writer.close()


def add_hive_table(
    metastore: Metastore,
    name: Identifier,
    place: Path,
    file_format: str,
    keys: Mapping[str, str] | None = None,
    partitions: Sequence[Sequence[str]] = (),
    parameters: Mapping[str, str] | None = None,
) -> None:
    """Tells the metastore of a table of Hive with the columns COLUMNS.

    Args:
        metastore: that of a catalog.
        name: of the table.
        place: its directory.
        file_format: a key of SERDES.
        keys: its partition columns, with Hive's types.
        partitions: the values of its partitions, which are in ``<key>=<value>/...``.
        parameters: of the table.
    """
    sd = _storage(f"file:{place}", file_format)
    metastore.create_table(
        ttypes.Table(
            tableName=name.table,
            dbName=name.database,
            owner="hive",
            sd=sd,
            partitionKeys=[ttypes.FieldSchema(name=key, type=kind) for key, kind in (keys or {}).items()],
            parameters=dict(parameters or {}),
            tableType="MANAGED_TABLE",
        )
    )
    made = []
    for values in partitions:
        path = "/".join(f"{key}={value}" for key, value in zip(keys or {}, values, strict=True))
        common = {"dbName": name.database, "tableName": name.table, "parameters": {}}
        made.append(ttypes.Partition(values=list(values), sd=_storage(f"file:{place}/{path}", file_format), **common))
    metastore.add_partitions(name, made)


def _storage(location: str, file_format: str) -> Any:
    return ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema(name=column, type=kind) for column, (kind, _) in COLUMNS.items()],
        location=location,
        inputFormat=INPUTS[file_format],
        outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        serdeInfo=ttypes.SerDeInfo(serializationLib=SERDES[file_format], parameters={}),
    )
