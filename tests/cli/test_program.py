"""The program as a process: what it imports, how it ends; and its list of commands."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest
from support.programs.command_line import ENVIRONMENT, PROGRAM, command, program
from support.programs.s3_server import s3_server
from support.tables.compacted_tables import COLUMNS, append, new_table
from support.tables.golden_tables import GoldenTable

import paimon_spark
from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.cli.command_list import COMMANDS, OTHER_NAMES
from paimon_spark.cli.program import _Later
from paimon_spark.file_io import file_io_for

HEAVY = ("pyspark", "pyarrow", "pandas", "numpy", "sqlglot", "matplotlib", "prompt_toolkit")


def imported(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*(m for m in {HEAVY} if m in sys.modules))"
    return set(subprocess.check_output([sys.executable, "-c", code], text=True, env=ENVIRONMENT).split())


def test_the_list_of_commands_waits_for_nothing() -> None:
    assert imported("import paimon_spark") == set()
    assert imported("import paimon_spark.cli.program") == set()


def test_no_command_imports_spark_before_it_runs() -> None:
    modules = sorted({place.module for place in COMMANDS.values()})
    code = "; ".join(f"import {module}" for module in modules)
    assert imported(code).isdisjoint({"pyspark", "matplotlib", "prompt_toolkit"})


def test_names_of_the_package_are_there_when_asked_for() -> None:
    for name in paimon_spark.__all__:
        assert getattr(paimon_spark, name) is not None
    assert "open_table" in dir(paimon_spark)
    with pytest.raises(AttributeError, match="has no attribute 'open_tabel'"):
        paimon_spark.open_tabel  # type: ignore[attr-defined]  # noqa: B018


def test_names_that_need_spark_say_so() -> None:
    code = """
import sys
sys.modules["pyspark"] = None
import paimon_spark
assert paimon_spark.open_table
try:
    paimon_spark.PaimonTable
except ModuleNotFoundError as error:
    print(error)
