"""What Python shows of an error that leaves a public call."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_spark import col, open_catalog, open_table
from paimon_spark.arguments.checks import SETTING, checked, checks_arguments
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, PaimonError, PredicateError, StorageError
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.arrow_rows import ArrowRows
from paimon_spark.store.write.table_write import TableWrite


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of the project see all calls."""
    monkeypatch.delenv(SETTING, raising=False)


def shown(call: Callable[[], object]) -> str:
    """What Python prints of the error of a call, without the frame of this function."""
    try:
        call()
    except Exception as error:  # what is raised is the matter of the caller
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        return "".join(traceback.format_exception(error))
    raise AssertionError("nothing was raised")


def frames(text: str) -> int:
    return text.count('\n  File "')


def below(depth: int, error: Exception) -> None:
    if depth:
        below(depth - 1, error)
    try:
        raise KeyError("inner")
    except KeyError as cause:
        raise error from cause


@checks_arguments
class Thing:
    """A class with public calls."""

    def call(self, error: object) -> None:
        """Fails, far below."""
        assert isinstance(error, Exception)
        below(10, error)

    def outer(self, error: object) -> None:
        """Fails in another public call."""
        self.call(error)

    def __getitem__(self, name: str) -> object:
        below(10, OptionError(f"no {name}"))
        return name


@checked
def function(error: object) -> None:
    """A public function."""
    Thing().outer(error)


def test_the_sentence_and_the_line_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    thing = Thing()
    for call in (thing.call, thing.outer, function):
        text = shown(lambda call=call: call(StorageError("it failed")))  # type: ignore[misc]  # mypy loses the argument
        assert text.startswith("KeyError: 'inner'\n\nThe above exception was the direct cause")
        assert text.endswith("paimon_spark.errors.StorageError: it failed\n")
        assert frames(text) == 2  # the lambda, and the public call
        assert "in below" not in text
    assert frames(shown(lambda: thing["x"])) == 2
    assert "'name' is 3: expected a text" in shown(lambda: thing[3])  # type: ignore[index]
    monkeypatch.setenv(SETTING, "full")
    assert "in below" in shown(lambda: thing.outer(StorageError("it failed")))


def test_an_error_while_batches_are_read(stored: ReadableTable) -> None:
    batches = stored.scan().to_batches()
    shutil.rmtree(stored.location)
    text = shown(lambda: list(batches))
    assert "paimon_spark.errors.TableNotFound: reading the table at " in text
    assert frames(text) == 2


def test_a_bug_stays_whole() -> None:
    text = shown(lambda: Thing().outer(ZeroDivisionError("a fault of ours")))
    assert "[Previous line repeated" in text
    assert "KeyError: 'inner'" in text


def test_the_cause_is_there_for_programs() -> None:
    with pytest.raises(PaimonError) as raised:
        Thing().call(StorageError("it failed"))
    assert isinstance(raised.value.__cause__, KeyError)
    assert raised.value.__cause__.__traceback__ is None


def test_tables_and_catalogs_without_spark(tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text("1,2\n")
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: open_table(f"{tmp_path}/none"), "TableNotFound: no Paimon table at "),
        (lambda: open_table(3), "OptionError: open_table: the argument 'location' is 3: "),  # type: ignore[arg-type]
        (lambda: open_catalog(f"{tmp_path}/lake").list_tables("shop"), "DatabaseNotFound: there is no database 'shop'"),
        (
            lambda: open_table(f"{tmp_path}/file.csv"),
            f"TableNotFound: no Paimon table at {tmp_path}/file.csv: it is a file, or lies below one; a table is a "
            "directory, and format('csv') reads such a file. Check the path",
        ),
    ]
    for call, sentence in calls:
        text = shown(call)
        assert frames(text) == 2, text
        assert f"paimon_spark.errors.{sentence}" in text


