"""Commits that a REST server publishes: races, and answers that are lost (protocol C1, C2, C7)."""

from __future__ import annotations

import os
import pickle
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from support.rest_server import Fault, RestServer, When
from support.rest_server.history import snapshot_json
from support.tables.catalog_tables import append, ids_of, schema

from paimon_spark import open_catalog
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.rest.options import rest_options
from paimon_spark.catalogs.rest.token_files import TokenFileIO
from paimon_spark.errors import AccessDenied, CommitStateUnknown, PaimonError, StorageError, TableChanged, TableNotFound
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.write.table_write import TableWrite

LOST = Fault("/commit", When.AFTER)
NOT_DONE = Fault("/commit", When.BEFORE)


def files_of(table: ReadableTable) -> set[Path]:
    return {path for path in Path(table.location.removeprefix("file:")).rglob("*") if path.is_file()}


def commits(server: RestServer) -> int:
    return sum(path.endswith("/commit") for _, path, _ in server.requests)


def test_the_server_publishes(server: RestServer, table: ReadableTable) -> None:
    append(table, 1)
    append(pickle.loads(pickle.dumps(table)), 2)
    latest = table.snapshots.latest()
    assert latest is not None
    assert (latest.id, commits(server), ids_of(table)) == (2, 2, [1, 2])
    assert latest == table.snapshots.find(2)


def test_the_server_says_what_is_the_latest(server: RestServer, catalog: Catalog, name: Identifier) -> None:
    """A snapshot that only has a file is none yet."""
    table = catalog.load_table(name)
    append(table, 1)
    append(table, 2)
    stored = server.state.tables[name.database, name.table]
    first = server.state.opened(name.database, name.table).snapshots.find(1)
    stored.latest["main"] = {**stored.latest["main"], "snapshot": snapshot_json(first)}
    assert ids_of(catalog.load_table(name)) == [1]


