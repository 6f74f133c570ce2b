"""What the command line says when an argument is wrong: it names its own flags, not the arguments of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.paths import ROOT
from support.programs.command_line import ENVIRONMENT, command, program
from support.tables.compacted_tables import append, new_table
from support.tables.golden_tables import GoldenTable

from paimon_spark.cli.command_list import COMMANDS
from paimon_spark.cli.program import _Later

PACKAGE = ROOT / "paimon_spark"


def arguments_of(name: str) -> set[str]:
    """Those that are called otherwise on the command line."""
    return {parameter.name for parameter in _Later(name, COMMANDS[name]).loaded().params if "_" in parameter.name}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Seven snapshots, not partitioned."""
    return GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["expire", "--retain-max", "2"],
            "--retain-max (2) is less than --retain-min (10): give --retain-min too, 2 or less; without it the option "
            "'snapshot.num-retained.min' of the table holds",
        ),
        (
            ["expire", "--changelogs", "--retain-max", "2"],
            "--retain-max (2) is less than --retain-min (10): give --retain-min too, 2 or less; without it the option "
            "'changelog.num-retained.min' of the table holds",
        ),
        (["expire", "--older-than", "7"], "'7': expected a time such as 2026-11-01 12:30:00, or an age such as 7 d"),
        (
            ["expire", "--retain-max", "2", "--retain-min", "5"],
            "give --retain-max 5 or more, or --retain-min 2 or less",
        ),
        (["orphans", "--older-than", "x"], "--older-than is 'x': expected a time such as 2026-11-01 12:30:00"),
        (["orphans", "--older-than", "2999-01-01"], "--older-than is 2999-01-01 00:00:00"),
        (["purge", "--orphans-older-than", "x"], "--orphans-older-than is 'x': expected a time such as "),
        (["purge", "--orphans-older-than", "2999-01-01"], "--orphans-older-than is 2999-01-01 00:00:00"),
        (["create-tag", "a", "--time-retained", "x"], "--time-retained is 'x': expected a duration such as 10 s"),
        (["create-tag", "x" * 300], "a name in it is too long, most disks take 255 bytes: choose a shorter one"),
        (["read", "-o", "bucket=abc"], "option 'bucket' has the value 'abc': expected a whole number such as 4"),
        (["diff", "3", "2"], "AFTER is snapshot 2 and older than BEFORE, snapshot 3: swap them"),
        (["schema", "--id", "9"], "has no schema 9; its schemas are 0"),
    ],
)
def test_messages_name_flags(table: Path, words: list[str], told: str) -> None:
    name, *more = words
    printed = command(name, table, *more)
    assert (printed.code, printed.out) == (2, "")
    assert printed.err.startswith(f"paimon-spark {name}: ")
    assert told in printed.err
    assert not [argument for argument in arguments_of(name) if argument in printed.err]


def test_the_age_of_partitions(tmp_path: Path) -> None:
    table = GoldenTable("java-2.1", "append_part").unpack(tmp_path)
    told = command("expire-partitions", table).err
    assert "how long they live is not said; give --older-than, or set the option 'partition.expiration-time'" in told
    told = command("expire-partitions", table, "--older-than", "x").err
    assert told == "paimon-spark expire-partitions: --older-than is 'x': expected a duration such as 10 s\n"


def raised() -> Iterator[tuple[str, str, bool]]:
    """Of each raise in the package: where it is, the texts in it, and whether it says which arguments they name."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                texts = [
                    c.value for c in ast.walk(node.exc) if isinstance(c, ast.Constant) and isinstance(c.value, str)
                ]
                yield f"{path.name}:{node.lineno}", " ".join(texts), "arguments" in {k.arg for k in node.exc.keywords}


def test_errors_that_name_an_argument_say_so() -> None:
    """Else the command line would show a name of Python that is not its own."""
    named = {argument for name in COMMANDS for argument in arguments_of(name)}
    assert {"retain_max", "older_than", "time_retained"} <= named
    words = re.compile(rf"\b({'|'.join(named)})\b")
    silent = [where for where, text, says_so in raised() if words.search(text) and not says_so]
    assert silent == []


@pytest.mark.parametrize("words", [["create-tag", "5"], ["create-tag", "5", "--at", "2"]])
def test_a_tag_that_reads_like_a_snapshot_id(table: Path, words: list[str]) -> None:
    name, *more = words
    child = program(name, table, *more)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out.startswith("tag '5' keeps snapshot ")) == (0, True)
    assert err.startswith(f"the name of tag '5' of {table} is a number: ")
    assert "--at), 5 is the tag from now on" in err
    assert err.count("\n") == 1


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="a device that is always full")
@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [
        (["read"], ""),
        (["read"], "1"),
        (["read", "--output", "csv"], ""),
        (["info"], "1"),
        (["--version"], ""),
        (["--help"], "1"),
    ],
)
def test_the_output_cannot_be_written(tmp_path: Path, words: list[str], unbuffered: str) -> None:
    append(new_table(tmp_path / "t"), [(i, i, "x" * 50) for i in range(2000)])
    environment = {**ENVIRONMENT, "PYTHONUNBUFFERED": unbuffered}
    path = [] if words[0].startswith("-") else [tmp_path / "t"]
    with FULL.open("w") as full:
        child = program(words[0], *path, *words[1:], stdout=full, env=environment)
        _, err = child.communicate(timeout=60)
    whose = f" {words[0]}" if not words[0].startswith("-") else ""
    assert err == f"paimon-spark{whose}: the output could not be written: No space left on device\n"
    assert child.returncode == 2
