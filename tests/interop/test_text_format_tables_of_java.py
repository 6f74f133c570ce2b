"""Format tables of csv, json and text: what Java 2.0.0 writes, and what it reads in files of others, is read here."""

from __future__ import annotations

import bz2
import gzip
import json
import random
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from genuine import Genuine
from java_object_tables import make_format_table, write_by_java
from java_rest import rows_by_java
from java_rest_server import JavaRestServer

from paimon_spark import open_catalog
from paimon_spark.arrow.types import to_internal
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import CorruptFile, OptionError, PaimonError, UnsupportedFeature
from paimon_spark.store.file_tables.format_table import FormatTable

NO_OPTIONS: Mapping[str, str] = {}
pytestmark = pytest.mark.interop
COLUMNS = {
    "id": "BIGINT",
    "name": "STRING",
    "price": "DECIMAL(10, 2)",
    "at": "TIMESTAMP(6)",
    "instant": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "day": "DATE",
    "ok": "BOOLEAN",
    "bytes": "BYTES",
    "ratio": "DOUBLE",
    "small": "FLOAT",
    "part": "STRING",
    "number": "INT",
}
ROWS = [
    (1, "ann", Decimal("1.50"), 1_700_000_000_123_456_000, 10**18, 20_000, True, b"\x00\xff", 1.5, 0.1, "a/b %=", 1),
    (2, None, None, None, None, None, None, None, None, None, "ä", 2),
    (3, "", Decimal("-7.25"), 0, 0, -1, False, b"", 1e300, -0.0, "a/b %=", 2),
    (4, 'say "hi", \\ and ä😀\t', Decimal("0.00"), 10**9, 10**9, 0, True, b"abc", float("nan"), 1e-40, None, None),
    (5, " x ", Decimal("0.01"), -1_000, -1_000_000, 1, True, b"a", float("-inf"), 1e10, "ä", 2),
]
TEXTS = [
    "1", "-1", "+1", "-0", "007", "1.0", " 1", "1 ", "abc", "127", "128", "-128", "-129", "32767", "32768",
    "2147483647", "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "1" * 40, "٣", "\uff11", "1e2", "+", "-", "--1", "1-", "1_0", "true", "TRUE", "tRuE", "yes", "t", "NaN", "+NaN",
    "-NaN", "nan", "Infinity", "-Infinity", "+Infinity", "inf", "1.5f", "1.5D", "1.5L", "NaNf", " 2.5 ", ".5", "5.",
    "-.5", ".", "1e400", "-1e400", "1e-400", "3.4028235e38", "3.4028236e38", "1.0000000596046448", "16777217",
    "16777217.0000000001", "0.1", "1e5", "1E-3", "1e-50", "0.1e1", "99999999.99", "999999999.99", "99999999.995",
    "1.005", "1.004", "-1.005", "0.99999", "0.999995", "1e1000", "2024-01-31", "2024-1-5", "2024-02-30", "2024-02-29",
    "2023-02-29", "2024-04-31", "2024-13-01", "2024-00-01", "2024-01-32", "2024", "2024-05", "20240131",
    "02024-01-01", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "+12345-01-01", "2024-01-31 ",
    " 2024-01-31", "2024-01-31x", "2024-01-31 x", "-2024-01-31", "2024 -01- 31", "2024-01-31 12:34:56",
    "2024-01-31T12:34:56", "2024-01-31 12:34:56Z", "2024-01-31 12:34", "2024-01-31 12:34:56.1",
    "2024-01-31 12:34:56.123456789", "2024-01-31 12:34:56.1234567891", "2024-01-31 12:34:56.", "2024-1-5 1:2:3",
    "2024-01-31 24:00:00", "2024-01-31 24:00:01", "2024-01-31 23:59:60", "2024-01-31 25:00:00",
    "1500-02-29 01:02:03.5", "2262-04-12 00:00:00", "2261-12-31 00:00:00.999999999", "1677-01-01 00:00:00",
    "1700000000000", "-5", "YQ==", "YQ", "YQ=", "Y", "YWJj", "YWJj=", "YR==", "YWI=", "YWI", "Y Q=", "YQ==YQ==",
    "a\\nb", "-_",
]  # fmt: skip
OUT_OF_RANGE = {"9223372036854775807", "-9223372036854775808"}
OUT_OF_NANOSECONDS = OUT_OF_RANGE | {
    text for text in TEXTS if text[:4] in ("0001", "9999", "1500", "2262", "1677", "+123")
}
TYPES = [
    "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "DECIMAL(10, 2)", "DECIMAL(5, 5)",
    "DECIMAL(38, 0)", "DATE", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(4)", "TIMESTAMP(6)", "TIMESTAMP(9)",
    "TIMESTAMP(6) WITH LOCAL TIME ZONE", "STRING", "CHAR(3)", "VARCHAR(2)", "BYTES", "BINARY(2)",
]  # fmt: skip
LINES = [
    "a,b,c", '"a",b', ' "a" ,b', 'a"b,c', 'ab"c"d,e', 'abc"d"e,f', '"a""b",c', r'"a\"b",c', r"a\"b,c", r"a\b,c",
    r"\"a,b", '"a,b', 'a,"b', 'a,"b,c', '"","",', "", " ", "\t", ",", ",,", ",,,", '"a"b,c', '"a" "b",c',
    'a ""b"" c,d', '"""",x', '""",x', '   "abc" d,e', 'abc   "def",g', '😀"x"y,z', 'a😀"b"c,d', "ä,ö", "a,b,c,d,e",
    r"\\,x", r'"\\",x', r"a\,b", r'"a\,b",c', '"\\', "\u2003", "\u00a0", "x\0y,z", "'a','b'", "\\", '"', "NULL,null,",
    '"NULL",b', "\x1c",
]  # fmt: skip


