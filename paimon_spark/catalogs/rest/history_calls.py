"""The calls about the history of a table: snapshots, branches, tags, consumers, and partitions (Java: RESTApi)."""

from __future__ import annotations

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

    def roll_back(self, database: str, table: str, instant: Json, latest: int | None = None) -> None:
        """Takes back what came after an instant: {type: snapshot, snapshotId} or {type: tag, tagName}."""
        body: Json = {"instant": instant}
        if latest is not None:
            body["fromSnapshot"] = latest
        self._http.post(self._paths.table(database, table, "rollback"), body)

    # ---------------------------------------------------------------------------------- branches, tags, consumers

    def create_branch(self, database: str, table: str, branch: str, tag: str | None) -> None:
        """Creates one of a tag, or without rows."""
        self._http.post(self._paths.table(database, table, "branches"), {"branch": branch, "fromTag": tag})

    def drop_branch(self, database: str, table: str, branch: str) -> None:
        """Drops one."""
        self._http.delete(self._paths.table(database, table, "branches", branch))

    def fast_forward(self, database: str, table: str, branch: str) -> None:
        """Gives the table the state of a branch."""
        self._http.post(self._paths.table(database, table, "branches", branch, "forward"), {})

    # ------------------------------------------------------------------------------------------------------ partitions

    def list_partitions(self, database: str, table: str, pattern: str | None = None) -> list[Json]:
        """spec, recordCount, fileSizeInBytes, fileCount, lastFileCreationTime, totalBuckets, done, ..."""
        path = self._paths.table(database, table, "partitions")
        return list(self._pages(path, "partitions", partitionNamePattern=pattern))
