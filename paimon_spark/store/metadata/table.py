"""A table as a value: its location, schema and options (Java: FileStoreTable).

``store/open.py`` opens tables and starts reads and writes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Self

from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import CorruptFile, SnapshotNotFound, TableChanged, TableNotFound
from paimon_spark.file_io import FileIO, is_far
from paimon_spark.format.options.index_settings import GlobalIndexSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table_options import WITHOUT_FALLBACK, other_branch
from paimon_spark.store.storage.parallel import begin
from paimon_spark.store.storage.served import BlobViews, QueryAuth, TableServer


class BucketMode(StrEnum):
    """How the bucket of a row is determined (features 3.23)."""

    HASH_FIXED = "HASH_FIXED"
    HASH_DYNAMIC = "HASH_DYNAMIC"
    KEY_DYNAMIC = "KEY_DYNAMIC"
    BUCKET_UNAWARE = "BUCKET_UNAWARE"
    POSTPONE_MODE = "POSTPONE_MODE"


@dataclass(frozen=True)
class Table:
    """One table as a caller opened it; picklable.

    Attributes:
        location: the table directory, absolute, without a slash at its end.
        file_io: the store of its files.
        schema: the latest schema, or that of the snapshot of a time travel; its options are the stored ones.
        settings: the stored options with those of the caller on top.
        branch: the branch whose schemas and snapshots are used.
        time_zone: the zone for conditions that compare local times with instants; None: these conditions are refused.
        server: publishes its snapshots and schemas; None: the creation of their files does.
        opened: the latest schema when the table was opened, which is in a file as long as the table is there; None: a
            server knows the table, or nobody has opened it.
        auth: tells which rows and values may be read; None: all. Reads for users keep to it, those for writers do not.
        kept_references: its rows are read to be written again, and these of its BLOB columns as references, which a
            write follows or keeps. Bytes of the others are a reference too if they begin as one does: a write would
            follow them. None: all are bytes.
        views: follows the values of `blob-view-field` to rows of other tables; None: the table has no such columns, or
            nobody told of its catalog when it was opened.
    """

    location: str
    file_io: FileIO
    schema: TableSchema
    settings: TableSettings
    branch: str = "main"
    time_zone: TimeZone | None = None
    server: TableServer | None = None
    opened: TableSchema | None = None
    auth: QueryAuth | None = None
    kept_references: frozenset[str] | None = None
    views: BlobViews | None = None

    @cached_property
    def schemas(self) -> SchemaStore:
        return SchemaStore(self.file_io, self.location, self.branch, self.opened)

    @cached_property
    def snapshots(self) -> SnapshotStore:
        return SnapshotStore(self.file_io, self.location, self.branch, self.server)

    def after_commit(self) -> Self:
        """The table as the work sees it that follows a commit by this object: it looks for nothing new."""
        found = replace(self)
        found.__dict__.update(snapshots=self.snapshots.after_commit(), schemas=self.schemas.after_commit())
        return found

    @property
    def is_there(self) -> bool:
        """True if the table that was opened is still at its location: not dropped, renamed, or dropped and made anew.

        The storage is asked. Of a table with a server it says nothing: that compares the ids of tables in a commit.
        """
        return self.opened is None or self.schemas.holds(self.opened)

    def check_still_there(self, what: str = "", doing: str = "reading") -> None:
        """Checks that the table that was opened is still at its location (protocol C11).

        Args:
            what: was found by then, for the message.
            doing: what is done with the table, for the message.

        Raises:
            TableNotFound: it was dropped or renamed.
            TableChanged: another table was made at its place, or it was fast-forwarded to a branch of another schema.
        """
        if self.server is not None:
            self.server.check_still_there()
        if self.is_there:
            return
        branch = "" if self.branch == "main" else f" (branch {self.branch})"
        found = f": {what}" if what else ""
        if self.schemas.ids():
            raise TableChanged(
                f"{doing} the table at {self.location}{branch}: since it was opened, another one was made at its "
                f"place, or a fast-forward has given it the schema of another branch{found}. Open it again, "
                "or load the DataFrame again"
            )
        raise TableNotFound(
            f"{doing} the table at {self.location}{branch}: it is not there; it was dropped or renamed since it "
            f"was opened{found}. Open it again where it is now"
        )

    @contextmanager
    def still_there(self) -> Iterator[Callable[[], None]]:
        """Checks at the end of a block that what it has read is of the table that was opened.

        An error within the block about what was not found, or did not fit, is replaced if the reason is that the table
        is not there any more.

        Returns:
            What the block may call when it has read the last file whose name may be given again: in a store that is far
            the check is made beside the rest of the block, which then reads only what a snapshot names.

        Raises:
            TableNotFound, TableChanged: see check_still_there.
        """
        end: Callable[[], None] = self.check_still_there

        def begin_check() -> None:
            nonlocal end
            if is_far(self.location):
                end = begin(self.check_still_there)

        try:
            yield begin_check
        except (CorruptFile, SnapshotNotFound, TableChanged):
            self.check_still_there()
            raise
        end()

    @property
    def bucket_mode(self) -> BucketMode:
        buckets = self.settings.bucket
        if not self.schema.primary_keys:
            return BucketMode.BUCKET_UNAWARE if buckets == -1 else BucketMode.HASH_FIXED
        if buckets == -2:
            return BucketMode.POSTPONE_MODE
        if buckets == -1:
            covered = set(self.schema.partition_keys) <= set(self.schema.primary_keys)
            return BucketMode.HASH_DYNAMIC if covered else BucketMode.KEY_DYNAMIC
        return BucketMode.HASH_FIXED

    @property
    def unique_names(self) -> list[str]:
        """The columns whose values only one row has: the primary key, with the partition where a key is unique in each.

        Only the dynamic buckets of a key without partition columns keep it unique in the whole table.
        """
        keys = self.schema.primary_keys
        if not keys or self.bucket_mode is BucketMode.KEY_DYNAMIC:
            return list(keys)
        return [*keys, *(name for name in self.schema.partition_keys if name not in keys)]

    @property
    def with_tracking(self) -> Self:
        """The table as writers see it that write its rows again; see TableSchema.with_tracking."""
        return replace(self, schema=self.schema.with_tracking) if self.schema.tracking_fields else self

    @property
    def finds_only_indexed(self) -> bool:
        """True if a read with a condition leaves out rows that no global index covers, because an option says so."""
        settings = self.settings.global_index
        return (settings.scalar_search_mode or settings.search_mode) == "fast"

    @property
    def finding_all_rows(self) -> Self:
        """The table for reads that must not leave out rows that no global index covers: of statements and streams."""
        if not self.finds_only_indexed:
            return self
        return replace(self, settings=self.settings.merged({GlobalIndexSettings.scalar_search_mode.key: "full"}))

    @property
    def without_fallback(self) -> Self:
        """The table without its fallback branch, for writers."""
        if other_branch(self.settings, self.branch) is None:
            return self
        return replace(self, settings=self.settings.merged(WITHOUT_FALLBACK))
