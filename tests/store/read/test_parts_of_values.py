"""What is read of files for parts of VARIANT values: bytes that a read should not need are destroyed in the files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.variant_utils import VariantUtils
from support.oracles.checker import check_table

from paimon_spark import create_table, open_table
from paimon_spark.arrow.types import VARIANT
from paimon_spark.errors import CorruptFile, UnsupportedFeature

ROWS = 4000
SCHEMA = pa.schema([("id", pa.int32()), ("v", VARIANT)])
GROUPS = {"variant.inferShreddingSchema": "true", "file.block-size": "20 kb"}


def rows(count: int = ROWS, odd: Mapping[int, Any] | None = None) -> pa.Table:
    """Objects with an ascending number; odd: other values of it, by row."""
    values = ({"n": (odd or {}).get(k, k), "o": {"t": f"t{k:05}"}, "text": "x"} for k in range(count))
    pairs = (VariantUtils.parse_json(json.dumps(value)) for value in values)
    column = [{"value": value, "metadata": metadata} for value, metadata in pairs]
    table = pa.table({"id": pa.array(range(count), pa.int32()), "v": pa.array(column, VARIANT)})
    return pa.concat_tables([table.slice(first, 500) for first in range(0, count, 500)])


def table_of(path: Path, written: pa.Table, options: Mapping[str, str] = GROUPS, keys: Sequence[str] = ()) -> str:
    create_table(str(path), SCHEMA, options=dict(options), primary_keys=list(keys))
    open_table(str(path)).append(written)
    check_table(str(path))
    return str(path)


def destroy(path: str, leaf: str, groups: slice) -> int:
    """Overwrites the pages of a leaf column in some row groups; returns how many row groups there are."""
    (file,) = Path(path).rglob("data-*.parquet")
    metadata = pq.ParquetFile(file).metadata
    data = bytearray(file.read_bytes())
    for number in range(metadata.num_row_groups)[groups]:
        group = metadata.row_group(number)
        chunks = [group.column(i) for i in range(group.num_columns)]
        (chunk,) = [found for found in chunks if found.path_in_schema == leaf]
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        data[start : start + chunk.total_compressed_size] = b"\xee" * chunk.total_compressed_size
    file.write_bytes(data)
    return int(metadata.num_row_groups)


def test_only_columns_of_the_path_are_read(tmp_path: Path) -> None:
    path = table_of(tmp_path / "t", rows())
    destroy(path, "v.typed_value.o.typed_value.t.typed_value", slice(None))
    destroy(path, "v.value", slice(None))
    found = open_table(path).scan(["v:n::INT AS n"], "v:n::int < 5").to_arrow()
    assert found["n"].to_pylist() == list(range(5))
    with pytest.raises(CorruptFile):
        open_table(path).scan(["v:o.t::STRING"]).to_arrow()
    with pytest.raises(CorruptFile):
        open_table(path).scan(["v"]).to_arrow()


@pytest.mark.parametrize(
    "condition",
    ["v:n::bigint >= 3999", "variant_get(v, '$.n', 'smallint') > 3998", "v:o.t::string = 't03999'",
     "v:n::decimal(9, 2) >= 3999.00", "v:n::int = 3999 AND v:text::string = 'x'", "v:n::int IN (-1, 3999, 9000)"],
)  # fmt: skip
def test_row_groups_are_skipped(condition: str, tmp_path: Path) -> None:
    path = table_of(tmp_path / "t", rows())
    assert destroy(path, "v.typed_value.n.typed_value", slice(0, -1)) > 3
    destroy(path, "v.typed_value.o.typed_value.t.typed_value", slice(0, -1))
    assert open_table(path).scan(["id"], condition).to_arrow()["id"].to_pylist() == [3999]
    with pytest.raises(CorruptFile):
        open_table(path).scan(["id"], "v:n::int = 3").to_arrow()


@pytest.mark.parametrize(
    ("odd", "condition"),
    [
        ({5: 1e300}, "try_variant_get(v, '$.n', 'double') = 1e300"),
        ({5: True}, "try_variant_get(v, '$.n', 'int') = 1 AND id > 1"),
        ({5: None}, "v:n::int IS NULL"),
    ],
)
def test_values_beside_the_typed_column_are_met(odd: Mapping[int, Any], condition: str, tmp_path: Path) -> None:
    """They are in ``value``, of which the bounds of the typed column say nothing."""
    path = table_of(tmp_path / "t", rows(100))
    more = rows(100, odd).slice(0, 100)
    table = open_table(path, {"variant.shreddingSchema": json.dumps(SHAPE)})
    table.overwrite(more)
    assert open_table(path).scan(["id"], condition).to_arrow()["id"].to_pylist() == [5]


SHAPE = {
    "type": "ROW",
    "fields": [{"name": "v", "type": {"type": "ROW", "fields": [{"name": "n", "type": "BIGINT"}]}}],
}


def test_nulls_of_json_beside_numbers_skip_too(tmp_path: Path) -> None:
    path = table_of(tmp_path / "t", rows(odd=dict.fromkeys(range(0, ROWS, 7))))
    destroy(path, "v.typed_value.n.typed_value", slice(0, -1))
    assert open_table(path).scan(["id"], "v:n::int >= 3998").to_arrow()["id"].to_pylist() == [3998, 3999]


def test_files_that_are_not_shredded(tmp_path: Path) -> None:
    path = table_of(tmp_path / "t", rows(50), {})
    found = open_table(path).scan(["v:o.t::STRING AS t"], "v:n::int = 7").to_arrow()
    assert found["t"].to_pylist() == ["t00007"]


def test_changes_of_parts_are_refused(tmp_path: Path) -> None:
    path = table_of(tmp_path / "t", rows(5), {"bucket": "1"}, ["id"])
    open_table(path).append(rows(5, {1: 9}))
    change = {"incremental-between": "1,2", "incremental-between-scan-mode": "diff"}
    with pytest.raises(UnsupportedFeature, match="read of states"):
        open_table(path, change).scan(["v:n::INT"]).to_arrow()
