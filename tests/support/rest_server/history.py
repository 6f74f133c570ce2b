"""Snapshots, branches, tags, consumers and partitions of the tables of the server."""

from __future__ import annotations

import json
from typing import Any

from paimon_spark.errors import NameTaken, SnapshotNotFound
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.paths import latest_hint_path, snapshot_path
from paimon_spark.format.snapshot import Snapshot, encode_snapshot
from paimon_spark.store.history.branches import branch_names, create_branch, delete_branch
from paimon_spark.store.history.consumers import reset_consumer
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.holds.consumer_files import consumer_positions
from support.rest_server.answers import Failure, Json, missing, page, taken
from support.rest_server.tables import State, adopt_latest, refused_as_400, totals

_SUMS = ("recordCount", "fileSizeInBytes", "fileCount")


def snapshot_json(snapshot: Snapshot) -> Json:
    """A snapshot as its file holds it."""
    found: Json = json.loads(encode_snapshot(snapshot))
    return found


def branch_of(table: str) -> str:
    """The branch that the name of a table holds."""
    return table.partition("$branch_")[2] or "main"


def commit(state: State, database: str, table: str, body: Json) -> Json:
    """POST ``.../commit``: compare and set."""
    stored, branch = state.stored(database, table), branch_of(table)
    if stored.external:
        raise Failure(501, "TABLE", table, "external paimon table does not support commit in rest server")
    if body["tableId"] != stored.id:
        raise missing("TABLE", table)
    now = stored.latest.get(branch)
    if body.get("baseSnapshotUuid") != (None if now is None else now["snapshot"].get("uuid")):
        return {"success": False}
    snapshot, path = body["snapshot"], stored.path.removeprefix("file:")
    data = json.dumps(snapshot, indent=2).encode()
    if not LocalFileIO().create_if_absent(snapshot_path(path, snapshot["id"], branch), data):
        return {"success": False}
    LocalFileIO().overwrite(latest_hint_path(path, branch), str(snapshot["id"]).encode())
    sums = {key: sum(one[key] for one in body.get("statistics") or ()) for key in _SUMS}
    before = now or totals({})
    stored.latest[branch] = {**before, "snapshot": snapshot, **{key: before[key] + sums[key] for key in _SUMS}}
    for one in body.get("statistics") or () if branch == "main" else ():
        spec = tuple(one["spec"].items())
        old = stored.partitions.get(spec, dict.fromkeys(_SUMS, 0))
        new = {**one, **{key: old[key] + one[key] for key in _SUMS}, "done": old.get("done", False)}
        stored.partitions[spec] = new
        if all(new[key] <= 0 for key in _SUMS):
            del stored.partitions[spec]
    return {"success": True}


def latest(state: State, database: str, table: str) -> Json:
    """GET ``.../snapshot``."""
    found = state.stored(database, table).latest.get(branch_of(table))
    if found is None:
        raise Failure(404, "SNAPSHOT", database, "No Snapshot")
    return {"snapshot": found}


def version(state: State, database: str, table: str, wanted: str) -> Json:
    """GET ``.../snapshots/<version>``."""
    store = state.opened(database, table).snapshots
    if wanted in ("EARLIEST", "LATEST"):
        number = store.earliest_id() if wanted == "EARLIEST" else store.latest_id()
        found = None if number is None else store.find(number)
    elif wanted.isdigit():
        found = store.find(int(wanted))
    else:
        tag = store.find_tag(wanted)
        found = None if tag is None else tag.snapshot
    if found is None:
        raise Failure(404, "SNAPSHOT", wanted, "No Snapshot")
    return {"snapshot": snapshot_json(found)}


def snapshots(state: State, database: str, table: str) -> Json:
    """GET ``.../snapshots``."""
    store = state.opened(database, table).snapshots
    return {"snapshots": [snapshot_json(one) for one in store.walk(store.ids())], "nextPageToken": None}