class Side:
    """Java's system and this one, over the tables of one server."""

    def __init__(self, java: Genuine, server: JavaRestServer) -> None:
        self.java, self.options = java, server.options
        self.ours: Catalog = open_catalog(server.options)

    def make(
        self,
        name: str,
        columns: Mapping[str, Any],
        file_format: str,
        keys: tuple[str, ...] = (),
        options: Mapping[str, str] = NO_OPTIONS,
    ) -> FormatTable:
        made = {"type": "format-table", "file.format": file_format, **options}
        self.java.run(make_format_table, self.options, "d", name, columns, list(keys), made)
        return self.open(name)

    def open(self, name: str) -> FormatTable:
        found = self.ours.load_any_table(Identifier("d", name))
        assert isinstance(found, FormatTable)
        return found

    def compare(self, name: str) -> list[tuple[Any, ...]]:
        """The rows, which are those of Java; as ``rows_by_java`` gives them."""
        found = internal_rows(self.open(name))
        wanted = self.java.run(rows_by_java, self.options, "d", name)
        assert sorted(map(repr, found)) == sorted(map(repr, wanted))
        return found


@pytest.fixture
def side(java: Genuine, server: JavaRestServer) -> Side:
    return Side(java, server)


def internal_rows(table: FormatTable) -> list[tuple[Any, ...]]:
    columns = [[frozen(to_internal(value)) for value in column] for column in table.scan().to_arrow().columns]
    return list(zip(*columns, strict=True))


def frozen(value: Any) -> Any:
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("layout", ["none", "named", "values"])
@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_what_java_writes_is_read_as_by_java(side: Side, file_format: str, layout: str) -> None:
    name, keys = f"t_{file_format}_{layout}", () if layout == "none" else ("part", "number")
    only = {"format-table.partition-path-only-value": "true"} if layout == "values" else {}
    table = side.make(name, COLUMNS, file_format, keys, only)
    for rows in (ROWS[:2], ROWS[2:]):
        side.java.run(write_by_java, side.options, "d", name, rows)
    assert len(side.compare(name)) == 5
    assert table.scan("name", "id = 1").to_arrow().to_pylist() == [{"name": "ann"}]
    assert table.scan(["number", "id"], "part = 'ä'").to_arrow().column_names == ["number", "id"]
    assert table.scan(where="part = 'ä'").count() == 2
    assert table.scan("part").count() == table.scan("at").count() == 5