"""
    said = subprocess.check_output([sys.executable, "-c", code], text=True, env=ENVIRONMENT)
    assert said.startswith("paimon_spark.PaimonTable needs PySpark, which is not installed: pip install pyspark; ")


@pytest.mark.parametrize(
    ("former", "name"),
    [
        ("CompactionMetrics", "CompactResult"),
        ("ExpiryResult", "ExpireSnapshotsResult"),
        ("Report", "CheckResult"),
        ("WriteMetrics", "WriteResult"),
    ],
)
def test_former_names_are_the_same_things(former: str, name: str) -> None:
    assert getattr(paimon_spark, former) is getattr(paimon_spark, name)
    assert former not in dir(paimon_spark)


def test_types_of_the_package_are_those_of_its_names() -> None:
    stub = Path(paimon_spark.__file__).with_suffix(".pyi").read_text()
    assert sorted(line.strip(' ",') for line in stub.partition("__all__ = [")[2].splitlines() if '"' in line) == sorted(
        paimon_spark.__all__
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_help_of_a_command_says(name: str) -> None:
    help_of = _Later(name, COMMANDS[name]).loaded().help
    assert help_of.strip().splitlines()[0].rstrip(".").startswith(COMMANDS[name].help.partition(";")[0].rstrip("."))


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["check"],
        ["check", "t", "-o", "x"],
        ["check", "t", "--output", "x"],
        ["read"],
        ["read", "t", "--columns", ","],
    ],
)
def test_wrong_arguments(arguments: list[str]) -> None:
    printed = command(*arguments)
    assert (printed.code, printed.out) == (2, "")
    assert "Usage: " in printed.err


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_of_one_value_is_taken_once(name: str) -> None:
    """Of every command, also where the one stands in another form than the other."""
    options = [each for each in _Later(name, COMMANDS[name]).loaded().params if each.param_type_name == "option"]
    for option in options:
        if option.is_flag or option.multiple:
            continue
        printed = command(name, "t", option.opts[-1], "1", f"{option.opts[0]}=1", columns=200)
        assert (printed.code, printed.out) == (2, "")
        assert f"Invalid value for '{option.opts[0]}': it is given 2 times" in printed.err
        assert f"give it once, as {option.opts[0]} " in printed.err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("-o", "a=1", "--option", "a=2"), "Invalid value for '--option': 'a' is given twice; give it once"),
        (("--columns", "a", "--columns", "b"), "give it once, as --columns A,B"),
    ],
)
def test_what_is_given_twice_is_not_dropped(flags: list[str], told: str) -> None:
    printed = command("read", "t", *flags, columns=200)
    assert (printed.code, printed.out) == (2, "")
    assert told in printed.err


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help_shows_no_types_of_python(name: str | None) -> None:
    """A flag takes no value, and nobody types '<int range>'."""
    told = command(*([] if name is None else [name]), "--help").out
    assert [word for word in ("<bool>", "BOOLEAN", "range", "None") if word in told] == []
    assert "--help" in told


def test_the_list_of_commands_has_headings() -> None:
    told = command("--help").out
    assert command("-h").out == told
    assert command("compact", "-h").out == command("compact", "--help").out
    panels = list(dict.fromkeys(place.panel for place in COMMANDS.values()))
    assert len(panels) == 7
    assert [told.index(panel) for panel in panels] == sorted(told.index(panel) for panel in panels)
    assert all(f"│ {name} " in told for name in COMMANDS)


@pytest.mark.parametrize(
    ("typed", "meant"), [("inof", "info"), ("snapshot", "snapshots"), ("create_tag", "create-tag")]
)
def test_a_mistyped_command(typed: str, meant: str) -> None:
    printed = command(typed, "t")
    assert (printed.code, printed.out) == (2, "")
    assert f"No such command '{typed}'. Did you mean '{meant}'" in printed.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["history", "t"], "No such command 'history'. The snapshots of a table, with what made each, are the command"),
        (["remove-orphan-files", "t"], "No such command 'remove-orphan-files'. Files that nothing names are the"),
        (["expire_snapshots", "t"], "No such command 'expire_snapshots'. Old snapshots go with the command 'expire'"),
        (["fsck", "t"], "No such command 'fsck'. Damage is found by the command 'check'"),
        (["version"], "No such command 'version'. The version is told by --version."),
        (["vacuum", "t"], "No such command 'vacuum'. Old snapshots go with the command 'expire'"),
        *(
            (
                ["rollback", "t", option, "monday"],
                f"No such option: {option}. A snapshot, a tag or a time is an argument",
            )
            for option in ("--tag", "--at", "--snapshot")
        ),
        (["read", "t", "--version", "3"], "No such option: --version. A snapshot, a tag or a time is --at."),
        (["info", "--json", "t"], "No such option: --json. It is --output json."),
        (["colums", "t"], "No such command 'colums'. Columns, types and options are the command 'schema'."),
        (
            ["read", "t", "--timestamp", "2026-11-01"],
            "No such option: --timestamp. A snapshot, a tag or a time is --at.",
        ),
        (["tail", "--limit", "5", "t"], "No such option: --limit. A number of rows is --limit, of the command 'read'"),
        (["tail", "-n", "5", "t"], "No such option: -n. A number of rows is --limit, of the command 'read'"),
    ],
)
def test_what_other_programs_call_it(arguments: list[str], told: str) -> None:
    printed = command(*arguments, columns=200)
    assert (printed.code, printed.out) == (2, "")
    assert told in printed.err


def test_the_names_of_others_lead_to_commands_that_are_there() -> None:
    meant = {name for text in OTHER_NAMES.values() for name in re.findall(r"'([a-z-]+)[ ']", text)}
    assert meant <= set(COMMANDS)
    assert not set(OTHER_NAMES) & set(COMMANDS)


def test_the_version() -> None:
    """That of the project, and those that decide how it behaves."""
    told = command("--version").out
    assert told.startswith(f"paimon-spark {paimon_spark.__version__} (Python {platform.python_version()}, pyspark ")
    assert f"pyarrow {pyarrow.__version__})" in told


def test_a_module_and_a_script_are_one_program(tmp_path: Path) -> None:
    child = program("tags", tmp_path)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (2, "")
    assert err.startswith("paimon-spark tags: no Paimon table at ")
    assert "Traceback" not in err


def test_a_terminal_without_a_width(tmp_path: Path) -> None:
    table = GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)
    unset = {name: value for name, value in ENVIRONMENT.items() if name != "COLUMNS"}
    for arguments in (["info", table], ["--help"]):
        shown = [
            program(*arguments, env=env).communicate(timeout=60)[0]
            for env in (unset, {**unset, "COLUMNS": "0"}, {**unset, "COLUMNS": ""})
        ]
        assert shown[0].strip()
        assert shown == shown[:1] * 3


def test_a_text_that_the_output_cannot_hold(tmp_path: Path) -> None:
    append(new_table(tmp_path / "t"), [(1, 1, "日本")])
    for output in ("json", "csv", "text"):
        child = program("read", tmp_path / "t", "--output", output, env={**ENVIRONMENT, "PYTHONIOENCODING": "latin-1"})
        _, err = child.communicate(timeout=60)
        words = r"the output could not be written: its encoding latin-1 does not have '\u65e5\u672c'; set the"
        assert (child.returncode, words in " ".join(err.split()), "Traceback" in err) == (2, True, False), err


@pytest.mark.parametrize(
    "arguments",
    [
        ["count", "T", "--where", "v = '\udcff'"],
        ["create-tag", "T", "\udcff"],
        ["create-branch", "T", "\udcff"],
        ["copy", "T", "U\udcff"],
        ["alter", "T", "set-comment", "v", "\udcff"],
        ["alter", "T", "set-options", "foo=\udcff"],
        ["\udcff"],
    ],
)
def test_an_argument_that_is_no_utf8(tmp_path: Path, arguments: list[str]) -> None:
    table = GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)
    before = set(tmp_path.rglob("*"))
    done = command(*(str(table.parent / a) if a[0] in "TU" else a for a in arguments))
    words = "is no UTF-8 text (it has the byte 0xFF); write it in UTF-8\n"
    assert (done.code, done.out, done.err.endswith(words)) == (2, "", True)
    assert set(tmp_path.rglob("*")) == before


def test_a_warehouse_in_the_place_of_a_statement(tmp_path: Path) -> None:
    (tmp_path / "x.sql").write_text("SELECT 1")
    for text, is_place in ((str(tmp_path), True), ("SELECT 2", False)):
        told = " ".join(command("sql", text, "-f", tmp_path / "x.sql", columns=600).err.split())
        assert f"'{text:.60}' is read as a statement, and --file has statements too: give one of them" in told
        assert (f"; the directory is --warehouse {text}" in told) == is_place


def test_statements_of_stdin_that_are_no_utf8(tmp_path: Path) -> None:
    for locale in ("C", "C.UTF-8"):
        run = subprocess.run(
            [*PROGRAM, "sql", "--warehouse", str(tmp_path)],
            input=b"SELECT 'a\xff'",
            env={**ENVIRONMENT, "LC_ALL": locale, "COLUMNS": "200"},
            capture_output=True,
            check=False,
        )
        assert (run.returncode, run.stdout) == (2, b"")
        assert b"stdin is no UTF-8 text (it has the byte 0xFF); write it in UTF-8" in run.stderr


def test_nobody_can_answer(tmp_path: Path) -> None:
    """Neither an empty nor a closed stdin says yes."""
    for number in range(3):
        append(new_table(tmp_path / "t") if not number else open_table(str(tmp_path / "t")), [(number, 1, "x")])
    arguments = [*PROGRAM, "expire", str(tmp_path / "t"), "--retain-max", "1", "--retain-min", "1"]
    for redirected in ("</dev/null", "<&-"):
        child = subprocess.run(
            ["sh", "-c", f'"$@" {redirected}', "sh", *arguments],
            check=False,
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
        )
        assert (child.returncode, "nothing was changed" in child.stdout + child.stderr) == (1, True), child
        assert "Traceback" not in child.stderr
    assert len(open_table(str(tmp_path / "t")).snapshots.ids()) == 3


def test_a_closed_output(tmp_path: Path) -> None:
    """Rows, a text for a person, help and the version that nobody gets are not a success; a silent command is one."""
    append(new_table(tmp_path / "t"), [(1, 1, "x")])
    table = str(tmp_path / "t")
    asked = [["read", table, "--output", output] for output in ("json", "csv", "text")]
    for arguments in (*asked, ["tags", table], ["create-tag", table, "a"], ["read", "--help"], ["--version"]):
        shell = ["sh", "-c", '"$@" >&-', "sh", *PROGRAM, *arguments]
        child = subprocess.run(shell, check=False, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        assert child.returncode == 2, child
        assert "the output could not be written: Bad file descriptor" in " ".join(child.stderr.split()), child
        assert "Traceback" not in child.stderr
    assert open_table(table).system_table("tags").to_arrow().column("tag_name").to_pylist() == ["a"]


def test_an_output_that_fails_after_the_work(tmp_path: Path) -> None:
    """The message tells that the work was done, and does not tell it of a dry run."""
    table = str(GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path))
    retain = ["--retain-max", "1", "--retain-min", "1"]
    for arguments, is_done in (
        (["create-tag", table, "a"], True),
        (["alter", table, "set-comment", "v", "x", "--dry-run"], False),
        (["alter", table, "set-comment", "v", "x"], True),
        (["expire", table, *retain, "--dry-run"], False),
        (["expire", table, *retain], False),
        (["expire", table, *retain, "--yes", "--output", "json"], True),
        (["count", table], False),
        (["delete-tag", table, "a", "--yes"], True),
    ):
        for target in ("/dev/full", "&-"):
            shell = ["sh", "-c", f'"$@" >{target}', "sh", *PROGRAM, *arguments]
            child = subprocess.run(shell, check=False, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
            if child.stderr.startswith(f"paimon-spark {arguments[0]}: the output could not be written"):
                assert child.stderr.endswith("; the work of the command was done before\n") == is_done, arguments
                assert child.returncode == 2
            else:  # it was done before already
                assert (arguments[0], target) in {("create-tag", "&-"), ("delete-tag", "&-")}
    assert open_table(table).snapshots.ids() == [7]
    assert open_table(table).schema.by_name["v"].description == "x"


def test_a_long_argument_is_cut_in_messages(tmp_path: Path) -> None:
    for arguments in (
        ["count", f"{tmp_path}/{'x/' * 3000}"],
        ["create-tag", str(GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)), "y" * 5000],
    ):
        told = command(*arguments)
        assert (told.code, len(told.err) < 2000, "…" in told.err) == (2, True, True)


def test_nobody_reads_the_output(tmp_path: Path) -> None:
    append(new_table(tmp_path / "t"), [(i, i, "x" * 50) for i in range(4000)])
    for output in ("json", "text"):
        child = program("read", tmp_path / "t", "--limit", "0", "--output", output)
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.wait(timeout=60) == 141
        assert child.stderr.read() == ""
        child.stderr.close()


SLOW = """
import os, threading
from paimon_spark.cli.program import main
from paimon_spark.file_io import LocalFileIO

