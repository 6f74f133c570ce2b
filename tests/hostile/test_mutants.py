"""Mutants of genuine tables: only PaimonError comes of them, or a result; and no file outside of a table is touched.

CI tries some hundred. PAIMON_LONG=1 tries 20,000, PAIMON_MUTANTS=500 so many. A number is a seed:
``python tests/hostile/mutants.py 4711 1`` tries that mutant again (with the checkout and its tests on PYTHONPATH).
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from mutants import live_through
from mutations import mutate
from support.faults.damage import change_entries, edit_json
from support.long_runs import tries
from support.tables.golden_tables import GoldenTable, golden_tables

from paimon_spark.errors import CorruptFile, OptionError
from paimon_spark.format.avro import schemas as avro_schemas
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.manifests import codec as manifest_codec
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

MUTANTS = tries("PAIMON_MUTANTS", ci=150, long=20000)
DATA_MUTANTS = tries("PAIMON_DATA_MUTANTS", ci=16, long=2000)


def test_mutants(capsys: pytest.CaptureFixture[str]) -> None:
    tally = live_through(0, MUTANTS)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.wrong == []
    assert tally.lived == MUTANTS


def test_mutants_of_data_files(capsys: pytest.CaptureFixture[str]) -> None:
    """Of files without checksums, wrong bytes may be other values: the tally tells of which formats."""
    tally = live_through(0, DATA_MUTANTS, kind="data")
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.wrong == []
    assert tally.lived == DATA_MUTANTS


@pytest.mark.parametrize("seed", range(3))
def test_a_seed_makes_the_same_mutant_again(seed: int, tmp_path: Path) -> None:
    golden = golden_tables()[seed]
    source = golden.unpack(tmp_path / "golden")
    made = []
    for name in ("a", "b"):
        table = Path(shutil.copytree(source, tmp_path / name))
        what = mutate(table, random.Random(seed))
        made.append((what, {p.relative_to(table): p.read_bytes() for p in table.rglob("*") if p.is_file()}))
    assert made[0] == made[1]


# ------------------------------------------------------------------------------------ what mutants have found, by name


def changed(tmp_path: Path, golden: GoldenTable, **values: Any) -> Table:
    """The table with values of all entries of its manifests, and of their data files, changed."""
    table = golden.unpack(tmp_path)
    of_file = {key: value for key, value in values.items() if key in DataFileMeta._fields}
    of_entry = {key: value for key, value in values.items() if key not in of_file}
    change_entries(table, lambda entry: [entry._replace(**of_entry, file=entry.file._replace(**of_file))])
    return open_table(str(table))


PK = GoldenTable("java-2.1", "pk_dedup")
UNMERGED = GoldenTable("java-2.1", "pk_dedup_writeonly")


def test_a_smallest_key_that_holds_a_null(tmp_path: Path) -> None:
    null = (1).to_bytes(4, "big") + b"\0\1" + bytes(14)
    table = changed(tmp_path, UNMERGED, min_key=null)
    with pytest.raises(CorruptFile, match=r"of the data file data-.* is none: it holds a null"):
        table.scan().to_arrow()


def test_a_smallest_key_of_other_columns(tmp_path: Path) -> None:
    table = changed(tmp_path, UNMERGED, max_key=(2).to_bytes(4, "big") + bytes(24))
    with pytest.raises(CorruptFile, match=r"of the data file data-.* is none: a row of 28 bytes"):
        table.scan().to_arrow()


def test_statistics_of_a_column_that_is_not_there(tmp_path: Path) -> None:
    table = changed(tmp_path, PK, value_stats_cols=("nobody",))
    with pytest.raises(CorruptFile, match="names the columns 'nobody', which schema 0 does not have"):
        table.system_table("files").to_arrow()


@pytest.mark.parametrize(
    ("field", "attribute", "value"),
    [("_LEVEL", "level", 2**32), ("_TOTAL_BUCKETS", "total_buckets", 2**62), ("_BUCKET", "bucket", -(2**31) - 1),
     ("_KIND", "kind", 2), ("_FILE_SIZE", "file_size", -1), ("_ROW_COUNT", "row_count", -1)],
)  # fmt: skip
def test_numbers_that_no_entry_has(
    field: str, attribute: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MANIFEST", "MANIFEST_LIST"):
        wider = json.loads(json.dumps(getattr(avro_schemas, name)).replace('"int"', '"long"'))
        monkeypatch.setattr(manifest_codec, name, wider)
    table = changed(tmp_path, PK, **{attribute: value})
    with pytest.raises(CorruptFile, match=f"manifest/manifest-.*field '{field}' is {value}, not an integer from"):
        table.scan().plan()


@pytest.mark.parametrize("hint", ["9" * 5000, str(2**64), "1_0", "-1"])
def test_hints_that_no_writer_leaves(hint: str, tmp_path: Path) -> None:
    """They count for nothing: the snapshots are listed."""
    table = PK.unpack(tmp_path)
    rows = open_table(str(table)).scan().to_arrow()
    (table / "snapshot" / "LATEST").write_text(hint)
    (table / "snapshot" / "EARLIEST").write_text(hint)
    assert open_table(str(table)).scan().to_arrow() == rows


@pytest.mark.parametrize("number", [2**63, 10**25])
def test_numbers_of_files_beyond_64_bits(number: int, tmp_path: Path) -> None:
    table = PK.unpack(tmp_path)
    rows = open_table(str(table)).scan().to_arrow()
    for directory in ("snapshot", "schema"):
        (table / directory / f"{directory}-{number}").write_bytes(b"?")
    (table / "snapshot" / "LATEST").unlink()
    assert open_table(str(table)).scan().to_arrow() == rows


def test_a_bucket_key_that_is_no_column(tmp_path: Path) -> None:
    table = PK.unpack(tmp_path)
    edit_json(table / "schema" / "schema-0", options={"bucket": "1", "bucket-key": "nobody"})
    with pytest.raises(OptionError, match="the option 'bucket-key' names 'nobody', and the columns of the table are k"):
        open_table(str(table)).scan().plan()


@pytest.mark.parametrize("value", ["9" * 30, "99999999999999 t"])
def test_options_beyond_64_bits(value: str, tmp_path: Path) -> None:
    table = PK.unpack(tmp_path)
    edit_json(table / "schema" / "schema-0", options={"bucket": "1", "source.split.target-size": value})
    with pytest.raises(OptionError, match=r"source\.split\.target-size"):
        open_table(str(table)).scan().tasks()
