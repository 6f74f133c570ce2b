"""A scan that Spark builds of a table: what it pushes down is kept, and at the end it is decided who reads.

Java: org.apache.spark.sql.connector.read.{ScanBuilder, SupportsPushDownV2Filters, SupportsPushDownRequiredColumns,
SupportsPushDownTopN, SupportsPushDownAggregates}.

Spark's own scan reads the files of a table where none needs our reader. Else the planner gets a plan that reads each
file as it may be read; only joins that narrow the scan, and joins of buckets, take a scan by our reader of all files.
Small tables and few keys are read by this process when the query is planned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from pyspark.sql import DataFrame
from pyspark.sql import types as st

from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.errors import OptionError
from paimon_spark.format.paths import data_file_path
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.char_columns import as_stored
from paimon_spark.spark.adapters.options import last_of, native_choice
from paimon_spark.spark.adapters.readable_columns import narrowest_column
from paimon_spark.spark.adapters.sizes import size_of_splits
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.native.aggregate_rows import MOST_GROUPS
from paimon_spark.spark.native.asked_partials import AskedPartials
from paimon_spark.spark.native.file_classifier import NativeFile
from paimon_spark.spark.native.file_lists import spark_path
from paimon_spark.spark.native.hybrid_scan import HybridScan
from paimon_spark.spark.native.local_read import is_key_lookup, is_small, wants_first_keys
from paimon_spark.spark.native.parquet_scan import AS_WRITTEN
from paimon_spark.spark.native.readable_columns import holds_floats
from paimon_spark.spark.native.session_settings import session_settings
from paimon_spark.spark.native.table_reading import undivided_reason
from paimon_spark.spark.queries.full_scans import full_scan_refusal
from paimon_spark.spark.source.filters import NotPushed
from paimon_spark.spark.spark_catalog.aggregates import (
    Aggregates,
    aggregated_rows,
    asked_aggregates,
    has_exact_means,
    pushed_partials,
)
from paimon_spark.spark.spark_catalog.bucketing import Bucketing, bucketing, keyed_files
from paimon_spark.spark.spark_catalog.driver_calls import chosen, parsed, statistics
from paimon_spark.spark.spark_catalog.jvm_objects import Java
from paimon_spark.spark.spark_catalog.predicates import column_name, convert
from paimon_spark.spark.spark_catalog.runtime_filters import RuntimeFilter, filter_columns
from paimon_spark.spark.spark_catalog.scans import (
    AggregatingReader,
    PlannedReader,
    ScanTraits,
    local_scan,
    parquet_batch,
    plans_stream,
    python_scan,
    stream_scan,
    task_batch,
    with_one_factory,
)
from paimon_spark.spark.spark_catalog.sessions import NamedTable
from paimon_spark.spark.spark_catalog.spark_internals import (
    column_names,
    dataset_of,
    parquet_scan,
    plan_with_output,
    rows_with_decimals,
)
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.pruning.top_n import TopN
from paimon_spark.store.read.splits import ReadUnit, Split
from paimon_spark.store.scan.read_spec import Plan
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.writes.options import LOCAL, NATIVE

_READ = "org.apache.spark.sql.connector.read."
_PREDICATE = "org.apache.spark.sql.connector.expressions.filter.Predicate"
_PUSHED = ("RequiredColumns", "V2Filters", "TopN", "Aggregates", "VariantExtractions")


def scan_builder(target: ScanBuilder) -> Java:
    """The builder of a scan. Spark sorts and limits again: what is pushed of an order leaves out rows, and no more."""
    kinds = [f"{_READ}SupportsPushDown{what}" for what in _PUSHED]
    return target.of.objects.make(kinds, target, {"isPartiallyPushed": True})


class ScanBuilder:
    """Answers for the builder of a scan."""

    def __init__(self, of: NamedTable, table: ReadableTable, options: Mapping[str, str]) -> None:
        """
        Args:
            options: with which the table is opened, and those that say who reads.
        """
        self.of = of
        self._table = table
        self._options = options
        self._settings = session_settings(of.session.spark)
        self._names: tuple[str, ...] = tuple(field.name for field in table.schema.fields)
        self._predicate: p.Predicate = p.TRUE
        self._given: Java = None
        self._pushed: list[int] = []
        self._left: list[int] = []
        self._skips: list[tuple[int, p.Predicate]] = []
        self._first: TopN | None = None
        self._aggregates: Aggregates | None = None
        self._partials: AskedPartials | None = None
        self._has_means = False
        self._extractions: Java = None
        self._planned: dict[str, Java] = {}
        self._held: list[Java] = []
        self._plans: dict[tuple[p.Predicate, TopN | None], Plan] = {}

    # ------------------------------------------------------------------------------------------------- what is pushed

    def pushPredicates(self, predicates: Java) -> Java:
        columns = {field.name: field for field in (*self._table.schema.fields, *self._table.hidden_fields)}
        taken: list[tuple[int, p.Predicate]] = []
        self._given = predicates
        for place, node in enumerate(parsed(self.of.objects, predicates)):
            try:
                taken.append((place, convert(node, columns)))
            except NotPushed:
                self._left.append(place)
        self._predicate = p.and_(*(part for _, part in taken))
        keys = set(self._table.schema.partition_keys)
        of_rows = [(place, part) for place, part in taken if not p.columns_of(part) <= keys]
        if of_rows and self._spark_reads:  # its scan skips row groups by conditions, and does not decide them
            self._skips = of_rows
            self._left += [place for place, _ in of_rows]
            taken = [(place, part) for place, part in taken if p.columns_of(part) <= keys]
        self._pushed = [place for place, _ in taken]
        return chosen(self.of.objects, predicates, self._left)

    def pushedPredicates(self) -> Java:
        if self._given is None:
            return self.of.objects.array(_PREDICATE, ())
        return chosen(self.of.objects, self._given, self._pushed)

    def pruneColumns(self, schema: Java) -> None:
        self._names = column_names(schema)

    def pushTopN(self, orders: Java, limit: int) -> bool:
        name = column_name(orders[0].expression()) if limit else None
        if name is None or len(name) != 1 or self._left or name[0] not in self._table.schema.by_name:
            return False
        if self._extractions is not None:  # the files that are read are known
            return False
        descending = orders[0].direction().name() == "DESCENDING"
        nulls_first = orders[0].nullOrdering().name() == "NULLS_FIRST"
        self._first = TopN(name[0], limit, descending, nulls_first, with_ties=len(orders) > 1)
        return True

    def supportCompletePushDown(self, aggregation: Java) -> bool:
        if self._left or undivided_reason(self._table) is not None:
            return False
        if not has_exact_means(self._scan(()), aggregation, lambda: self._plan):
            self._has_means = True
            return False
        asked = asked_aggregates(self._table, aggregation)
        if asked is None:
            return False
        known = self._scan(()).metadata_aggregates(asked.columns)
        if known.rest or len(known.partitions) > MOST_GROUPS:
            return False
        self._aggregates = replace(asked, known=known)
        return True

    def pushAggregation(self, aggregation: Java) -> bool:
        if self._aggregates is not None or self.supportCompletePushDown(aggregation):
            return True
        if self._left or self._has_means:
            return False
        asked = pushed_partials(self._scan(()), aggregation, lambda: self._plan)
        if asked is not None and not self._aggregates_by_spark:  # which looks at the files
            self._partials = asked
        return self._partials is not None

    def pushVariantExtractions(self, asked: Java) -> Java:
        """Parts of VARIANT values in their place: all of them, if Spark's own scan reads all files, or none."""
        reads = self._is_divisible and self._may_spark_read and not (self._may_be_here and self._is_small)
        if reads and self._native_files(self._scan(self._table.schema.names)) is not None:
            self._extractions = asked
        return self.of.objects.booleans([self._extractions is not None] * len(asked))

    # --------------------------------------------------------------------------------------------------- what is read

    def build(self) -> Java:
        description = self.of.description
        if self._aggregates is not None:
            rows = aggregated_rows(self.of.session.spark, self._table.schema, self._aggregates)
            return local_scan(self.of.objects, dataset_of(rows), f"{description}, known from metadata")
        refusal = full_scan_refusal(
            self.of.name,
            self._table,
            self.of.session.said_of(self.of.name),
            lambda: sum(split.file_count for split in self._plan.splits),
        )
        if refusal:
            raise OptionError(refusal)
        if plans_stream(self.of.objects):
            return stream_scan(self.of.objects, self, self._shown, description)
        if self._partials is not None:
            return self._aggregated(self._partials, description)
        scan, plan = self._scan(self._read_names), self._plan
        if self._is_divisible:
            here = None if self._extractions is not None else self._shared("here", lambda: self._rows_here(scan))
            if here is not None:
                return local_scan(self.of.objects, here, f"{description}, read by the driver", self)
            files = self._native_files(scan) if self._may_spark_read else None
            if files is not None:
                return self._parquet(scan, files, f"{description}, {len(files)} files by Spark")
        return self._python(scan, plan, f"{description}, {len(plan.splits)} splits")

    def apply(self, relation: Java) -> Java:
        """The plan to be run in the place of the scan, with the attributes of its relation (see planner_strategy)."""
        output = relation.output()
        attributes = output.toString()
        if attributes not in self._planned:
            dataset = self._shared("planned", self._frame)
            self._planned[attributes] = plan_with_output(dataset, self.of.objects, output)
        return self._planned[attributes]

    def toMicroBatchStream(self, checkpoint: str) -> Java:
        """Any scan may become a stream: Spark does not say so when it is built. The first one imports what it needs."""
        from paimon_spark.spark.spark_catalog.micro_batches import AskedStream, micro_batch_stream

        session, name = self.of.session, self.of.name
        said = session.said_of(name).of_streams
        options = {**session.storage_options, **said, **self._options, "path": session.location(name)}
        settings = None if self._native is False else self._settings
        return micro_batch_stream(self.of, AskedStream(options, self._shown, settings, checkpoint))

    # -------------------------------------------------------------------------------------------------------- helpers

    def _shared(self, what: str, make: Callable[[], DataFrame | None]) -> Java:
        """The Dataset that is made once for the scans of a query that read the same; None: none is made."""
        session, known = self.of.session, self.of.sessions.datasets
        key = (str(session.spark._jsparkSession.sessionUUID()), f"{what} {self._identity}")
        found = known.get(key)
        if found is None:
            made = make()
            found = None if made is None else known.setdefault(key, dataset_of(made))
        self._held.append(found)
        return found

    def _frame(self) -> DataFrame:
        """The rows, read when a query runs: where it reads them twice, Spark runs once what it can."""
        hybrid = self._hybrid(self._scan(self._read_names))
        if self._native is False:
            return hybrid.merged(self._splits)
        where, refusal = hybrid.condition
        found = hybrid.classified(self._splits, refusal, where, reads_selected=self._first is not None)
        return hybrid.frame(found, self._plan.snapshot, where)

    @cached_property
    def _identity(self) -> str:
        """Two reads of one text have the same rows: the lists of a snapshot have names that no other has."""
        table, snapshot = self._table, self._plan.snapshot
        state = "" if snapshot is None else f"{snapshot.base_manifest_list} {snapshot.delta_manifest_list}"
        of_table = f"{table.location} {table.branch} {table.schema.id} {sorted(table.schema.options.items())} {state}"
        of_read = f"{self._predicate} {self._first} {self._read_names} {sorted(self._options.items())}"
        return f"{of_table} {of_read} {self._settings}"

    @property
    def _read_names(self) -> tuple[str, ...]:
        return self._names or (narrowest_column(self._table).name,)

    @property
    def _fields(self) -> tuple[DataField, ...]:
        known = {field.name: field for field in self._table.hidden_fields} | dict(self._table.schema.by_name)
        return tuple(known[name] for name in self._read_names)

    @property
    def _shown(self) -> st.StructType:
        return _shown_of(self._fields)

    def _scan(self, names: Sequence[str]) -> Scan:
        scan = self._table.scan(list(names), self._predicate)
        return scan if self._first is None else scan.with_top_n(self._first)

    @property
    def _plan(self) -> Plan:
        """The plan of what is pushed so far; which columns are read makes no difference to it."""
        key = (self._predicate, self._first)
        if key not in self._plans:
            self._plans[key] = self._scan(self._read_names).plan_with_read_tags()[0]
        return self._plans[key]

    @property
    def _splits(self) -> list[Split]:
        return [split for split in self._plan.splits if isinstance(split, Split)]

    @cached_property
    def _is_divisible(self) -> bool:
        return undivided_reason(self._table) is None and len(self._splits) == len(self._plan.splits)

    @property
    def _native(self) -> bool | None:
        given = last_of(self._options, NATIVE)
        return self._settings.native if given is None else native_choice(given)

    @cached_property
    def _spark_reads(self) -> bool:
        """True if Spark may read all files, whichever columns are read; a few keys are looked up here."""
        if not self._is_divisible or self._native is False:
            return False
        if is_key_lookup(self._table, self._predicate, self._splits):
            return False
        return self._native_files(self._scan(self._table.schema.names)) is not None

    @property
    def _may_spark_read(self) -> bool:
        """True if Spark was left all conditions that its own scan does not decide."""
        keys = set(self._table.schema.partition_keys)
        return self._native is not False and (bool(self._skips) or p.columns_of(self._predicate) <= keys)

    def _hybrid(self, scan: Scan) -> HybridScan:
        from_integers = partial(rows_with_decimals, self.of.objects)
        shown = _shown_of(scan.fields)
        return HybridScan(self.of.session.spark, scan, shown, self._settings, from_integers=from_integers)

    def _native_files(self, scan: Scan) -> list[NativeFile] | None:
        """All files of the plan, if Spark's own scan can read them as they are; None: it cannot."""
        found = self._hybrid(scan).classified(self._splits, None)
        if found.rest or len(found.native) != 1:
            return None
        ((kind, files),) = found.native.items()
        if kind.has_vectors or kind.has_retractions:
            return None
        as_now = all(c.name == c.field.name and c.type.root is c.field.type.root for c in kind.columns)
        return files if as_now else None

    def _rows_here(self, scan: Scan) -> DataFrame | None:
        if not self._may_be_here:
            return None
        if is_key_lookup(self._table, scan.predicate, self._splits) or wants_first_keys(scan, self._splits):
            return self._hybrid(scan).here(self._splits, bounded=False)
        return self._hybrid(scan).here(self._splits) if self._is_small else None

    @property
    def _may_be_here(self) -> bool:
        return self._native is None and bool(self._splits)

    @property
    def _is_small(self) -> bool:
        given = last_of(self._options, LOCAL)
        return (self._settings.local if given is None else given.lower() == "true") and is_small(self._splits)

    def _parquet(self, scan: Scan, files: Sequence[NativeFile], description: str) -> Java:
        objects, read = self.of.objects, {field.name: field for field in scan.fields}
        text = f"{description} {self._identity}"
        text += "" if self._extractions is None else f" {[str(part) for part in self._extractions]}"
        skips = [
            self._given[place]
            for place, part in self._skips
            if p.columns_of(part) <= read.keys() and not any(holds_floats(read[n].type) for n in p.columns_of(part))
        ]
        buckets = {file.file_name: split.bucket for split in self._splits for file in split.files}

        def scan_of(some: Sequence[NativeFile]) -> Java:
            paths = [(spark_path(file.path), file.meta.file_size) for file in some]
            return parquet_scan(
                self.of.session.spark, objects, paths, self._shown, AS_WRITTEN, skips, self._extractions
            )

        def batch(made: Java) -> Java:
            found = with_one_factory(objects, made.toBatch(), text)
            return found if self._bucketing is None else keyed_files(objects, found, buckets, text)

        def narrowed(left: Plan) -> Java:
            splits = (split for split in left.splits if isinstance(split, Split))
            kept = {data_file_path(split.bucket_path, file) for split in splits for file in split.files}
            return batch(scan_of([file for file in files if file.path in kept]))

        size, made = statistics(objects, sum(f.meta.row_count for f in files), self._size(scan)), scan_of(files)
        traits = ScanTraits(text, description, size, self, self._runtime(narrowed, None), self._bucketing)
        return parquet_batch(objects, made, batch(made), traits)

    def _python(self, scan: Scan, plan: Plan, description: str) -> Java:
        spark, objects, shown = self.of.session.spark, self.of.objects, self._shown

        def batch(some: Plan) -> Java:
            reader = PlannedReader(self._tasks(scan, some), scan.reader(), spark_arrow_schema(shown))
            return task_batch(spark, objects, reader, shown, traits)

        rows = sum(split.row_count for split in plan.splits)
        text = f"{description} {self._identity}"
        size = statistics(objects, rows, self._size(scan))
        has_plan = self._is_divisible and self._bucketing is None and bool(plan.splits)
        runtime = self._runtime(batch, len(plan.splits) if has_plan else None)
        traits = ScanTraits(text, description, size, self, runtime, self._bucketing, has_plan)
        return python_scan(spark, objects, lambda: batch(plan), shown, traits)

    def _aggregated(self, asked: AskedPartials, description: str) -> Java:
        """A scan of partial aggregates, which Spark finishes."""
        self._names = asked.columns
        spark, objects, scan, plan = self.of.session.spark, self.of.objects, self._scan(self._read_names), self._plan
        planned = PlannedReader(scan.tasks_of(plan.splits), scan.reader(), spark_arrow_schema(self._shown))
        reader = AggregatingReader(planned, asked.made)
        text = f"{description}, {len(plan.splits)} splits, partial aggregates"
        rows = sum(split.row_count for split in plan.splits)  # there may be as many groups
        size = statistics(objects, rows, self._size(scan)) if asked.made.groups else statistics(objects, 1, 1)
        traits = ScanTraits(f"{text} {self._identity} {asked.made}", text, size, self)
        batch = partial(task_batch, spark, objects, reader, asked.schema, traits)
        return python_scan(spark, objects, batch, asked.schema, traits)

    @property
    def _aggregates_by_spark(self) -> bool:
        """True if our tasks read less than half of the rows, or there are none."""
        if not self._is_divisible or not self._splits or (self._may_be_here and self._is_small):
            return True
        if self._native is False:
            return False
        hybrid = self._hybrid(self._scan(self._table.schema.names))
        where, refusal = hybrid.condition
        rest = sum(split.row_count for split in hybrid.classified(self._splits, refusal, where).rest)
        return 2 * rest < sum(split.row_count for split in self._splits)

    @cached_property
    def _bucketing(self) -> Bucketing | None:
        return bucketing(self.of.session.spark, self._table, self._plan, self._names) if self._is_divisible else None

    def _tasks(self, scan: Scan, plan: Plan) -> list[tuple[ReadUnit, ...]]:
        """The tasks of a plan, each of one bucket if Spark is to know it."""
        if self._bucketing is None:
            return scan.tasks_of(plan.splits)
        found: dict[int, list[ReadUnit]] = {}
        for split in plan.splits:
            found.setdefault(split.bucket if isinstance(split, Split) else 0, []).append(split)
        return [task for splits in found.values() for task in scan.tasks_of(splits)]

    def _runtime(self, batch: Callable[[Plan], Java], merged_splits: int | None) -> RuntimeFilter | None:
        """How a join narrows the scan, to a part of the same state; None: it does not.

        Args:
            batch: makes the batch of a plan.
            merged_splits: as of filter_columns.
        """
        snapshot, columns = self._plan.snapshot, filter_columns(self._table, self._names, merged_splits)
        asked = self._table.settings.scan
        is_of_age = asked.file_creation_time_millis is not None or asked.creation_time_millis is not None
        if snapshot is None or not columns or not self._is_divisible or is_of_age or not self.of.objects.keeps_threads:
            return None

        def narrowed(condition: p.Predicate) -> Java:
            scan = self._table.scan(list(self._read_names), p.and_(self._predicate, condition))
            return batch(scan.plan_at(snapshot))

        return RuntimeFilter(columns, frozenset(self._table.schema.partition_keys), narrowed)

    def _size(self, scan: Scan) -> int:
        return size_of_splits(self._plan.splits, scan.fields, self._table.schema.fields)


def _shown_of(fields: Sequence[DataField]) -> st.StructType:
    """The columns of the rows that a scan returns: Spark pads CHAR itself."""
    return as_stored(nullable(shown_schema(spark_schema(fields))))
