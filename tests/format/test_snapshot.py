"""Snapshot and tag files: genuine ones byte for byte, every field, nulls, unknown keys, damage."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from support.draws.format_values import damaged, decoded_or_named_error
from support.draws.golden_metadata import GoldenFile, golden_files

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.snapshot import Snapshot, Tag, decode_snapshot, decode_tag, encode_snapshot, encode_tag

FULL = Snapshot(
    id=7,
    schema_id=1,
    base_manifest_list="b",
    delta_manifest_list="d",
    commit_user='us"er',
    commit_identifier=2**63 - 1,
    commit_kind="OVERWRITE",
    time_millis=1795198457760,
    total_record_count=30,
    delta_record_count=-3,
    uuid="u",
    base_manifest_list_size=1,
    delta_manifest_list_size=2,
    changelog_manifest_list="c",
    changelog_manifest_list_size=3,
    index_manifest="i",
    changelog_record_count=4,
    watermark=-5,
    statistics="stat-0",
    properties={"a": "ä"},
    next_row_id=9,
    operation="MERGE",
    writer_version="2.1",
    unknown={"later": [1, {"x": None}]},
)
MINIMAL = Snapshot(1, 0, "b", "d", "user", 1, "APPEND", 5, 0, 0)
NEEDED = (
    "version", "id", "schemaId", "baseManifestList", "deltaManifestList", "commitUser", "commitIdentifier",
    "commitKind", "timeMillis", "totalRecordCount", "deltaRecordCount",
)  # fmt: skip


@pytest.mark.parametrize("millis", [10**18, -(10**18), 253402300800000])
def test_a_time_beyond_all_years_is_damage(millis: int) -> None:
    for data, decode in (
        (changed(MINIMAL, timeMillis=millis), decode_snapshot),
        (changed(FULL, timeMillis=millis), decode_tag),
    ):
        with pytest.raises(CorruptFile, match=f"its time, timeMillis = {millis}, is beyond the years 1 to 9999"):
            decode(data, "x")
    assert decode_snapshot(changed(MINIMAL, timeMillis=253402300799000), "x").time_millis == 253402300799000


def changed(snapshot: Snapshot, **changes: Any) -> bytes:
    return json.dumps({**json.loads(encode_snapshot(snapshot)), **changes}).encode()


@pytest.mark.parametrize("file", golden_files("snapshot", "java-2.1"), ids=str)
def test_genuine_snapshots_are_written_back_byte_for_byte(file: GoldenFile) -> None:
    assert encode_snapshot(decode_snapshot(file.data, str(file))) == file.data


@pytest.mark.parametrize("file", golden_files("tag", "java-2.1"), ids=str)
def test_genuine_tags_are_written_back_byte_for_byte(file: GoldenFile) -> None:
    assert encode_tag(decode_tag(file.data, str(file))) == file.data


def test_snapshots_of_all_writers_decode_and_survive() -> None:
    files = golden_files("snapshot")
    assert len({file.writer for file in files}) == 6
    for file in files:
        snapshot = decode_snapshot(file.data, str(file))
        assert decode_snapshot(encode_snapshot(snapshot), str(file)) == snapshot
        assert str(snapshot.id) == file.path.name.removeprefix("snapshot-")


def test_every_field_survives() -> None:
    assert all(getattr(FULL, f.name) not in (None, 0, "", {}) for f in fields(Snapshot))
    assert decode_snapshot(encode_snapshot(FULL), "s") == FULL
    assert decode_snapshot(encode_snapshot(MINIMAL), "s") == MINIMAL


def test_what_is_none_is_not_written() -> None:
    assert tuple(json.loads(encode_snapshot(MINIMAL))) == NEEDED


def test_an_explicit_null_is_absent() -> None:
    optional = set(json.loads(encode_snapshot(FULL))) - set(NEEDED)
    data = changed(MINIMAL, **dict.fromkeys(optional - {"later"}))
    assert decode_snapshot(data, "s") == MINIMAL


def test_the_smallest_long_is_no_watermark() -> None:
    assert decode_snapshot(changed(FULL, watermark=-(2**63)), "s") == replace(FULL, watermark=None)


@pytest.mark.parametrize("key", NEEDED)
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(CorruptFile, match=f"snapshot-7.*'{key}'"):
        decode_snapshot(changed(FULL, **{key: None}), "snapshot-7")


@pytest.mark.parametrize("value", ["1", 1.5, True, [], 2**63])
def test_a_wrong_kind_of_value_is_named(value: Any) -> None:
    with pytest.raises(CorruptFile, match=r"snapshot-7.*'timeMillis'"):
        decode_snapshot(changed(FULL, timeMillis=value), "snapshot-7")


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match=r"snapshot-7.*version 4"):
        decode_snapshot(changed(FULL, version=4), "snapshot-7")


def test_damage_is_an_error_that_names_the_file_or_a_snapshot_that_can_be_written() -> None:
    for data in damaged(encode_snapshot(FULL)):
        snapshot = decoded_or_named_error(decode_snapshot, data)
        assert snapshot is None or decode_snapshot(encode_snapshot(snapshot), "again") == snapshot


# --------------------------------------------------------------------------------------------------------------- tags

NOON = int(datetime(2026, 11, 20, 12, 0, tzinfo=UTC).timestamp()) * 10**9
DAY = 86_400 * 10**9


@pytest.mark.parametrize(
    ("json_value", "nanos"),
    [
        ([2026, 11, 20, 12, 0], NOON),
        ([2026, 11, 20, 12, 0, 1], NOON + 10**9),
        ([2026, 11, 20, 12, 0, 1, 574148094], NOON + 1_574_148_094),
        ([2026, 11, 20, 12, 0, 0, 5], NOON + 5),
        ("2026-11-20T12:00", NOON),
        ("2026-11-20T12:00:01.5", NOON + 1_500_000_000),
    ],
)
def test_creation_times_as_jackson_writes_them(json_value: Any, nanos: int) -> None:
    tag = decode_tag(changed(MINIMAL, tagCreateTime=json_value), "t")
    assert tag == Tag(MINIMAL, nanos, None)
    if isinstance(json_value, list):
        assert json.loads(encode_tag(tag))["tagCreateTime"] == json_value


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("86400.000000000", DAY),
        ("86400", DAY),
        ("0.000000001", 1),
        ('"PT24H"', DAY),
        ('"P1DT1H2M3.5S"', DAY + 3_723_500_000_000),
    ],
)
def test_retentions_as_jackson_writes_them(text: str, nanos: int) -> None:
    data = changed(MINIMAL, tagTimeRetained=0).replace(b'"tagTimeRetained": 0', f'"tagTimeRetained": {text}'.encode())
    tag = decode_tag(data, "t")
    assert tag == Tag(MINIMAL, None, nanos)
    assert decode_tag(encode_tag(tag), "t") == tag


def test_a_retention_is_written_as_decimal_seconds() -> None:
    assert b'"tagTimeRetained" : 86400.000000000' in encode_tag(Tag(MINIMAL, None, DAY))


@pytest.mark.parametrize(
    "changes",
    [
        {"tagCreateTime": [2026, 13, 1, 0, 0]}, {"tagCreateTime": [2026]}, {"tagCreateTime": "soon"},
        {"tagCreateTime": 5}, {"tagTimeRetained": "a day"}, {"tagTimeRetained": []}, {"tagTimeRetained": True},
    ],
)  # fmt: skip
def test_bad_times_of_tags_name_the_file(changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile, match="tag-t"):
        decode_tag(changed(MINIMAL, **changes), "tag-t")