def test_races(server: RestServer, catalog: Catalog, name: Identifier) -> None:
    """Each of six writers commits four times; the server lets one through for each base."""
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            table = open_catalog(server.options).load_table(name, {"commit.max-retries": "100"})
            for number in range(4):
                append(table, writer * 10 + number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table = catalog.load_table(name)
    assert not failures
    assert ids_of(table) == sorted(writer * 10 + number for writer in range(6) for number in range(4))
    assert table.snapshots.ids() == list(range(1, 25))


@pytest.mark.parametrize("fault", [LOST, Fault("/commit", When.AFTER, 500), Fault("/commit", When.AFTER, 503)])
def test_a_lost_answer_of_a_commit_that_was_done(server: RestServer, table: ReadableTable, fault: Fault) -> None:
    append(table, 1)
    server.faults.append(fault)
    append(table, 2)
    assert ids_of(table) == [1, 2]
    assert table.snapshots.ids() == [1, 2]


@pytest.mark.parametrize("fault", [NOT_DONE, Fault("/commit", When.BEFORE, 500), Fault("/commit", When.BEFORE, 429)])
def test_a_commit_that_was_not_done_is_sent_again(server: RestServer, table: ReadableTable, fault: Fault) -> None:
    server.faults.append(fault)
    append(table, 1)
    assert (ids_of(table), commits(server)) == ([1], 2)


def test_without_any_answer_nothing_is_deleted(server: RestServer, table: ReadableTable) -> None:
    append(table, 1)
    before = files_of(table)
    server.faults.extend([NOT_DONE] * 3)
    with pytest.raises(CommitStateUnknown, match=r"may or may not be published.*Nothing was deleted"):
        append(table, 2)
    assert before < files_of(table)
    append(table, 3)
    assert ids_of(table) == [1, 3]


def test_the_same_commit_comes_again_after_a_lost_answer(server: RestServer, table: ReadableTable) -> None:
    """It is found in the history, and not done twice."""
    server.faults.extend([Fault("/commit", When.AFTER), Fault("/commit"), Fault("/commit")])
    user = uuid4().hex
    task = TableWrite(table, user)
    task.write(pa.RecordBatch.from_pydict({"id": [5]}, schema=arrow_schema(table.schema.fields)))
    messages = task.finish()
    TableCommit(table, user, 0).append(messages, 7)
    TableCommit(table, user, 0).append(messages, 7)
    assert (ids_of(table), table.snapshots.ids()) == ([5], [1])


@pytest.mark.parametrize("status", [400, 403])
def test_a_commit_that_is_refused_leaves_no_files(server: RestServer, table: ReadableTable, status: int) -> None:
    append(table, 1)
    before = files_of(table)
    server.faults.append(Fault("/commit", When.BEFORE, status))
    with pytest.raises(StorageError, match=f"committing to db .*answers {status}"):
        append(table, 2)
    left = files_of(table) - before
    assert not [path for path in left if "manifest" in str(path)]
    assert ids_of(table) == [1]


@pytest.mark.parametrize("step", ["tables/", "/snapshot", "/commit", "databases"])
@pytest.mark.parametrize("when", list(When))
def test_every_request_failing_once(
    server: RestServer, catalog: Catalog, name: Identifier, step: str, when: When
) -> None:
    """The server fails before and after each request of a commit: it is done once, or it is not done."""
    append(catalog.load_table(name), 1)
    server.faults.append(Fault(step, when))
    try:
        append(catalog.load_table(name), 2)
    except PaimonError:
        assert ids_of(catalog.load_table(name)) in ([1], [1, 2])
    else:
        assert ids_of(catalog.load_table(name)) == [1, 2]


def test_a_dropped_table_takes_no_commit(catalog: Catalog, name: Identifier) -> None:
    """Another table of the same name is another table (tableId)."""
    table = catalog.load_table(name)
    catalog.drop_table(name)
    catalog.create_table(name, schema())
    with pytest.raises((StorageError, TableNotFound)):
        append(table, 1)
    assert ids_of(catalog.load_table(name)) == []


def test_a_held_table_does_not_read_another_one_of_its_name(catalog: Catalog, name: Identifier) -> None:
    """The server has it in the same directory, with the same columns and the same number of its snapshot."""
    held = catalog.load_table(name)
    append(held, 1)
    scan = pickle.loads(pickle.dumps(held.scan()))
    catalog.drop_table(name)
    with pytest.raises(TableNotFound):
        scan.to_arrow()
    catalog.create_table(name, schema())
    append(catalog.load_table(name), 2)
    for read in (scan.to_arrow, scan.count, held.scan().to_arrow, lambda: held.scan().max("id")):
        with pytest.raises(TableChanged, match="since it was opened, another table of that name was made in the REST"):
            read()
    with pytest.raises(PaimonError):
        append(held, 3)
    assert ids_of(catalog.load_table(name)) == [2]


def test_credentials_that_expire_while_a_job_runs(server: RestServer, table: ReadableTable) -> None:
    server.faults.append(Fault("/snapshot", When.BEFORE, 401))
    with pytest.raises(AccessDenied, match=r"Check the credentials"):
        append(table, 1)


# --- what is in doubt stays in doubt --------------------------------------------------------------------------------


class Late(LocalFileIO):
    """A store that shows the second snapshot later."""

    def read_bytes(self, path: str) -> bytes:
        if path.endswith("/snapshot-2"):
            raise FileNotFoundError(path)
        return super().read_bytes(path)


def test_after_a_lost_answer_the_server_says_what_is_published(
    server: RestServer, catalog: Catalog, name: Identifier
) -> None:
    """The file of our own snapshot is not visible yet, and a second request would get success=false because of it."""
    append(catalog.load_table(name), 1)
    server.faults.append(LOST)
    append(replace(catalog.load_table(name), file_io=Late()), 2)
    assert (ids_of(catalog.load_table(name)), commits(server)) == ([1, 2], 2)


def test_a_server_that_does_not_say_what_is_published(
    server: RestServer, catalog: Catalog, name: Identifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(catalog.load_table(name), 1)
    table = replace(catalog.load_table(name), file_io=Late())
    before, allows = commits(server), server.allows

    def silent(method: str, path: str, *rest: Any) -> bool:
        return allows(method, path, *rest) and not (path.endswith("/snapshot") and commits(server) > before)

    server.faults.append(LOST)
    with monkeypatch.context() as patch:
        patch.setattr(server, "allows", silent)
        with pytest.raises(CommitStateUnknown, match=r"Nothing was deleted"):
            append(table, 2)
    assert ids_of(catalog.load_table(name)) == [1, 2]


def test_another_commit_after_a_lost_answer(
    server: RestServer, catalog: Catalog, name: Identifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours has certainly lost, so it is tried again on top."""
    append(catalog.load_table(name), 1)
    table, allows, rivals = catalog.load_table(name), server.allows, [3]

    def overtaken(method: str, path: str, *rest: Any) -> bool:
        if path.endswith("/snapshot") and not server.faults and rivals:
            append(catalog.load_table(name), rivals.pop())
        return allows(method, path, *rest)

    server.faults.append(NOT_DONE)
    monkeypatch.setattr(server, "allows", overtaken)
    append(table, 2)
    assert (ids_of(catalog.load_table(name)), rivals) == ([1, 2, 3], [])


@pytest.mark.parametrize("code", [404, 409])
def test_a_gateway_that_gives_up_is_no_refusal(server: RestServer, table: ReadableTable, code: int) -> None:
    """HTTP says 504: whatever code a body has, the server behind it may have done it."""
    append(table, 1)
    server.faults.append(Fault("/commit", When.AFTER, 504, code=code))
    append(table, 2)
    assert (ids_of(table), table.snapshots.ids()) == ([1, 2], [1, 2])


def test_a_fork_has_connections_of_its_own(server: RestServer, catalog: Catalog) -> None:
    """On a shared one each process would read the answers to the other's requests."""
    catalog.list_databases()
    told, telling = os.pipe()
    before = id(catalog.api)
    child = os.fork()
    if child == 0:
        os.write(telling, b"own" if id(catalog.api) != before else b"shared")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(told, 10) == b"own"
    assert id(catalog.api) == before
    os.close(told)
    os.close(telling)


def test_a_refusal_to_lend_credentials_is_one_of_the_storage(server: RestServer, name: Identifier) -> None:
    files = TokenFileIO(rest_options(server.options, "lake"), name.database, name.table, "/nowhere")
    server.faults.append(Fault("/token", When.BEFORE, 400))
    with pytest.raises(StorageError, match=r"asking for credentials of db .*answers 400"):
        files.list("/nowhere")
    gone = TokenFileIO(rest_options(server.options, "lake"), name.database, "none", "/nowhere")
    with pytest.raises(TableNotFound, match=r"asking for credentials of db .*none"):
        gone.list("/nowhere")
