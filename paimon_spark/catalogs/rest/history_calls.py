"""The calls about the history of a table: snapshots, branches, tags, consumers, and partitions (Java: RESTApi)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paimon_spark.catalogs.rest.calls import Calls, Json, object_in


class HistoryCalls(Calls):
    """Snapshots, branches, tags, consumers, partitions; all calls raise as RestApi says."""

    def commit(
        self, database: str, table: str, table_id: str | None, base: str | None, snapshot: Json, statistics: list[Json]
    ) -> bool:
        """Publishes a snapshot if the latest one has the UUID base (None: there is none). False: it has another."""
        body = {"tableId": table_id, "baseSnapshotUuid": base, "snapshot": snapshot, "statistics": statistics}
        return bool(self._http.post(self._paths.table(database, table, "commit"), body).get("success"))

    def latest_snapshot(self, database: str, table: str) -> Json:
        """The latest snapshot with totals of the table: snapshot, recordCount, ..."""
        return object_in(self._http.get(self._paths.table(database, table, "snapshot")), "snapshot")

    def snapshot(self, database: str, table: str, version: str) -> Json:
        """The snapshot of an id or a tag, EARLIEST or LATEST."""
        return object_in(self._http.get(self._paths.table(database, table, "snapshots", version)), "snapshot")

    def list_snapshots(self, database: str, table: str) -> list[Json]:
        """All."""
        return list(self._pages(self._paths.table(database, table, "snapshots"), "snapshots"))

    def roll_back(self, database: str, table: str, instant: Json, latest: int | None = None) -> None:
        """Takes back what came after an instant: {type: snapshot, snapshotId} or {type: tag, tagName}."""
        body: Json = {"instant": instant}
        if latest is not None:
            body["fromSnapshot"] = latest
        self._http.post(self._paths.table(database, table, "rollback"), body)

    def roll_back_schema(self, database: str, table: str, schema_id: int) -> None:
        """Takes back the schemas after one."""
        self._http.post(self._paths.table(database, table, "rollback-schema"), {"schemaId": schema_id})

    # ---------------------------------------------------------------------------------- branches, tags, consumers

    def list_branches(self, database: str, table: str) -> list[str]:
        """The names without main."""
        return list(self._http.get(self._paths.table(database, table, "branches")).get("branches") or ())

    def create_branch(self, database: str, table: str, branch: str, tag: str | None) -> None:
        """Creates one of a tag, or without rows."""
        self._http.post(self._paths.table(database, table, "branches"), {"branch": branch, "fromTag": tag})

    def drop_branch(self, database: str, table: str, branch: str) -> None:
        """Drops one."""
        self._http.delete(self._paths.table(database, table, "branches", branch))

    def fast_forward(self, database: str, table: str, branch: str) -> None:
        """Gives the table the state of a branch."""
        self._http.post(self._paths.table(database, table, "branches", branch, "forward"), {})

    def list_tags(self, database: str, table: str, prefix: str | None = None) -> list[str]:
        """The names."""
        return list(self._pages(self._paths.table(database, table, "tags"), "tags", tagNamePrefix=prefix))

    def get_tag(self, database: str, table: str, tag: str) -> Json:
        """tagName, snapshot, tagCreateTime, tagTimeRetained."""
        return self._http.get(self._paths.table(database, table, "tags", tag))

    def create_tag(self, database: str, table: str, tag: str, snapshot: int | None, retained: str | None) -> None:
        """Creates one of a snapshot (None: the latest)."""
        body = {"tagName": tag, "snapshotId": snapshot, "timeRetained": retained}
        self._http.post(self._paths.table(database, table, "tags"), body)

    def delete_tag(self, database: str, table: str, tag: str) -> None:
        """Deletes one."""
        self._http.delete(self._paths.table(database, table, "tags", tag))

    def list_consumers(self, database: str, table: str) -> dict[str, int]:
        """The next snapshot of each consumer."""
        found = self._pages(self._paths.table(database, table, "consumers"), "consumers")
        return {str(one["consumerId"]): int(one["nextSnapshot"]) for one in found}

    def reset_consumer(self, database: str, table: str, consumer: str, next_snapshot: int | None) -> None:
        """Puts a consumer before a snapshot; None: deletes it."""
        body = {"consumerId": consumer, "nextSnapshotId": next_snapshot}
        self._http.post(self._paths.table(database, table, "consumers", "reset"), body)

    # ------------------------------------------------------------------------------------------------------ partitions

    def list_partitions(self, database: str, table: str, pattern: str | None = None) -> list[Json]:
        """spec, recordCount, fileSizeInBytes, fileCount, lastFileCreationTime, totalBuckets, done, ..."""
        path = self._paths.table(database, table, "partitions")
        return list(self._pages(path, "partitions", partitionNamePattern=pattern))

    def list_partitions_by_names(self, database: str, table: str, specs: Sequence[Mapping[str, str]]) -> list[Json]:
        """As list_partitions, of those that are named."""
        path = self._paths.table(database, table, "partitions", "list-by-names")
        return list(self._http.post(path, {"specs": [dict(spec) for spec in specs]}).get("partitions") or ())

    def create_partitions(self, database: str, table: str, specs: Sequence[Mapping[str, str]]) -> None:
        """Adds partitions to a table whose partitions the server manages."""
        self._http.post(self._paths.table(database, table, "partitions"), {"specs": [dict(spec) for spec in specs]})

    def drop_partitions(self, database: str, table: str, specs: Sequence[Mapping[str, str]]) -> None:
        """Drops them."""
        path = self._paths.table(database, table, "partitions", "drop")
        self._http.post(path, {"specs": [dict(spec) for spec in specs]})

    def mark_partitions_done(self, database: str, table: str, specs: Sequence[Mapping[str, str]]) -> None:
        """Marks partitions as complete."""
        path = self._paths.table(database, table, "partitions", "mark")
        self._http.post(path, {"specs": [dict(spec) for spec in specs]})
