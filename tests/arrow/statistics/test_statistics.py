"""Statistics of data files: modes, cutting by characters and bytes, dense and full rows, as manifests have them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.draws.typed_batches import TEXTS
from support.tables.golden_tables import GoldenTable

from paimon_spark.arrow.formats.data_file import WriteSettings, open_reader, open_writer
from paimon_spark.arrow.statistics.column_stats import ColumnStats, StatsCollector
from paimon_spark.arrow.statistics.manifest_stats import (
    COUNTS,
    FULL,
    KEY_MODE,
    NONE,
    StatsMode,
    changelog_stats_mode,
    cut,
    data_stats_mode,
    file_stats,
    stats_modes,
)
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.errors import OptionError
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifests.codec import decode_manifest
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import decode_schema
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

INT = DataType(Root.INT, nullable=False)
STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)


def truncate(length: int) -> StatsMode:
    return StatsMode(counts=True, bounds=True, length=length)


def test_modes_of_options() -> None:
    settings = TableSettings(
        {
            "metadata.stats-mode": "Counts",
            "metadata.stats-mode.per.level": "0:none,5:full",
            "fields.a.stats-mode": "truncate(4)",
            "fields._KEY_k.stats-mode": "FULL",
        }
    )
    names = ["_KEY_k", "_KEY_j", "_SEQUENCE_NUMBER", "_VALUE_KIND", "a", "b", "j"]
    system = (FULL, KEY_MODE, KEY_MODE, KEY_MODE)
    assert [data_stats_mode(settings, level) for level in (0, 1, 5)] == [NONE, COUNTS, FULL]
    assert [data_stats_mode(settings, level, otherwise=truncate(2)) for level in (0, 1)] == [NONE, truncate(2)]
    assert stats_modes(names, settings, COUNTS) == (*system, truncate(4), COUNTS, COUNTS)
    assert stats_modes(names, settings, FULL, keys=["j"]) == (*system, truncate(4), FULL, KEY_MODE)
    assert data_stats_mode(TableSettings(), 0) == truncate(16)
    assert changelog_stats_mode(settings) is None
    assert changelog_stats_mode(TableSettings({"changelog-file.stats-mode": "counts"})) == COUNTS


def test_only_the_first_columns_are_kept() -> None:
    """System columns do not count; a column with a mode of its own does, and keeps it."""
    settings = TableSettings({"metadata.stats-keep-first-n-columns": "2", "fields.c.stats-mode": "full"})
    modes = stats_modes(["_KEY_a", "_SEQUENCE_NUMBER", "a", "b", "c", "d"], settings, truncate(16))
    assert modes == (KEY_MODE, KEY_MODE, truncate(16), truncate(16), FULL, NONE)
    assert stats_modes(["a"], TableSettings({"metadata.stats-keep-first-n-columns": "0"}), FULL) == (NONE,)


@pytest.mark.parametrize("text", ["most", "truncate(0)", "truncate", "truncate(x)"])
def test_a_mode_that_does_not_exist_names_the_option(text: str) -> None:
    for key, modes in (
        ("metadata.stats-mode", lambda options: data_stats_mode(options, 0)),
        ("changelog-file.stats-mode", changelog_stats_mode),
        ("fields.a.stats-mode", lambda options: stats_modes(["a"], options, FULL)),
    ):
        with pytest.raises(OptionError, match=rf"{re.escape(key)}.*{re.escape(text)}"):
            modes(TableSettings({key: text}))


@pytest.mark.parametrize(
    ("low", "high", "length", "expected"),
    [
        ("abcdef", "abcdef", 4, ("abcd", "abce")),
        ("zzz\u00e9zzzz", "zzz\u00e9zzzz", 4, ("zzz\u00e9", "zzz\u00ea")),  # format section 6
        ("abcd", "abcd", 4, ("abcd", "abcd")),
        ("a", "ab\U0010ffff\U0010ffffx", 4, ("a", "ac")),
        ("a", "\U0010ffff\U0010ffff", 1, (None, None)),
        ("a", "b\ud7ffx", 2, ("a", "b\ue000")),  # the next character is no character
        ("a", "😀😀😀", 2, ("a", "😀😁")),
        (b"abc", b"a\xffc", 2, (b"ab", b"b")),
        (b"", b"\xff\xff\xff", 2, (None, None)),
        (b"ab", b"ab", 2, (b"ab", b"ab")),
        (1, 2**40, 1, (1, 2**40)),
        (None, None, 4, (None, None)),
    ],
)
def test_cut_bounds(low: Any, high: Any, length: int, expected: tuple[Any, Any]) -> None:
    assert cut(ColumnStats(low, high, 3), truncate(length)) == ColumnStats(*expected, 3)


@given(st.lists(TEXTS, min_size=1), st.integers(1, 6))
def test_cut_bounds_still_hold(texts: list[str], length: int) -> None:
    found = cut(ColumnStats(min(texts), max(texts), 0), truncate(length))
    if found.minimum is None:
        assert "\U0010ffff" in max(texts)
        return
    assert found.minimum <= min(texts)
    assert max(texts) <= found.maximum
    assert max(len(found.minimum), len(found.maximum)) <= length
    found.maximum.encode()
    raw = [text.encode() for text in texts]
    bytes_found = cut(ColumnStats(min(raw), max(raw), 0), truncate(length))
    assert bytes_found.maximum is None or bytes_found.minimum <= min(raw) <= max(raw) <= bytes_found.maximum


def test_modes_decide_what_is_kept() -> None:
    stats = ColumnStats("a", "b", 2)
    assert cut(stats, NONE) == ColumnStats()
    assert cut(stats, COUNTS) == ColumnStats(None, None, 2)
    assert cut(stats, FULL) == stats
    assert cut(ColumnStats(None, "b", 2), FULL) == ColumnStats(None, None, 2)


FIELDS = (DataField(0, "k", INT), DataField(1, "s", STRING), DataField(2, "a", DataType(Root.ARRAY, element=INT)))
FOUND = {"k": ColumnStats(1, 9, 0), "s": ColumnStats("a", "b", 5)}


def test_full_rows_have_every_column() -> None:
    stats, covered = file_stats(FIELDS, (FULL, NONE, FULL), FOUND, dense=False)
    assert covered is None
    assert decode_arity_row(stats.min_values, [f.type for f in FIELDS]) == (1, None, None)
    assert decode_arity_row(stats.max_values, [f.type for f in FIELDS]) == (9, None, None)
    assert stats.null_counts == (0, None, None)


def test_dense_rows_leave_out_what_is_not_known() -> None:
    stats, covered = file_stats(FIELDS, (FULL, COUNTS, FULL), FOUND, dense=True)
    assert covered == ("k", "s")
    assert decode_arity_row(stats.min_values, [INT, STRING]) == (1, None)
    assert decode_arity_row(stats.max_values, [INT, STRING]) == (9, None)
    assert stats.null_counts == (0, 5)
    assert file_stats(FIELDS[:2], (FULL, FULL), FOUND, dense=True)[1] is None
    assert file_stats(FIELDS, (NONE, NONE, NONE), FOUND, dense=True)[1] == ()


@pytest.mark.parametrize("table", [GoldenTable(w, "stats_modes") for w in ("java-0.9", "java-2.1")], ids=str)
def test_the_same_statistics_as_java(table: GoldenTable, tmp_path: Path) -> None:
    """The rows of a genuine file written again have the statistics that its manifest has."""
    root = table.unpack(tmp_path)
    schema = decode_schema((root / "schema" / "schema-0").read_bytes(), "schema-0")
    manifests = [p for p in (root / "manifest").iterdir() if re.match(r"manifest-[0-9a-f]{8}-", p.name)]
    ((entry,),) = [decode_manifest(path.read_bytes(), str(path)) for path in manifests]
    (path,) = root.glob(f"bucket-*/{entry.file.file_name}")
    reader = open_reader(pa.OSFile(str(path)), "parquet", str(path))
    for file_format in ("parquet", "orc", "avro"):
        writer = open_writer(pa.BufferOutputStream(), file_format, schema.fields, WriteSettings())
        for _, batch in reader.read(schema.fields, 2):
            writer.write(batch)
        writer.close()
        dense = table.writer != "java-0.9"
        settings = TableSettings(schema.options)
        modes = stats_modes(schema.names, settings, data_stats_mode(settings, 0))
        assert file_stats(schema.fields, modes, writer.stats(), dense) == (
            entry.file.value_stats,
            entry.file.value_stats_cols,
        )


def collected(t: DataType, *batches: list[Any]) -> ColumnStats:
    fields = (DataField(0, "c", t),)
    collector = StatsCollector(fields)
    for values in batches:
        collector.add(pa.RecordBatch.from_arrays([from_internal(values, t)], schema=arrow_schema(fields)))
    return collector.result()["c"]


def test_collected_bounds() -> None:
    double = DataType(Root.DOUBLE)
    nan = float("nan")
    assert collected(double, [1.0, None], [], [None], [-2.0]) == ColumnStats(-2.0, 1.0, 2)
    assert collected(double, [1.0], [nan, 2.0], [3.0]) == ColumnStats(None, None, 0)
    zero = collected(double, [0.0], [0.0])
    assert (str(zero.minimum), str(zero.maximum)) == ("-0.0", "0.0")
    assert collected(STRING, ["é", "z"], ["ba\0", "ba"]) == ColumnStats("ba", "é", 0)  # by UTF-8 bytes
    assert collected(DataType(Root.TIMESTAMP, precision=0), [10**9, -(10**9)]) == ColumnStats(-(10**9), 10**9, 0)
    assert collected(INT.with_nullable(True), [None, None]) == ColumnStats(None, None, 2)