@pytest.mark.parametrize("file_format", ["csv", "json"])
@pytest.mark.parametrize("compression", ["gzip", "bzip2", "none"])
def test_compressed_files_of_java(side: Side, file_format: str, compression: str) -> None:
    name = f"c_{file_format}_{compression}"
    table = side.make(name, {"line": "STRING"}, file_format, options={"file.compression": compression})
    side.java.run(write_by_java, side.options, "d", name, [("ä",), ("x" * 9000,)] * 50)
    assert len(side.compare(name)) == 100
    (file,) = table.files()
    assert file.path.endswith({"gzip": ".gz", "bzip2": ".bz2", "none": f".{file_format}"}[compression])


@pytest.mark.parametrize("data_type", TYPES)
@pytest.mark.parametrize("mode", ["permissive", "dropmalformed"])
def test_each_text_of_each_type(side: Side, data_type: str, mode: str) -> None:
    name = f"v_{mode}_{TYPES.index(data_type)}"
    table = side.make(name, {"n": "INT", "v": data_type, "w": "INT"}, "csv", options={"csv.mode": mode})
    beyond = OUT_OF_RANGE if data_type.startswith("TIMESTAMP") else set()
    beyond = OUT_OF_NANOSECONDS if data_type == "TIMESTAMP(9)" else beyond
    lines = "".join(f"{n},{text},{n}\n" for n, text in enumerate(["", *TEXTS]) if text not in beyond)
    (folder(table) / "data-1.csv").write_text(lines)
    assert side.compare(name)


def test_values_that_java_reads_and_this_release_does_not(side: Side) -> None:
    cases = [("DOUBLE", "0x1p3"), ("TIME(3)", "1:2"), ("TIME(3)", "10:00:00-01:00"), ("TIMESTAMP(6)", "2024--05")]
    cases += [("TIMESTAMP(9)", "9999-12-31")]
    for number, (data_type, text) in enumerate(cases):
        table = side.make(f"u{number}", {"v": data_type}, "csv")
        (folder(table) / "data-1.csv").write_text(f"{text}\n")
        with pytest.raises(UnsupportedFeature, match="this release"):
            table.scan().count()
    table = side.make("times", {"v": "TIME(3)"}, "csv")
    (folder(table) / "data-1.csv").write_text("12:34:56.7\n00:00:00\n23:59:59.999\n12345\nx\n")
    side.compare("times")


def folder(table: FormatTable) -> Path:
    made = Path(table.location)
    made.mkdir(parents=True, exist_ok=True)
    return made


CSV = {
    "c_default": {},
    "c_marks": {"csv.field-delimiter": "|", "csv.quote-character": "'", "csv.escape-character": "^"},
    "c_null": {"csv.null-literal": "NULL", "csv.include-header": "true"},
    "c_older": {"field-delimiter": ";", "quote": "'", "header": "true", "nullvalue": "a"},
    "c_ends": {"csv.line-delimiter": "\r\n", "csv.field-delimiter": "\x01"},
    "c_long": {"csv.line-delimiter": "||", "csv.field-delimiter": ",,"},
    "c_none": {"csv.quote-character": "\0", "csv.escape-character": "\0"},
}