@pytest.fixture
def stored(tmp_path: Path) -> ReadableTable:
    """A table of two files, each of which is a batch of a read."""
    create_table(str(tmp_path / "t"), new_schema(pa.schema([("id", pa.int64())])))
    table = open_table(str(tmp_path / "t"))
    for number in (1, 2):
        write = TableWrite(table, f"user {number}")
        write.write(pa.record_batch({"id": [number]}))
        TableCommit(table, f"user {number}").append(write.finish())
    return open_table(table.location, {"source.split.target-size": "1 b"})


def test_an_error_before_a_stream_of_arrow_begins(stored: ReadableTable) -> None:
    readers: list[Any] = [stored, stored.scan(), stored.system_table("files"), stored.system_table("audit_log")]
    shutil.rmtree(stored.location)
    for rows in readers:
        for taken in (pa.table, pa.RecordBatchReader.from_stream):
            text = shown(lambda taken=taken, rows=rows: taken(rows))  # type: ignore[misc]
            assert "paimon_spark.errors.TableNotFound: reading the table at " in text
            assert "in to_batches" not in text


@pytest.mark.parametrize("name", ["scan", "audit_log"])
def test_an_error_in_the_middle_of_a_stream_of_arrow(name: str, stored: ReadableTable) -> None:
    """Arrow's own error has our sentence, and no call."""
    rows: Any = stored.scan() if name == "scan" else stored.system_table(name)
    reader = pa.RecordBatchReader.from_stream(rows)
    assert reader.read_next_batch().num_rows == 1
    shutil.rmtree(stored.location)
    with pytest.raises(pa.ArrowInvalid) as raised:
        reader.read_all()
    text = str(raised.value)
    assert "it was dropped or renamed since it was opened" in text
    assert "Open it again where it is now" in text
    assert 'File "' not in text
    assert "Traceback" not in text
    assert len(text.strip().splitlines()) == 1


def test_a_bug_in_the_middle_of_a_stream_of_arrow_stays_whole() -> None:
    class Faulty(ArrowRows):
        arrow_schema = pa.schema([("id", pa.int64())])

        def to_batches(self) -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"id": [1]})
            raise ZeroDivisionError("a fault of ours")

        def to_arrow(self) -> pa.Table:
            return pa.Table.from_batches(self.to_batches())

    with pytest.raises(pa.ArrowInvalid, match=r"(?s)Traceback.*in to_batches.*a fault of ours"):
        pa.table(Faulty())


def test_texts_that_are_no_utf8(tmp_path: Path) -> None:
    """The words before the colon; a value of an option is not shown."""
    schema = new_schema(pa.schema([("v", pa.string())]), (), (), {})
    table, half = str(tmp_path / "t"), "x\ud800"
    create_table(table, schema)
    wrong = "no UTF-8 text (it has the character U+D800): expected a text in UTF-8"
    for call, words in (
        (lambda: open_table(f"{table}{half}"), "the argument 'location' is "),
        (lambda: open_table(Path(f"{table}{half}")), "the argument 'location' is "),
        (lambda: open_table(table, version=half), "the argument 'version' is "),
        (lambda: open_table(table, {"scan.tag-name": half}), "has a value for the key 'scan.tag-name' that is "),
        (lambda: open_table(table, {half: "1"}), r"has the key 'x\ud800', which is "),
        (lambda: open_catalog(f"{table}{half}"), "the argument 'options' is "),
        (lambda: open_catalog(table).create_database(half), "the argument 'name' is "),
        (lambda: open_table(table).scan([half]), r"the argument 'columns' is 'x\ud800', which is "),
    ):
        with pytest.raises(OptionError) as found:
            call()
        assert words in str(found.value)
        assert str(found.value).endswith(wrong)
        assert str(found.value).encode()
    for condition in (col("v") == half, col("v").isin("a", half), col("v").startswith(half), f"v = '{half}'"):
        with pytest.raises(PredicateError, match=r"is no UTF-8 text .it has the character U.D800.; write it in UTF-8"):
            open_table(table).scan(where=condition)


def test_a_name_of_a_table_that_is_no_utf8() -> None:
    with pytest.raises(OptionError, match=r"'table' is 't.ud800', which is no UTF-8 text .it has "):
        Identifier("d", "t\ud800")
