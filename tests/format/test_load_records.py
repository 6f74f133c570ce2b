"""Records of COPY INTO: those of the official connector are read, and ours have its form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.errors import CorruptFile
from paimon_spark.format.load_history import (
    LoadRecord,
    PendingLoad,
    SourceFile,
    decode_pending,
    decode_record,
    encode_pending,
    encode_record,
    record_name,
)

# Written by paimon-spark-4.1_2.13-2.0.0 for COPY INTO of /tmp/copygen/in/bad with ON_ERROR = CONTINUE.
GENUINE = {
    "load-e288274e6c5711cb-1795367880872": b"""{
  "filePath" : "file:/tmp/copygen/in/bad/good.csv",
  "fileSize" : 20,
  "lastModified" : 1795367741703,
  "loadedAt" : 1795367880872,
  "snapshotId" : 1,
  "rowsLoaded" : 2
}""",
    "load-fec4f85f3526f3ea-1795367880872": b"""{
  "filePath" : "file:/tmp/copygen/in/bad/mixed.csv",
  "fileSize" : 66,
  "lastModified" : 1795367741703,
  "loadedAt" : 1795367880872,
  "snapshotId" : 1,
  "rowsLoaded" : 2
}""",
}
LONGS = st.integers(0, 2**63 - 1)
FILES = st.builds(SourceFile, st.text(st.characters(exclude_categories=["Cs"])), LONGS, LONGS)


@pytest.mark.parametrize("name", GENUINE)
def test_genuine_records(name: str) -> None:
    record = decode_record(GENUINE[name], name)
    assert record.file.path.startswith("file:/tmp/copygen/in/bad/")
    assert (record_name(record), encode_record(record)) == (name, GENUINE[name])


@given(st.builds(LoadRecord, FILES, LONGS, LONGS, LONGS))
def test_records_are_read_as_written(record: LoadRecord) -> None:
    assert decode_record(encode_record(record), "x") == record


@given(st.dictionaries(FILES, LONGS), st.text("abc-_"), LONGS)
def test_pending_loads_are_read_as_written(rows: dict[SourceFile, int], word: str, number: int) -> None:
    pending = PendingLoad("pending-1", word, "main", number, number, rows)
    assert decode_pending(encode_pending(pending), "pending-1", "x") == pending


@pytest.mark.parametrize("data", [b"", b"[]", b'{"filePath" : "x"}', b'{"filePath" : 1, "fileSize" : 1}'])
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptFile, match="here"):
        decode_record(data, "here")
    with pytest.raises(CorruptFile, match="here"):
        decode_pending(data, "pending-1", "here")


def test_files_of_a_pending_load_are_objects() -> None:
    text = b'{"files" : [ 1 ], "userPrefix" : "x", "branch" : "main", "latestSnapshot" : 1, "startedAt" : 1}'
    with pytest.raises(CorruptFile, match="an array of objects"):
        decode_pending(text, "pending-1", "here")