@pytest.mark.parametrize("name", CSV)
def test_lines_of_csv(side: Side, name: str) -> None:
    table = side.make(name, {"a": "STRING", "b": "STRING", "c": "STRING"}, "csv", options=CSV[name])
    end = CSV[name].get("csv.line-delimiter", "\n")
    drawn = random.Random(7)
    marks = {'"': CSV[name].get("csv.quote-character", CSV[name].get("quote", '"'))[0]}
    marks |= {"\\": CSV[name].get("csv.escape-character", "\\")[0]}
    marks |= {",": CSV[name].get("csv.field-delimiter", CSV[name].get("field-delimiter", ","))[0]}
    made = ["".join(drawn.choices(",\"\\ aé😀'", (5, 5, 3, 3, 6, 1, 1, 1), k=drawn.randrange(16))) for _ in range(3000)]
    lines = ["".join(marks.get(mark, mark) for mark in line) for line in [*LINES, *made]]
    (folder(table) / "data-1.csv").write_bytes(end.join(lines).encode())
    (folder(table) / "data-2.csv").write_bytes(b"\xef\xbb\xbfx" + end.encode() + b"y" + end.encode())
    (folder(table) / "data-3.csv").write_bytes(b"")
    (folder(table) / "data-4.csv").write_bytes(b"a\rb\r\nc\n\n\r\rd\r")
    (folder(table) / "data-5.csv.gz").write_bytes(gzip.compress(b"p,q") + gzip.compress(b"r,s\n"))
    (folder(table) / "data-6.bz2").write_bytes(bz2.compress(b'"p","q"'))
    assert len(side.compare(name)) > 2000


def test_rows_do_not_depend_on_the_columns_that_are_asked_for(side: Side) -> None:
    """Java reads 1 in the last column where it is the only one, and NULL where all are read."""
    table = side.make("asked", {"a": "INT", "b": "INT", "c": "INT"}, "csv")
    (folder(table) / "data-1.csv").write_text("1,x,1\n2,2,2\n")
    assert side.compare("asked") == [(1, None, None), (2, 2, 2)]
    assert table.scan("c").to_arrow().to_pylist() == [{"c": None}, {"c": 2}]
    assert table.scan("a", "c IS NULL").to_arrow().to_pylist() == [{"a": 1}]


def test_failfast_and_damage(side: Side) -> None:
    table = side.make("fast", {"a": "INT", "b": "STRING"}, "csv", options={"csv.mode": "failfast"})
    file = folder(table) / "data-1.csv"
    for text, error in ((b"1,x\n-,y\n", "the text '-' of the column 'a' is no INT"), (b"1,\xff\n", "not in UTF-8")):
        file.write_bytes(text)
        with pytest.raises(CorruptFile, match=error):
            table.scan().count()
    file.write_bytes(b"1,x\n")
    for name, error, wanted in (
        ("x.csv.gz", CorruptFile, "its compression is damaged"),
        ("x.csv.lz4", CorruptFile, "its compression is damaged"),
        ("x.csv.snappy", CorruptFile, "its compression is damaged"),
        ("x.csv.deflate", CorruptFile, "its compression is damaged"),
    ):
        other = file.with_name(name)
        other.write_bytes(b"no more")
        with pytest.raises(error, match=wanted):
            table.scan().count()
        other.unlink()
    assert side.compare("fast") == [(1, "x")]


