"""Checks that each key is in one partition if keys do not contain it (features section 5.2, KEY_DYNAMIC)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.predicates.predicate import TRUE
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.errors import PaimonError, StorageError
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.checks.report import Findings, Rule
from paimon_spark.store.checks.row_checks import named
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.new_scan import own_scan

KEYS_AT_ONCE = 1 << 23


def check_one_partition(
    table: Table, label: str, snapshot: Snapshot, findings: Findings, keys_at_once: int = KEYS_AT_ONCE
) -> None:
    """Reads the keys of a snapshot as a reader does, and reports those that occur more than once.

    Args:
        table: a table whose primary key lacks a partition column.
        label: the name of the snapshot, for problems.
        snapshot: the snapshot to read.
        findings: receives the problems.
        keys_at_once: the most keys in memory; more are read several times, each time a share of their hashes.
    """
    shares = -(-snapshot.total_record_count // keys_at_once)
    count, example = 0, ""
    for share in range(shares):
        try:
            repeated = _repeated_keys(table, snapshot, share, shares)
        except StorageError:
            raise
        except PaimonError as error:  # an unreadable file is reported as a problem itself
            findings.note(f"{label}: not looked for keys in more than one partition: {error}")
            return
        count += repeated.num_rows
        if repeated.num_rows and not example:
            fields = [table.schema.by_name[name] for name in table.schema.primary_keys]
            example = named(fields, [repeated.column(field.name)[0].as_py() for field in fields])
    if count:
        found = f"{count} keys live in more than one partition or bucket: {example}, ..."
        findings.add(Rule.ONE_ROW, label, table.location, found)


def _repeated_keys(table: Table, snapshot: Snapshot, share: int, shares: int) -> pa.Table:
    names = list(table.schema.primary_keys)
    fields = [table.schema.by_name[name] for name in names]
    then = replace(table, schema=table.schemas.load(snapshot.schema_id))
    scan = own_scan(then, [then.schema.by_name[name] for name in names], TRUE)
    reader, batches = scan.reader(), []
    for split in scan.plan_at(snapshot).splits:
        for batch in reader.read(split):
            mine = np.mod(hash_rows(batch, fields), shares) == share
            batches.append(batch if shares == 1 else batch.filter(pa.array(mine)))
    if not batches:
        return pa.table({name: pa.nulls(0) for name in names})
    counted = pa.Table.from_batches(batches).group_by(names).aggregate([([], "count_all")])
    return counted.filter(pc.greater(counted.column("count_all"), 1))
