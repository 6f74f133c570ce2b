"""The options of file indexes, as the official system reads them (Java: FileIndexOptions)."""

from __future__ import annotations

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.format.file_index.settings import IndexSetting, check_indexes, index_settings
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root

MAP = DataType(Root.MAP, key=parse_type("STRING"), element=parse_type("INT"))
FIELDS = {
    field.name: field
    for field in (
        DataField(0, "id", parse_type("INT")),
        DataField(1, "name", parse_type("STRING")),
        DataField(2, "m", MAP),
        DataField(3, "n", DataType(Root.MAP, key=parse_type("INT"), element=parse_type("INT"))),
        DataField(4, "flag", parse_type("BOOLEAN")),
    )
}


def test_columns_and_their_options() -> None:
    found = index_settings(
        {
            "file-index.bloom-filter.columns": "id, name",
            "file-index.bloom-filter.name.fpp": "0.01",
            "file-index.bitmap.columns": "id",
            "file-index.bitmap.id.index-block-size": "1 kb",
            "file-index.range-bitmap.columns": "",
            "file-index.in-manifest-threshold": "1 b",
            "file-index.read.enabled": "true",
            "bucket": "1",
        }
    )
    assert found == (
        IndexSetting("bloom-filter", "id", None, (("items", 1_000_000), ("fpp", 0.1))),
        IndexSetting("bloom-filter", "name", None, (("items", 1_000_000), ("fpp", 0.01))),
        IndexSetting("bitmap", "id", None, (("version", 2), ("index-block-size", 1024))),
    )
    check_indexes(found, FIELDS)


def test_an_option_of_a_map_is_of_all_its_keys_and_one_of_a_key_goes_before() -> None:
    found = index_settings(
        {
            "file-index.bloom-filter.m[b].items": "7",
            "file-index.bloom-filter.m.items": "5",
            "file-index.bloom-filter.columns": "m[a],m[b]",
        }
    )
    assert [(setting.name, setting.value("items")) for setting in found] == [("m[a]", 5), ("m[b]", 7)]
    check_indexes(found, FIELDS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"file-index.tree.columns": "id"}, "the kind 'tree', which this release cannot make; there are bloom-filter"),
        ({"file-index.bitmap.columns": "id,,name"}, "names an empty column"),
        ({"file-index.bitmap.id.version": "1"}, r"name 'id' in 'file-index\.bitmap\.columns'"),
        ({"file-index.bitmap.columns": "id", "file-index.bitmap.id.items": "1"}, "it has version, index-block-size"),
        ({"file-index.bitmap.columns": "id", "file-index.bitmap.id.version": "3"}, "expected a version from 1 to 2"),
        ({"file-index.bsi.columns": "id", "file-index.bsi.id.x": "3"}, "no options of columns"),
        ({"file-index.bsi.columns": "no"}, "names 'no', which is not a column; the columns are id, name"),
        ({"file-index.bsi.columns": "id[k]"}, "names a key of 'id', which is INT"),
        ({"file-index.bsi.columns": "n[k]"}, "names a key of 'n', which is MAP: only maps with texts as keys"),
        ({"file-index.bsi.columns": "name"}, "a bsi index cannot hold values of type VARCHAR"),
        ({"file-index.bitmap.columns": "m"}, "a bitmap index cannot hold values of type MAP"),
        ({"file-index.bloom-filter.columns": "flag"}, "a bloom-filter index cannot hold values of type BOOLEAN"),
        ({"file-index.bloom-filter.columns": "id", "file-index.bloom-filter.id.items": "0"}, "items = 0"),
        ({"file-index.bloom-filter.columns": "id", "file-index.bloom-filter.id.fpp": "1.5"}, r"fpp = 1\.5"),
        (
            {"file-index.bloom-filter.columns": "id", "file-index.bloom-filter.id.items": "2000000000"},
            "at most 268435454 bytes",
        ),
    ],
)
def test_what_no_index_can_be_made_of_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        check_indexes(index_settings(options), FIELDS)