JSON_COLUMNS = {
    "i": "INT",
    "s": "STRING",
    "d": "DECIMAL(10, 2)",
    "f": "DOUBLE",
    "b": "BOOLEAN",
    "y": "BYTES",
    "t": "TIMESTAMP(3)",
    "l": {"type": "ARRAY", "element": "INT"},
    "m": {"type": "MAP", "key": "INT NOT NULL", "value": "STRING"},
    "r": {"type": "ROW", "fields": [{"id": 20, "name": "x", "type": "INT"}, {"id": 21, "name": "z", "type": "STRING"}]},
}
JSON_LINES = [
    '{"i":"1","s":"a","d":"1.5","f":"1.5","b":"true","y":"YQ==","t":"2024-01-31 01:02:03","l":["1","2"],"m":{"1":"a"}}',
    '{"i":1,"s":2,"d":1.10,"f":1e2,"b":true,"y":"","t":1,"l":[1,null],"m":{"1":null,"2":2},"r":{"x":1,"z":"q","w":0}}',
    "{}", '{"i":null,"zz":{"a":[1]}}', '{"i":1,"i":2}', '{"s":"\\u00e4\\n\\"\\\\"}', '{"s":true}', '{"s":{"a":1}}',
    '{"s":[1]}', '{"s":1.0}', '{"s":1e20}', '{"s":100000000000000000000000}', '{"s":-0}', '{"s":-0.0}', '{"s":1E-5}',
    '{"d":12345678901234567.89}', '{"d":"123456789012"}', '{"f":"NaN"}', '{"f":1e999}', '{"i":1.0}', '{"i":"x"}',
    '{"i":1e2}', '{"i":true}', '{"b":1}', '{"b":"TRUE"}', '{"y":"!"}', '{"t":"2024-01-31T01:02:03"}', '{"l":1}',
    '{"l":["x",1]}', '{"l":{}}', '{"m":[]}', '{"m":{"x":"a","1":"b"}}', '{"m":{"1":"a","01":"b","2":"c"}}', '{"r":1}',
    '{"r":{}}', '{"r":{"x":"x"}}', '{"r":null,"l":[],"m":{}}', "null", " null ", "nullx", "[]", "1", '"a"', "", " ",
    "{", '{"i":1', '{"i":1} {"i":2}', '{"i":1}garbage', ' {"i":1} ', "{'i':1}", '{i:1}', '{"i":01}', '{"i":NaN}',
    '{"f":NaN}', '{"i":+1}', '{"s":"a\tb"}', '{"i":1,}', "// x", '{"s":"\\ud83d\\ude00"}', '{"s":"\u2028"}',
    '{"S":"x"}', "\ufeff{}",
]  # fmt: skip


def test_lines_of_json_without_errors(side: Side) -> None:
    table = side.make("json_ignored", JSON_COLUMNS, "json", options={"json.ignore-parse-errors": "true"})
    (folder(table) / "data-1.json").write_text("\n".join(JSON_LINES))
    assert len(side.compare("json_ignored")) > 30


def test_lines_of_json_one_by_one(side: Side) -> None:
    """Each line is read, or refused, as Java does."""
    table = side.make("json_strict", JSON_COLUMNS, "json")
    file, errors = folder(table) / "data-1.json", 0
    for line in JSON_LINES:
        file.write_text(line)
        try:
            wanted = side.java.run(rows_by_java, side.options, "d", "json_strict")
        except RuntimeError:
            errors += 1
            with pytest.raises(PaimonError):
                table.scan().to_arrow()
        else:
            assert repr(internal_rows(table)) == repr(wanted), line
    assert errors > 10


def test_nested_values_that_java_writes(side: Side) -> None:
    inner = {
        "type": "ROW",
        "fields": [{"id": 30, "name": "x", "type": "INT"}, {"id": 31, "name": "z", "type": "STRING"}],
    }
    deep = {"type": "ARRAY", "element": {"type": "MAP", "key": "STRING NOT NULL", "value": inner}}
    columns = {
        "id": "INT",
        "m": {"type": "MAP", "key": "DATE NOT NULL", "value": "BIGINT"},
        "l": deep,
        "r": JSON_COLUMNS["r"],
    }
    side.make("nested", columns, "json")
    rows = [(1, None, ((("a", (1, "x")), ("b", None)), None), (None, "z")), (None, (), (), None)]
    side.java.run(write_by_java, side.options, "d", "nested", rows)
    assert len(side.compare("nested")) == 2


