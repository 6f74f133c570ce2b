"""Lists of packs of BLOB columns of tables with a primary key."""

from __future__ import annotations

import pytest

from paimon_spark.errors import CorruptFile
from paimon_spark.format.managed_blobs import Pack, decode_packs, encode_packs, pack_of


def test_a_list_is_read_back() -> None:
    packs = {Pack("file:/t/b", "data-1.managed.blob"), Pack("file:/t/a", "\U0001f600\0.managed.blob")}
    data = encode_packs([*packs, *packs])
    assert data[:9].hex() == "50424c520100000002"
    assert set(decode_packs(data, "l")) == packs
    assert decode_packs(encode_packs([]), "l") == ()


def test_the_packs_of_references() -> None:
    assert pack_of("/t/data-1.parquet") is None
    assert pack_of("file:///t/data-1.managed.blob") == Pack("file:/t", "data-1.managed.blob")
    assert pack_of("s3://b/t/data-1.managed.blob") == Pack("s3://b/t", "data-1.managed.blob")


@pytest.mark.parametrize("at", range(48))
def test_a_damaged_list_is_refused(at: int) -> None:
    data = bytearray(encode_packs([Pack("/t", "data-1.managed.blob")]))
    for broken in (data[:at], data[:at] + bytes([data[at % len(data)] ^ 1]) + data[at + 1 :], data + b"\0" * (at + 1)):
        if bytes(broken) != bytes(data):
            with pytest.raises(CorruptFile, match="list of packs"):
                decode_packs(bytes(broken), "l")