def roll_back(state: State, database: str, table: str, body: Json) -> None:
    """POST ``.../rollback``."""
    opened, instant = state.opened(database, table), body["instant"]
    number, tag = instant.get("snapshotId"), instant.get("tagName")
    try:
        rollback(opened, snapshot=number, tag=tag)
    except SnapshotNotFound:
        raise missing("SNAPSHOT" if tag is None else "TAG", str(number if tag is None else tag)) from None
    adopt_latest(state, database, table)


def branches(state: State, method: str, database: str, table: str, rest: list[str], body: Json) -> Json:
    """``.../branches``, ``.../branches/<branch>``, ``.../branches/<branch>/forward``."""
    opened, stored = state.opened(database, table), state.stored(database, table)
    if method == "GET":
        return {"branches": branch_names(opened.file_io, opened.location) or None}
    branch = rest[0] if rest else body["branch"]
    try:
        if method == "DELETE":
            delete_branch(opened, branch)
            stored.latest.pop(branch, None)
        elif rest:
            fast_forward(opened, branch)
            adopt_latest(state, database, table)
        else:
            create_branch(opened, branch, tag=body.get("fromTag"))
            adopt_latest(state, database, f"{table}$branch_{branch}")
    except NameTaken:
        raise taken("BRANCH", branch) from None
    except SnapshotNotFound as error:
        raise missing("BRANCH" if rest else "TAG", branch) from error
    return {}


def tags(state: State, method: str, database: str, table: str, rest: list[str], body: Json, query: Any) -> Json:
    """``.../tags``, ``.../tags/<tag>``."""
    opened = state.opened(database, table)
    known = opened.snapshots.tags()
    if rest and rest[0] not in known:
        raise missing("TAG", rest[0])
    if method == "DELETE":
        delete_tags(opened, rest[0])
        return {}
    if method == "POST":
        with refused_as_400():
            try:
                create_tag(
                    opened, body["tagName"], snapshot=body.get("snapshotId"), time_retained=body.get("timeRetained")
                )
            except NameTaken:
                raise taken("TAG", body["tagName"]) from None
            except SnapshotNotFound:
                raise missing("SNAPSHOT", str(body.get("snapshotId"))) from None
        return {}
    if rest:
        tag = known[rest[0]]
        return {
            "tagName": rest[0],
            "snapshot": snapshot_json(tag.snapshot),
            "tagCreateTime": None,
            "tagTimeRetained": None,
        }
    prefix = query.get("tagNamePrefix", "").rstrip("%")
    return page("tags", ((name, name) for name in known if name.startswith(prefix)), query, state.page_size)


def partitions(state: State, method: str, database: str, table: str, rest: list[str], body: Json, query: Any) -> Json:
    """``.../partitions``, ``/drop``, ``/mark``, ``/list-by-names``."""
    stored = state.stored(database, table)
    specs = [tuple(spec.items()) for spec in body.get("specs") or ()]
    match method, rest:
        case "GET", []:
            named = (("/".join(f"{k}={v}" for k, v in spec), one) for spec, one in stored.partitions.items())
            return page("partitions", named, query, state.page_size)
        case "POST", []:  # of a format table
            for spec in body["partitionSpecs"]:
                stored.partitions.setdefault(tuple(spec.items()), {"spec": spec})
            return {}
        case "POST", ["drop"]:
            for spec in body["partitionSpecs"]:
                stored.partitions.pop(tuple(spec.items()), None)
            return {}
        case "POST", ["list-by-names"]:
            return {"partitions": [stored.partitions[spec] for spec in specs if spec in stored.partitions]}
        case "POST", ["mark"]:
            for spec in specs:
                stored.partitions[spec]["done"] = True
            return {}
    raise Failure(501, None, None, "not in this server")


def consumers(state: State, method: str, database: str, table: str, body: Json) -> Json:
    """``.../consumers``, ``.../consumers/reset``."""
    opened = state.opened(database, table)
    if method == "POST":
        with refused_as_400():
            reset_consumer(opened, body["consumerId"], body.get("nextSnapshotId"))
        return {}
    found = consumer_positions(opened.file_io, opened.location)
    return {"consumers": [{"consumerId": name, "nextSnapshot": number} for name, number in found.items()]}
