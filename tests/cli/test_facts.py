"""What `info` and `plot` count."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from support.faults.damage import edit_json
from support.programs.command_line import command
from support.tables.compacting import make, write

from paimon_spark.cli.facts import view_table
from paimon_spark.cli.picture.tree import runs_of_partitions


def test_null_and_the_text_null_are_two_partitions(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int32()), ("dt", pa.string())])
    table = make(tmp_path / "t", columns, ["id"], {"bucket": "1"}, ["dt"])
    for number in range(3):
        write(table, [(number, None), (number, "null")])
    view = view_table(table.location, {}, None)
    assert view.facts.stored.most_runs == 3
    assert [partition.runs for partition in runs_of_partitions(view.runs)] == [3]


def test_secrets_that_a_table_stores_are_not_shown(tmp_path: Path) -> None:
    table = make(tmp_path / "t", pa.schema([("id", pa.int32()), ("token", pa.string())]), ["id"], {"bucket": "1"})
    path = tmp_path / "t" / "schema" / "schema-0"
    secrets = {
        "s3.access-key": "AK1",
        "fs.azure.sas.lake": "SAS1",
        "fs.s3a.secret.key": "SK1",
        "dlf.security-token": "T1",
    }
    stored = json.loads(path.read_text())
    edit_json(path, options={**stored["options"], **secrets, "fields.token.aggregate-function": "max"})
    options = view_table(table.location, {}, None).facts.options
    assert {key: options[key] for key in secrets} == dict.fromkeys(secrets, "(hidden)")
    assert options["fields.token.aggregate-function"] == "max"
    for name in ("info", "schema"):
        printed = command(name, table.location).out
        assert "(hidden)" in printed
        assert not [text for text in secrets.values() if text in printed]
