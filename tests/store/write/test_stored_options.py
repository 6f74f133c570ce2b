"""A value of an option that would stop every write is refused where the table is made, not by its writes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.staging import put

from paimon_spark.arrow.formats import orc_writer, parquet_writer
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import PaimonError, UnsupportedFeature
from paimon_spark.format.avro import container
from paimon_spark.format.options.catalogue import CATALOGUE, Status
from paimon_spark.format.rules.new_tables import CODECS, NOT_WRITTEN
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("id", pa.int32()), ("dt", pa.string()), ("v", pa.int64())])
KEY = ("id", "dt")
TABLES: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "append": ((), {}, ""),
    "keyed": (KEY, {"bucket": "2", "changelog-producer": "input", "merge-engine": "aggregation"}, ""),
    "dynamic": (KEY, {}, "dynamic-bucket."),
    "postponed": (KEY, {"bucket": "-2"}, "postpone."),
}
WRONG = ("nonsense", "0", "0:nonsense", "99999999999")
OF_READS = ("scan.", "incremental-", "read.stream.", "type", "consumer", "table-read.")


@pytest.mark.parametrize("kind", TABLES)
def test_what_a_table_may_store_lets_writes_through(kind: str, tmp_path: Path) -> None:
    keys, options, prefix = TABLES[kind]
    honoured = [key for key, entry in CATALOGUE.items() if entry.status is Status.HONOURED]
    names = [key.replace("<column>", "v").replace("<type>", "bitmap").replace("<x>", "version") for key in honoured]
    refused = 0
    for number, key in enumerate(name for name in names if name.startswith(prefix) and not name.startswith(OF_READS)):
        for value in WRONG:
            place = str(tmp_path / f"{number}-{WRONG.index(value)}")
            try:
                create_table(place, new_schema(COLUMNS, keys, ("dt",), {**options, key: value}))
            except PaimonError:
                refused += 1
                continue
            try:
                put(open_table(place), [(1, "2024-01-01", 1)])
            except UnsupportedFeature:  # this release cannot write it; the official system may
                continue
            except Exception as error:
                raise AssertionError(f"'{key}' = '{value}' is stored, and writes fail") from error
            assert open_table(place).scan().count() == 1
    assert refused > 10


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"file.compression": "zstdd"}, "zstd, none, uncompressed, snappy"),
        ({"file.compression": "gzip", "file.format": "avro"}, "zstandard, none, null"),
        ({"file.compression.per.level": "5:zlib"}, "'file.compression.per.level' is 'zlib'"),
        ({"changelog-producer": "input", "changelog-file.compression": "x"}, "'changelog-file.compression' is 'x'"),
        ({"changelog-file.stats-mode": "some"}, "none, counts, full or truncate"),
        ({"metadata.stats-mode.per.level": "0:some"}, "none, counts, full or truncate"),
        ({"manifest.compression": "lz4"}, "zstd, zstandard, none"),
        ({"file.format": "parkett"}, "parquet, orc, avro"),
    ],
)
def test_the_refusal_names_what_is_accepted(options: dict[str, str], named: str, tmp_path: Path) -> None:
    with pytest.raises(PaimonError) as refused:
        create_table(str(tmp_path), new_schema(COLUMNS, KEY, ("dt",), {"bucket": "2", **options}))
    assert named in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options", [{"file.format": "avro", "file.compression": "SNAPPY"}, {"file.compression": "lzo"}]
)
def test_what_the_official_system_accepts_may_be_stored(options: dict[str, str], tmp_path: Path) -> None:
    create_table(str(tmp_path), new_schema(COLUMNS, (), (), options))


def test_a_wrong_value_of_another_writer_still_reads(tmp_path: Path) -> None:
    create_table(str(tmp_path), new_schema(COLUMNS, (), (), {"file.compression": "snappy"}))
    put(open_table(str(tmp_path)), [(1, "a", 1)])
    first = tmp_path / "schema" / "schema-0"
    first.write_text(first.read_text().replace("snappy", "nonsense"))
    assert open_table(str(tmp_path)).scan().count() == 1
    with pytest.raises(PaimonError, match="nonsense"):
        put(open_table(str(tmp_path)), [(2, "a", 1)])


@pytest.mark.parametrize(
    ("file_format", "ours"),
    [("parquet", parquet_writer._CODECS), ("orc", orc_writer._CODECS), ("avro", container._CODECS)],
)
def test_every_compression_of_the_writers_may_be_stored(file_format: str, ours: dict[str, str]) -> None:
    assert set(CODECS[file_format]) - set(ours) == set(NOT_WRITTEN.get(file_format, ()))
    assert set(ours) <= set(CODECS[file_format])