def open_input(self, path, size=None, real=LocalFileIO.open_input):
    if "/bucket-" in path:
        os.write(1, b"reading\\n")
        threading.Event().wait(0.3)
    return real(self, path, size)

LocalFileIO.open_input = open_input
main()
"""


OTHER_PROCESSES = """
import os
import paimon_spark.store.compact.local_pool as pool
from paimon_spark.cli.program import main

def submitted(pool, table, task, real=pool._submitted):
    future = real(pool, table, task)
    os.write(1, b"reading\\n")
    return future

pool._submitted = submitted
pool.LocalRunner.__init__.__defaults__ = (4, 0, None)
main()
"""


@pytest.mark.parametrize(
    ("script", "arguments"),
    [(SLOW, ["check"]), (SLOW, ["compact", "--processes", "1"]), (OTHER_PROCESSES, ["compact", "--processes", "2"])],
)
def test_ctrl_c(tmp_path: Path, script: str, arguments: list[str]) -> None:
    """The signal comes in the middle of the work, to all processes of the terminal; a second one changes nothing."""
    made = new_table(tmp_path / "t", {"write-only": "true", "bucket": "8"})
    for start in range(0, 60, 20):
        append(made, [(i, i, "x") for i in range(start, start + 20)])
    before = sorted(path for path in (tmp_path / "t").rglob("*") if path.is_file())
    name, *more = arguments
    child = subprocess.Popen(
        [sys.executable, "-c", script, name, str(tmp_path / "t"), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "reading\n"
    os.killpg(child.pid, signal.SIGINT)
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "stopped; " in err
    assert "Traceback" not in err
    assert sorted(path for path in (tmp_path / "t").rglob("*") if path.is_file()) == before
    assert command("check", tmp_path / "t").code == 0


def test_ctrl_c_is_no_answer(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t", {"write-only": "true"})
    append(made, [(1, 1, "x")])
    append(made, [(2, 2, "x")])
    child = program("rollback", tmp_path / "t", "1", stdin=subprocess.PIPE)
    assert child.stderr is not None
    question = "Go on? [y/N]:"
    assert child.stderr.read(len(question)) == question
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err.strip()) == (130, "stopped; nothing was changed")
    assert out.startswith("would go: 1 snapshot (2)")
    assert made.snapshots.ids() == [1, 2]


def test_an_object_store() -> None:
    with s3_server("lake") as options:
        schema = new_schema(COLUMNS, ("k",), (), {"bucket": "2", "write-only": "true"})
        create_table("s3://lake/t", schema, file_io_for("s3://lake/t", options))
        table = open_table("s3://lake/t", options)
        append(table, [(i, i, "x") for i in range(10)])
        append(table, [(i, i, "y") for i in range(5)])
        reach = [word for pair in options.items() for word in ("-o", "=".join(pair))]
        facts = command("info", "s3://lake/t", *reach, "--output", "json").document
        assert (facts["location"], facts["stored"]["files"], facts["problems"]) == ("s3://lake/t", 4, [])
        assert command("diff", "s3://lake/t", "1", "2", *reach).err == "0 added, 0 removed, 5 changed\n"
        assert command("compact", "s3://lake/t", *reach).code == 0
        assert len(command("files", "s3://lake/t", *reach).cells) == 2
        assert command("expire", "s3://lake/t", "--retain-max", "1", "--retain-min", "1", "-y", *reach).code == 0
        assert command("check", "s3://lake/t", *reach).code == 0
        assert "no Paimon table at s3://lake/u" in command("info", "s3://lake/u", *reach).err


def test_the_store_needs_no_home(tmp_path: Path) -> None:
    """A job of a bare container: no terminal, no home directory, another working directory."""
    table = GoldenTable("java-2.1", "tags_branches").unpack(tmp_path)
    bare = {"PYTHONPATH": ENVIRONMENT["PYTHONPATH"], "PATH": os.environ["PATH"]}
    out = subprocess.check_output([*PROGRAM, "tags", table.name], cwd=table.parent, env=bare, text=True)
    assert "t1" in out
