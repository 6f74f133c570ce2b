"""The genuine Java Paimon, one release in one child process: create, alter, write, read and compact tables by path.

    with java_process("2.0.0") as java:
        java.create(path, {"k": "INT NOT NULL", "v": "STRING"}, keys=["k"], options={"bucket": "2"})
        java.write(path, [(1, "a")], kinds=["+I"])
        rows = java.read(path)

A JVM lives once per process, so every release has its own; results travel by pickle, Java errors as RuntimeError.
"""

from __future__ import annotations

import functools
import itertools
import json
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import jpype
from genuine_jars import java_jar, paimon_jar, spark_jars
from genuine_values import codec, objects
from java_table import NO_OPTIONS, file_io_at, table_at

P = ParamSpec("P")
R = TypeVar("R")
Row = tuple[Any, ...]

BATCH = 2**63 - 1  # the commit identifier of batch commits
KINDS = ("+I", "-U", "+U", "-D")
COMMIT_USER = "genuine-java"
# The Hadoop client and logging always; two codecs of parquet.
SUPPORT_JARS = ("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "snappy-java", "lz4-java")


def java_call(method: Callable[P, R]) -> Callable[P, R]:
    """Run on a thread that may not be Java's own: give it the class loader, and make Java errors travel."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        loader = jpype.JClass("org.apache.paimon.fs.Path").class_.getClassLoader()
        jpype.java.lang.Thread.currentThread().setContextClassLoader(loader)
        try:
            return method(*args, **kwargs)
        except jpype.JException as error:
            raise RuntimeError(f"Java: {error.message() or error}\n{error.stacktrace()}") from None

    return call


class Genuine:
    """One release of Java Paimon. Types are as a schema file writes them, values as in genuine_values."""

    def __init__(self, version: str, more: Sequence[str] = (), storage: Mapping[str, str] = NO_OPTIONS) -> None:
        if not jpype.isJVMStarted():
            jars = [str(paimon_jar(version)), *spark_jars(*SUPPORT_JARS), *more]
            jpype.startJVM(
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx1g", "-Duser.timezone=UTC", classpath=jars
            )
        self.version = version
        self._paimon = jpype.JPackage("org.apache.paimon")
        self._storage = dict(storage)
        self._list = jpype.java.util.ArrayList
        self._scratch = tempfile.TemporaryDirectory()

    @java_call
    def create(
        self,
        path: str,
        columns: Mapping[str, Any],
        keys: Sequence[str] = (),
        partitions: Sequence[str] = (),
        options: Mapping[str, str] = NO_OPTIONS,
    ) -> None:
        """A new table; columns: name -> type."""
        ids = itertools.count()
        fields = [{"id": next(ids), "name": name, "type": _with_ids(t, ids)} for name, t in columns.items()]
        text = json.dumps(
            {"fields": fields, "partitionKeys": list(partitions), "primaryKeys": list(keys), "options": dict(options)}
        )
        schema = self._paimon.utils.JsonSerdeUtil.fromJson(text, self._paimon.schema.Schema.class_)
        self._schemas(path).createTable(schema)

    @java_call
    def alter(self, path: str, *changes: tuple[Any, ...]) -> None:
        """Schema changes, one schema file: ("addColumn", name, type), ("renameColumn", old, new), ("dropColumn", name),
        ("updateColumnType", name, type), ("setOption", key, value)."""
        change, made = self._paimon.schema.SchemaChange, []
        for verb, *words in changes:
            if verb in ("addColumn", "updateColumnType"):
                words[1] = self._type(words[1])
            made.append(getattr(change, verb)(*words))
        self._schemas(path).commitChanges(self._list(made))

    @java_call
    def write(
        self,
        path: str,
        rows: Sequence[Row],
        kinds: Sequence[str] | None = None,
        options: Mapping[str, str] = NO_OPTIONS,
        overwrite: Mapping[str, str] | None = None,
    ) -> None:
        """One commit. {"write-only": "true"} leaves out compaction; overwrite {}: the partitions in the rows (or the
        whole table), {"p": "a"}: that partition."""
        table = self._table(path, options)
        codecs = [codec(t) for t in table.rowType().getFieldTypes()]
        kind_of = {k: self._paimon.types.RowKind.fromShortString(k) for k in KINDS}
        bucket_of = self._dynamic_buckets(table) if str(table.bucketMode()) == "HASH_DYNAMIC" else lambda row: ()
        with self._writer(table) as writer:
            if overwrite is not None:
                writer.withIgnorePreviousFiles(True)
            for row, kind in zip(rows, kinds or itertools.repeat("+I"), strict=kinds is not None):
                values = objects([c.encode(v) for c, v in zip(codecs, row, strict=True)])
                made = self._paimon.data.GenericRow.ofKind(kind_of[kind], values)
                writer.write(made, *bucket_of(made))
            self._commit(table, writer.prepareCommit(True, BATCH), overwrite)

    @java_call
    def read(
        self,
        path: str,
        columns: Sequence[str] | None = None,
        options: Mapping[str, str] = NO_OPTIONS,
        equal: tuple[str, Any] | None = None,
    ) -> list[tuple[str, Row]]:
        """All rows as (row kind, values), of the snapshot that scan.* options name or the latest. equal, a column and
        its value, leaves out files and row groups that cannot hold it; other rows may come too."""
        table = self._table(path, options)
        builder = table.newReadBuilder()
        if equal:
            place = table.rowType().getFieldIndex(equal[0])
            literal = codec(table.rowType().getTypeAt(place)).encode(equal[1])
            builder = builder.withFilter(self._paimon.predicate.PredicateBuilder(table.rowType()).equal(place, literal))
        if columns:
            places = [table.rowType().getFieldIndex(name) for name in columns]
            builder = builder.withProjection(jpype.JArray(jpype.JInt)(places))
        codecs, rows = [codec(t) for t in builder.readType().getFieldTypes()], []
        reader = builder.newRead().withIOManager(self._io_manager()).createReader(builder.newScan().plan())
        with reader.toCloseableIterator() as cursor:
            while cursor.hasNext():
                row = cursor.next()  # the same object every time: convert at once
                values = tuple(c.decode(row, i) for i, c in enumerate(codecs))
                rows.append((str(row.getRowKind().shortString()), values))
        return rows

    @java_call
    def audit_log(self, path: str, options: Mapping[str, str] = NO_OPTIONS) -> list[tuple[str, Row]]:
        """What the system table $audit_log shows, of the change that incremental-* options name: (row kind, values)."""
        table = self._table(path, options)
        builder, rows = self._paimon.table.system.AuditLogTable(table).newReadBuilder(), []
        codecs = [codec(t) for t in table.rowType().getFieldTypes()]
        reader = builder.newRead().withIOManager(self._io_manager()).createReader(builder.newScan().plan())
        with reader.toCloseableIterator() as cursor:
            while cursor.hasNext():
                row = cursor.next()
                values = tuple(c.decode(row, i) for i, c in enumerate(codecs, 1))
                rows.append((str(row.getString(0)), values))
        return rows

    @java_call
    def compact(self, path: str, full: bool = True, options: Mapping[str, str] = NO_OPTIONS) -> None:
        """Compact every bucket, or the small files of an append table without buckets."""
        table = self._table(path, {"write-only": "false", "compaction.min.file-num": "2", **options})
        if str(table.bucketMode()) == "BUCKET_UNAWARE":
            try:
                tasks = self._paimon.append.AppendCompactCoordinator(table, False).run()
            except self._paimon.table.source.EndOfScanException:
                return  # no file is left to be compacted
            writer = table.store().newWrite(COMMIT_USER)
            if table.coreOptions().rowTrackingEnabled():  # as the engines do
                fields = self._paimon.table.SpecialFields
                writer.withWriteType(fields.rowTypeWithRowTracking(table.rowType()))
            self._commit(table, [task.doCompact(table, writer) for task in tasks])
            writer.close()
            return
        with self._writer(table) as writer:
            for entry in table.newSnapshotReader().bucketEntries():
                if entry.bucket() >= 0:
                    writer.compact(entry.partition(), entry.bucket(), full)
            self._commit(table, writer.prepareCommit(True, BATCH))

    @java_call
    def compact_postponed(self, path: str, buckets: int) -> list[list[str]]:
        """Move postponed rows into so many buckets, as the official engines do: core leaves that to them.

        Returns:
            The postponed files as Java groups them: those of one writer in their order.
        """
        table, messages, groups = self._table(path), [], []
        real = table.copy(jpype.java.util.HashMap({"bucket": str(buckets), "write-only": "false"}))
        splits = table.newSnapshotReader().withBucket(-2).read().dataSplits()
        with self._writer(real) as writer:
            for split in self._paimon.table.PostponeUtils.groupPostponeFiles(splits):
                groups.append([str(file.fileName()) for file in split.dataFiles()])
                with table.newRead().createReader(split).toCloseableIterator() as cursor:
                    while cursor.hasNext():
                        writer.write(cursor.next())
            for split in splits:
                none = self._list()
                gone = self._paimon.io.CompactIncrement(split.dataFiles(), none, none)
                empty = self._paimon.io.DataIncrement.emptyIncrement()
                made = self._paimon.table.sink.CommitMessageImpl
                messages.append(made(split.partition(), -2, split.totalBuckets(), empty, gone))
            self._commit(real, [*writer.prepareCommit(True, BATCH), *messages])
        return groups

    @java_call
    def delete_positions(self, path: str, positions: Mapping[str, Sequence[int]]) -> None:
        """DELETE on an append table: deletion vectors for {data file name: physical row positions}."""
        table, package = self._table(path), self._paimon.deletionvectors
        handler, snapshot = table.store().newIndexFileHandler(), table.latestSnapshot().get()
        groups: dict[str, tuple[Any, list[str]]] = {}
        for split in table.newSnapshotReader().read().dataSplits():
            names = [name for f in split.dataFiles() if (name := str(f.fileName())) in positions]
            groups.setdefault(f"{split.partition()} {split.bucket()}", (split, []))[1].extend(names)
        messages = []
        for split, names in groups.values():
            if not names:
                continue
            vectors = self._vector_maintainer(table, handler, snapshot, split)
            for name in names:
                wide = table.coreOptions().deletionVectorBitmap64()
                vector = package.Bitmap64DeletionVector() if wide else package.BitmapDeletionVector()
                for position in positions[name]:
                    vector.delete(position)
                vectors.notifyNewDeletionVector(name, vector)
            messages.append(self._index_message(split, list(vectors.persist())))
        self._commit(table, messages)

    @java_call
    def files(self, path: str) -> list[tuple[str, int, int]]:
        """(name, level, rows) of the live data files."""
        splits = self._table(path).newSnapshotReader().read().dataSplits()
        return [(str(f.fileName()), int(f.level()), int(f.rowCount())) for s in splits for f in s.dataFiles()]

    @java_call
    def create_tag(self, path: str, name: str, snapshot_id: int) -> None:
        self._table(path).createTag(name, snapshot_id)

    @java_call
    def create_branch(self, path: str, name: str, tag: str) -> None:
        self._table(path).createBranch(name, tag)

    @java_call
    def expire_snapshots(self, path: str, keep: int) -> None:
        """Expire all but the last snapshots, however young."""
        settings = self._paimon.options.ExpireConfig.builder().snapshotRetainMax(keep).snapshotRetainMin(keep)
        config = settings.snapshotTimeRetain(jpype.java.time.Duration.ZERO).build()
        self._table(path).newExpireSnapshots().config(config).expire()

    @java_call
    def fold(
        self, function: str, data_type: Any, options: Mapping[str, str], keys: Sequence[Sequence[tuple[str, Any]]]
    ) -> list[Any]:
        """What an aggregate function makes of the steps of each key: ("seed" | "put" | "late" | "retract", value).

        options are those of a column named c. Where a step fails, the result of the key is a JavaFailure.
        """
        java_type = self._type(data_type)
        core = self._paimon.CoreOptions(jpype.java.util.HashMap(dict(options)))
        factory = self._paimon.mergetree.compact.aggregate.factory.FieldAggregatorFactory
        aggregator, values = factory.create(java_type, "c", function, core), codec(java_type)
        return [_fold_key(aggregator, values, steps, self._paimon.data.GenericRow) for steps in keys]

    @java_call
    def number_bytes(self, kind: str, numbers: Sequence[int], size: int = 12) -> bytes:
        """A set of numbers as a column holds it. kind: "rbm32", "rbm64", or "hll" or "theta" of 2**size entries, or
        "hll updatable" or "theta updatable": in the form that can still be updated."""
        utils, sketches = self._paimon.utils, self._paimon.shade.org.apache.datasketches
        if kind.startswith("rbm"):
            made = utils.RoaringBitmap32() if kind == "rbm32" else utils.RoaringBitmap64()
            for number in numbers:
                made.add(_signed(number, int(kind[3:])))
            return bytes(made.serialize())
        if kind.startswith("hll"):
            made = sketches.hll.HllSketch(size)
        else:
            made = sketches.theta.UpdateSketch.builder().setNominalEntries(1 << size).build()
        for number in numbers:
            made.update(jpype.JLong(_signed(number, 64)))
        if kind == "hll updatable":
            return bytes(made.toUpdatableByteArray())
        if kind == "hll":
            return bytes(made.toCompactByteArray())
        return bytes((made if kind == "theta updatable" else made.compact()).toByteArray())

    @java_call
    def numbers_of(self, kind: str, data: bytes) -> list[int]:
        """The numbers in the bytes of a bitmap, unsigned and ascending. kind: "rbm32" or "rbm64"."""
        shade, stream = self._paimon.shade.org.roaringbitmap, jpype.java.io
        bitmap = shade.RoaringBitmap() if kind == "rbm32" else shade.longlong.Roaring64Bitmap()
        bitmap.deserialize(stream.DataInputStream(stream.ByteArrayInputStream(jpype.JArray(jpype.JByte)(data))))
        return [int(number) & ((1 << int(kind[3:])) - 1) for number in bitmap.toArray()]

    @java_call
    def run(self, function: Callable[..., R], *args: Any) -> R:
        """What a function of a test module gives, run where the JVM is: function(Java's package, *args)."""
        return function(self._paimon, *args)

    def _schemas(self, path: str) -> Any:
        return self._paimon.schema.SchemaManager(
            file_io_at(self._paimon, path, self._storage), self._paimon.fs.Path(path)
        )

    def _type(self, data_type: Any) -> Any:
        """The Java type of a type text or object: the mapper knows how to read it inside a field."""
        text = json.dumps({"id": 0, "name": "f", "type": data_type})
        return self._paimon.utils.JsonSerdeUtil.fromJson(text, self._paimon.types.DataField.class_).type()

    def _table(self, path: str, options: Mapping[str, str] = NO_OPTIONS) -> Any:
        return table_at(self._paimon, path, {**self._storage, **options})

    def _io_manager(self) -> Any:
        return self._paimon.disk.IOManager.create(self._scratch.name)

    def _writer(self, table: Any) -> Any:
        return table.newWrite(COMMIT_USER).withIOManager(self._io_manager())

    def _dynamic_buckets(self, table: Any) -> Callable[[Any], tuple[int]]:
        """Gives rows of a table with dynamic buckets their bucket, as the only assigner of a job."""
        options, store = table.coreOptions(), table.store()
        target, most = options.dynamicBucketTargetRowNum(), options.dynamicBucketMaxBuckets()
        assigner = self._paimon.index.HashBucketAssigner(
            table.snapshotManager(), "java", store.newIndexFileHandler(), 1, 1, 0, target, most
        )
        extract = self._paimon.table.sink.RowPartitionKeyExtractor(table.schema())

        def bucket_of(row: Any) -> tuple[int]:
            return (assigner.assign(extract.partition(row), extract.trimmedPrimaryKey(row).hashCode()),)

        return bucket_of

    def _commit(self, table: Any, messages: Any, overwrite: Mapping[str, str] | None = None) -> None:
        with table.newCommit(COMMIT_USER) as commit:
            if overwrite is not None:
                commit.withOverwrite(jpype.java.util.HashMap(dict(overwrite)))
            commit.commit(BATCH, self._list(messages))

    def _vector_maintainer(self, table: Any, handler: Any, snapshot: Any, split: Any) -> Any:
        maintainer = self._paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer
        if str(table.bucketMode()) == "BUCKET_UNAWARE":
            return maintainer.forUnawareAppend(handler, snapshot, split.partition())
        return maintainer.forBucketedAppend(handler, snapshot, split.partition(), split.bucket())

    def _index_message(self, split: Any, entries: list[Any]) -> Any:
        io, none = self._paimon.io, self._list()
        new, gone = (self._list([e.indexFile() for e in entries if str(e.kind()) == k]) for k in ("ADD", "DELETE"))
        increment = io.DataIncrement(none, none, none, new, gone)
        return self._paimon.table.sink.CommitMessageImpl(
            split.partition(), split.bucket(), None, increment, io.CompactIncrement.emptyIncrement()
        )


@dataclass(frozen=True)
class JavaFailure:
    """Java could not do it; why, in its words."""

    message: str


def _fold_key(aggregator: Any, values: Any, steps: Sequence[tuple[str, Any]], row: Any) -> Any:
    aggregator.reset()
    folds = {"put": aggregator.agg, "late": aggregator.aggReversed, "retract": aggregator.retract}
    acc = None
    try:
        for what, value in steps:
            java_value = values.encode(value)
            acc = java_value if what == "seed" else folds[what](acc, java_value)
    except jpype.JException as error:
        return JavaFailure(str(error))
    return values.decode(row.of(objects([acc])), 0)


def _signed(number: int, bits: int) -> int:
    return number - (1 << bits) if number >> (bits - 1) else number


def _with_ids(data_type: Any, ids: Iterator[int]) -> Any:
    """The type with ids of its own for the fields of every ROW in it."""
    if isinstance(data_type, str):
        return data_type
    made = {key: _with_ids(data_type[key], ids) for key in ("element", "key", "value") if key in data_type}
    if "fields" in data_type:
        made["fields"] = [{**f, "id": next(ids), "type": _with_ids(f["type"], ids)} for f in data_type["fields"]]
    return {**data_type, **made}


class _Server(BaseManager):
    Genuine: Callable[..., Genuine]


_Server.register("Genuine", Genuine)


@contextmanager
def java_process(
    version: str, *more: str, jars: Sequence[str] = (), storage: Mapping[str, str] = NO_OPTIONS
) -> Iterator[Genuine]:
    """A child process (spawned: a JVM does not survive a fork) that serves one release.

    Args:
        version: of Paimon.
        more: coordinates of further jars.
        jars: the paths of others.
        storage: the options that reach tables in a store.

    Raises:
        JavaUnavailable: the jar cannot be resolved.
    """
    paimon_jar(version)
    others = [*(str(java_jar(coordinate)) for coordinate in more), *jars]
    with _Server(ctx=multiprocessing.get_context("spawn")) as server:
        yield server.Genuine(version, others, dict(storage))


def table_path(folder: Path, name: str = "t") -> str:
    """Where a test puts a table of that name."""
    return str(folder / "lake.db" / name)
