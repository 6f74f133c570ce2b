"""What goes wrong between a Hive catalog, its metastore and the files; and the locks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from support.faults.cut_connections import CuttingProxy, cutting_proxy
from support.programs.hive_metastore import HiveMetastore
from support.tables.catalog_tables import ORDERS, append, ids_of, schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.hive.locks import table_lock
from paimon_spark.catalogs.hive.names import HiveNames
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import CatalogUnavailable, SchemaError
from paimon_spark.file_io import LocalFileIO, NotCreated, UnprovedStore
from paimon_spark.store.metadata.alter import set_option

pytestmark = pytest.mark.interop


@pytest.fixture
def proxy(metastore: HiveMetastore) -> Iterator[CuttingProxy]:
    with cutting_proxy(metastore.port) as made:
        yield made


def through(proxy: CuttingProxy, hive_options: dict[str, str]) -> FileCatalog:
    made = open_catalog({**hive_options, "uri": f"thrift://localhost:{proxy.port}"})
    assert isinstance(made.names, HiveNames)
    return made


def test_the_lock_stands_in_for_a_storage_that_creates_no_file_only_if_it_is_absent(
    hive_options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(self: LocalFileIO, path: str, data: bytes) -> bool:
        raise UnprovedStore("no conditional put")

    hive = open_catalog(hive_options | {"lock.enabled": "false"})
    hive.create_database("shop")
    monkeypatch.setattr(LocalFileIO, "create_if_absent", cannot)
    with pytest.raises(UnprovedStore):
        hive.create_table(ORDERS, schema())
    locked = open_catalog(hive_options | {"lock.enabled": "true"})
    locked.create_table(ORDERS, schema())
    append(locked.load_table(ORDERS), 1)
    set_option(locked.load_table(ORDERS), "file.format", "orc")
    append(locked.load_table(ORDERS), 2)
    assert ids_of(locked.load_table(ORDERS)) == [1, 2]
    with pytest.raises(UnprovedStore):
        append(hive.load_table(ORDERS), 3)


def test_changes_take_the_lock(hive_options: dict[str, str]) -> None:
    locked = {
        **hive_options,
        "lock.enabled": "true",
        "lock-acquire-timeout": "300 ms",
        "lock-check-max-sleep": "100 ms",
    }
    hive = open_catalog(locked)
    assert isinstance(hive.names, HiveNames)
    hive.create_database("shop")
    hive.create_table(ORDERS, schema())
    opened, new = hive.load_table(ORDERS), Identifier("shop", "new")
    with table_lock(hive.names.metastore, ORDERS):
        with pytest.raises(NotCreated, match="others have held the lock"):
            append(opened, 1)
        with pytest.raises(NotCreated, match="others have held the lock"):
            set_option(opened, "file.format", "orc")
    with table_lock(hive.names.metastore, new), pytest.raises(CatalogUnavailable, match="others have held the lock"):
        hive.create_table(new, schema())
    with table_lock(hive.names.metastore, ORDERS), pytest.raises(CatalogUnavailable, match="others have held the lock"):
        hive.drop_table(ORDERS)
    for held in (ORDERS, new):
        with (
            table_lock(hive.names.metastore, held),
            pytest.raises(CatalogUnavailable, match="others have held the lock"),
        ):
            hive.rename_table(ORDERS, new)
    append(opened, 2)
    assert ids_of(hive.load_table(ORDERS)) == [2]
    without = open_catalog(hive_options)
    with table_lock(hive.names.metastore, ORDERS):
        append(without.load_table(ORDERS), 3)


def test_a_lock_is_waited_for(hive_options: dict[str, str]) -> None:
    hive = open_catalog({**hive_options, "lock.enabled": "true"})
    assert isinstance(hive.names, HiveNames)
    hive.create_database("shop")
    hive.create_table(ORDERS, schema())
    begun = threading.Event()

    def late() -> None:
        begun.set()
        append(hive.load_table(ORDERS), 1)

    with table_lock(hive.names.metastore, ORDERS):
        thread = threading.Thread(target=late)
        thread.start()
        begun.wait()
        assert ids_of(hive.load_table(ORDERS)) == []
    thread.join()
    assert ids_of(hive.load_table(ORDERS)) == [1]


def test_a_dropped_connection_is_replaced(proxy: CuttingProxy, hive_options: dict[str, str]) -> None:
    hive = through(proxy, hive_options)
    hive.create_database("shop")
    proxy.cut()
    assert hive.list_databases() == ["default", "shop"]
    proxy.cut()
    hive.create_table(ORDERS, schema())
    proxy.cut_at("get_all_tables", late=True)
    assert hive.list_tables("shop") == ["orders"]
    assert proxy.connections == 4


def test_what_is_left_by_a_connection_that_breaks(proxy: CuttingProxy, hive_options: dict[str, str]) -> None:
    hive, unknown = through(proxy, hive_options), "gives no answer.* Whether the metastore has done it is not known"
    hive.create_database("shop")
    proxy.cut_at("create_table", late=False)
    with pytest.raises(CatalogUnavailable, match=unknown):
        hive.create_table(ORDERS, schema())
    assert hive.list_tables("shop") == []
    with pytest.raises(SchemaError, match=r"CALL sys.repair\('shop.orders'\) makes it a table again"):
        hive.create_table(ORDERS, schema())
    hive.repair("shop", "orders")
    append(hive.load_table(ORDERS), 1)
    opened = hive.load_table(ORDERS)
    proxy.cut_at("alter_table_with_environment_context", late=False)
    with pytest.raises(CatalogUnavailable, match="has its new schema 1; only the copy"):
        set_option(opened, "file.format", "orc")
    assert "file.format" not in hive.names.hive_table(ORDERS).parameters
    hive.repair()
    assert hive.names.hive_table(ORDERS).parameters["file.format"] == "orc"
    proxy.cut_at("alter_table_with_environment_context", late=True)
    new = Identifier("shop", "new")
    with pytest.raises(CatalogUnavailable, match=unknown):
        hive.rename_table(ORDERS, new)
    assert (hive.list_tables("shop"), ids_of(hive.load_table(new))) == (["new"], [1])
    proxy.cut_at("drop_table", late=True)
    with pytest.raises(CatalogUnavailable, match=unknown):
        hive.drop_table(new)
    assert hive.list_tables("shop") == []
    hive.repair("shop")
    assert ids_of(hive.load_table(new)) == [1], "the files were not deleted before the name"
    proxy.cut_at("create_table", late=True)
    with pytest.raises(CatalogUnavailable, match=unknown):
        hive.create_table(ORDERS, schema())
    assert hive.list_tables("shop") == ["new", "orders"]


def test_what_is_reported_of_a_server_that_is_none(hive_options: dict[str, str], metastore: HiveMetastore) -> None:
    with socket.create_server(("localhost", 0)) as nobody:
        port = nobody.getsockname()[1]
    down = open_catalog({**hive_options, "uri": f"thrift://localhost:{port}"})
    with pytest.raises(CatalogUnavailable, match=f"thrift://localhost:{port} gives no answer.*see that it runs"):
        down.list_databases()
    both = open_catalog({**hive_options, "uri": f"thrift://localhost:{port}, {metastore.uri}"})
    assert both.list_databases() == ["default"]
    with socket.create_server(("localhost", 0)) as other:
        thread = threading.Thread(target=_answer_wrongly, args=(other,), daemon=True)
        thread.start()
        wrong = open_catalog({**hive_options, "uri": f"thrift://localhost:{other.getsockname()[1]}"})
        with pytest.raises(CatalogUnavailable, match="has the port of the Thrift service"):
            wrong.list_databases()
    hive = open_catalog(hive_options)
    assert isinstance(hive.names, HiveNames)
    with pytest.raises(CatalogUnavailable, match="this release needs Hive"):
        hive.names.metastore._read("trying", lambda client: client.get_catalogs())


def _answer_wrongly(listener: socket.socket) -> None:
    for _ in range(2):
        client, _ = listener.accept()
        with client:
            client.recv(100)
            client.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
