"""``options --known``: every option of the catalogue, with what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs.command_line import command

from paimon_spark.format.options.catalogue import CATALOGUE, Status
from paimon_spark.format.options.described import DescribedOption, choices_of, described_options
from paimon_spark.format.options.table_settings import TABLE_OPTIONS

DESCRIBED = {option.key: option for option in described_options()}


def test_every_option_is_described_in_a_sentence() -> None:
    assert DESCRIBED.keys() == CATALOGUE.keys()
    assert [key for key, option in DESCRIBED.items() if not option.meaning.endswith(".")] == []


@pytest.mark.parametrize(
    "expected",
    [
        DescribedOption("bucket", Status.HONOURED, "integer", "-1", DESCRIBED["bucket"].meaning),
        DescribedOption(
            "merge-engine",
            Status.HONOURED,
            "one of deduplicate, partial-update, aggregation, first-row",
            "deduplicate",
            DESCRIBED["merge-engine"].meaning,
        ),
        DescribedOption(
            "snapshot.time-retained", Status.HONOURED, "duration", "1 h", DESCRIBED["snapshot.time-retained"].meaning
        ),
        DescribedOption(
            "source.split.target-size",
            Status.HONOURED,
            "memory size",
            "128 MB",
            DESCRIBED["source.split.target-size"].meaning,
        ),
        DescribedOption("primary-key", Status.HONOURED, "list", "", DESCRIBED["primary-key"].meaning),
        DescribedOption("snapshot.num-retained.max", Status.HONOURED, "integer", "no limit", "x"),
    ],
    ids=lambda option: option.key,
)
def test_types_and_defaults(expected: DescribedOption) -> None:
    found = DESCRIBED[expected.key]
    assert (found.status, found.type, found.default) == (expected.status, expected.type, expected.default)


def test_choices_are_those_that_are_accepted() -> None:
    for option in TABLE_OPTIONS.values():
        assert [str(option.parse(choice)) for choice in choices_of(option)] == list(choices_of(option)), option.key


def test_the_list() -> None:
    rows = command("options", "--known", "--output", "json").document
    assert [row["option"] for row in rows] == sorted(CATALOGUE)
    assert all("`" not in row["meaning"] and "](" not in row["meaning"] for row in rows)


def test_a_part_of_the_names() -> None:
    rows = command("options", "--known", "Bucket-Func", "--output", "json").document
    assert [row["option"] for row in rows] == ["bucket-function.type"]
    text = command("options", "--known", "bucket-func", columns=200).out
    assert "one of default, mod, hive" in text
    lines = command("options", "--known", "bucket-func", "--output", "csv").out.splitlines()
    assert lines[0] == '"option","status","type","default","meaning"'
    assert len(lines) == 2
    assert len(command("options", "--known", "bucket", "--limit", "2", "--output", "json").document) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--known", "nope"], "no known option has 'nope' in its name; without it --known lists them all"),
        (
            ["--known", "--columns", "key"],
            "--known reads no table: leave out --where, --columns, --branch and --option",
        ),
        ([], "name a table, or give --known"),
    ],
)
def test_what_cannot_be_meant(words: list[str], said: str, tmp_path: Path) -> None:
    printed = command("options", *words, columns=200)
    assert printed.code == 2
    assert said in " ".join(printed.err.split())