def test_partitions_are_named_by_internal_values(side: Side) -> None:
    """Java names a DATE by its number of days, and reads the name of a date too."""
    kinds = {"day": "DATE", "ok": "BOOLEAN", "d": "DECIMAL(5, 2)", "f": "DOUBLE"}
    for file_format in ("csv", "parquet"):
        name = f"p_{file_format}"
        table = side.make(name, {"id": "INT", **kinds}, file_format, tuple(kinds))
        rows = [(1, 1, True, Decimal("1.50"), 0.5), (2, -1, False, None, -0.0), (3, None, None, Decimal("-0.07"), 1e10)]
        side.java.run(write_by_java, side.options, "d", name, rows)
        assert len(side.compare(name)) == 3
        assert table.scan("id", "day = DATE '1970-01-02'").to_arrow().to_pylist() == [{"id": 1}]
    for place in ("day=2024-01-31/ok=T/d=1.005/f=1d", "day=2024/ok=0/d=__DEFAULT_PARTITION__/f=NaN"):
        (folder(table).parent / "p_csv" / place).mkdir(parents=True)
        (folder(table).parent / "p_csv" / place / "x").write_text("7\n")
    assert len(side.compare("p_csv")) == 5
    (folder(table).parent / "p_csv" / "day=2024-01-31/ok=maybe/d=1/f=1").mkdir(parents=True)
    with pytest.raises(CorruptFile, match="no partition of the column 'ok'"):
        side.open("p_csv").scan().count()


def test_lines_of_text(side: Side) -> None:
    table = side.make("text", {"line": "STRING", "day": "DATE"}, "text", ("day",))
    side.java.run(write_by_java, side.options, "d", "text", [("ä", 1), ("", 1), (None, 2), (' a\\"b, ', 2)])
    (folder(table) / "day=1/x").write_bytes(b"\xef\xbb\xbf1\r2\r\n\n3")
    assert len(side.compare("text")) == 8
    assert table.scan("day").count() == 8
    assert table.scan(where="line = '3'").to_arrow().num_rows == 1
    packed = side.make("text_packed", {"line": "STRING"}, "text", options={"file.compression": "gzip"})
    side.java.run(write_by_java, side.options, "d", "text_packed", [("a",)] * 99)
    (file,) = packed.files()
    assert file.path.endswith(".text")  # Java forgets the .gz, and reads noise then
    with pytest.raises(CorruptFile, match="not in UTF-8"):
        packed.scan().count()
    other = side.make("text_other", {"line": "STRING"}, "text", options={"text.line-delimiter": "<>"})
    (folder(other) / "x").write_text("a<>b\nc<><>d<e<")
    assert side.compare("text_other") == [("a",), ("b\nc",), ("",), ("d<e<",)]


def test_what_is_refused_by_name(side: Side) -> None:
    refused: list[tuple[type[PaimonError], str, str, Mapping[str, Any], dict[str, str]]] = [
        (UnsupportedFeature, "ARRAY<INT>", "csv", {"l": JSON_COLUMNS["l"]}, {}),
        (UnsupportedFeature, "one column of the type STRING", "text", {"a": "STRING", "b": "STRING"}, {}),
        (OptionError, "must be different", "csv", {"a": "INT"}, {"csv.field-delimiter": '"'}),
        (OptionError, "begin again", "csv", {"a": "INT"}, {"csv.line-delimiter": "aab"}),
        (OptionError, "csv.mode", "csv", {"a": "INT"}, {"csv.mode": "other"}),
    ]
    for number, (error, words, file_format, columns, options) in enumerate(refused):
        with pytest.raises(error, match=words):
            side.make(f"refused{number}", columns, file_format, options=options)


def test_many_lines_are_read_in_blocks(side: Side) -> None:
    table = side.make("many", {"n": "INT", "s": "STRING"}, "json")
    with (folder(table) / "data-1.json").open("w") as file:
        for n in range(60_000):
            file.write(json.dumps({"n": n, "s": "x" * 100}) + "\n")
    scan = table.scan("n")
    assert len(list(scan.to_batches())) > 1
    assert scan.to_arrow().column(0).to_pylist() == list(range(60_000))
