"""Statements that change a table without a query: ALTER, DROP, TRUNCATE, ANALYZE, REFRESH, tags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.sql.queries.references import refuse_foreign
from paimon_spark.sql.read_column_changes import read_column_changes
from paimon_spark.sql.read_create import same_database
from paimon_spark.sql.statements import (
    AddPartition,
    Call,
    CallByTag,
    DropPartition,
    DropTable,
    Refresh,
    RenameTable,
    RepairTable,
    SetProperties,
    Statement,
    TruncatePartitions,
    UnsetProperties,
)
from paimon_spark.sql.text.cursor import Cursor, PartitionSpec, read_partition
from paimon_spark.sql.text.lexer import Kind
from paimon_spark.sql.text.literals import Value
from paimon_spark.sql.text.names import TableName

_UNITS = {"DAYS": "d", "HOURS": "h", "MINUTES": "min"}
_OF_OTHERS = {
    ("CREATE", "BRANCH"): ("BRANCH",),
    ("CREATE", "OR", "REPLACE", "BRANCH"): ("BRANCH",),
    ("REPLACE", "BRANCH"): ("BRANCH",),
    ("DROP", "BRANCH"): ("BRANCH",),
    ("ADD", "PARTITION", "FIELD"): ("PARTITION", "FIELD"),
    ("DROP", "PARTITION", "FIELD"): ("PARTITION", "FIELD"),
    ("REPLACE", "PARTITION", "FIELD"): ("PARTITION", "FIELD"),
    ("ADD", "CONSTRAINT"): ("CONSTRAINT",),
    ("DROP", "CONSTRAINT"): ("CONSTRAINT",),
    ("WRITE", "ORDERED"): ("WRITE", "ORDERED"),
    ("WRITE", "LOCALLY", "ORDERED"): ("WRITE", "ORDERED"),
    ("CLUSTER", "BY"): ("CLUSTER", "BY"),
}
"""What Delta Lake and Iceberg have behind ALTER TABLE -> words of STATEMENT_ADVICE."""


def _head(cursor: Cursor, *words: str) -> TableName | None:
    """The table behind the words that begin a statement; None: other words, or a table of Spark."""
    if not cursor.accept(*words):
        return None
    cursor.accept("IF", "EXISTS")
    token = cursor.peek()
    return cursor.table() if token is not None and token.is_name else None


def read_drop(cursor: Cursor) -> Statement | None:
    """DROP TABLE [IF EXISTS] t [PURGE]."""
    if_exists = [token.upper for token in cursor.tokens[2:4]] == ["IF", "EXISTS"]
    table = _head(cursor, "DROP", "TABLE")
    if table is None:
        return None
    purge = cursor.accept("PURGE")
    cursor.expect_end()
    return DropTable(table, if_exists, purge)


def read_truncate(cursor: Cursor) -> Statement | None:
    """TRUNCATE TABLE t [PARTITION (...)]."""
    table = _head(cursor, "TRUNCATE", "TABLE")
    if table is None:
        return None
    partition = read_partition(cursor)
    cursor.expect_end()
    return TruncatePartitions(table, partition) if partition else _call("truncate", table)


def _call(procedure: str, table: TableName, **named: Value) -> Call:
    return Call(procedure, (), named, table)


def read_analyze(cursor: Cursor) -> Statement | None:
    """ANALYZE TABLE t [PARTITION (...)] COMPUTE STATISTICS [NOSCAN | FOR COLUMNS a, b | FOR ALL COLUMNS]."""
    table = _head(cursor, "ANALYZE", "TABLE")
    if table is None:
        return None
    partition = read_partition(cursor)
    cursor.expect("COMPUTE", "STATISTICS")
    columns: Value = None
    no_scan = cursor.accept("NOSCAN")
    if cursor.accept("FOR", "ALL", "COLUMNS"):
        columns = "all"
    elif cursor.accept("FOR"):
        cursor.expect("COLUMNS")
        columns = _names(cursor)
    cursor.expect_end()
    if partition:
        raise UnsupportedFeature(
            f"ANALYZE TABLE {table} PARTITION: statistics are those of whole tables; leave PARTITION out"
        )
    if no_scan:
        raise UnsupportedFeature(
            f"ANALYZE TABLE {table} NOSCAN: the sizes of a table are known from its manifests, and nothing is stored; "
            "leave NOSCAN out to count rows"
        )
    return _call("analyze", table, columns=columns)


def _names(cursor: Cursor) -> tuple[str, ...]:
    found = [cursor.name("the name of a column")]
    while cursor.accept(","):
        found.append(cursor.name("the name of a column"))
    return tuple(found)


def read_refresh(cursor: Cursor) -> Statement | None:
    """REFRESH TABLE t."""
    table = _head(cursor, "REFRESH", "TABLE")
    if table is None:
        return None
    cursor.expect_end()
    return Refresh(table)


def read_repair(cursor: Cursor) -> Statement | None:
    """[MSCK] REPAIR TABLE t."""
    cursor.accept("MSCK")
    table = _head(cursor, "REPAIR", "TABLE")
    if table is None:
        return None
    word = cursor.accept_any("ADD", "DROP", "SYNC")
    if word is not None:
        cursor.expect("PARTITIONS")
    cursor.expect_end()
    return RepairTable(table, word != "DROP", word in ("DROP", "SYNC"))


# ---------------------------------------------------------------------------------------------------------------- ALTER


def read_alter(cursor: Cursor) -> Statement | None:
    """ALTER TABLE of ours; None: another ALTER, or a table of Spark.

    Raises:
        SqlError: it is put together wrongly.
        UnsupportedFeature: it asks for what Paimon tables do not have.
    """
    table = _head(cursor, "ALTER", "TABLE")
    if table is None:
        return None
    for before, words in _OF_OTHERS.items():
        if cursor.sees(*before):
            refuse_foreign(cursor, words, table.parts, cursor.offset())
    for words, read in _ALTERS.items():
        if cursor.accept(*words):
            found = read(cursor, table)
            cursor.expect_end()
            return found
    changed = read_column_changes(cursor, table)
    if changed is not None:
        cursor.expect_end()
        return changed
    asked = " ".join(token.text for token in cursor.tokens[cursor.at : cursor.at + 2])
    if not asked:
        raise cursor.error("what to alter is needed here, such as SET TBLPROPERTIES or CREATE TAG")
    raise cursor.unsupported(f"ALTER TABLE ... {asked} is not supported for a table of Paimon")


def _set(cursor: Cursor, table: TableName) -> Statement:
    return SetProperties(table, cursor.properties())


def _unset(cursor: Cursor, table: TableName) -> Statement:
    if_exists = cursor.accept("IF", "EXISTS")
    return UnsetProperties(table, cursor.listed(cursor.property_key), if_exists)


def _rename(cursor: Cursor, table: TableName) -> Statement:
    return RenameTable(table, same_database(cursor, table))


def _add_partition(cursor: Cursor, table: TableName) -> Statement:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    partitions = []
    while cursor.sees("PARTITION"):
        partitions.append(read_partition(cursor))
        if cursor.accept("LOCATION"):
            raise cursor.unsupported("a partition of a Paimon table has no location of its own")
    return AddPartition(table, tuple(partitions), if_not_exists)


def _drop_partition(cursor: Cursor, table: TableName) -> Statement:
    if_exists = cursor.accept("IF", "EXISTS")
    partitions: list[PartitionSpec] = [read_partition(cursor)]
    while cursor.accept(","):
        partitions.append(read_partition(cursor))
    if () in partitions:
        raise cursor.error("PARTITION (...) is needed here")
    return DropPartition(table, tuple(partitions), if_exists, cursor.accept("PURGE"))


def _repair(cursor: Cursor, table: TableName) -> Statement:
    """Refused: there is no list of partitions beside the table that could differ from it."""
    raise UnsupportedFeature(
        f"REPAIR TABLE {table}: a table of the catalog {cursor.names.catalog} has no list of partitions beside its "
        "manifests, so there is nothing to repair; paimon-spark check verifies a table"
    )


def _create_tag(cursor: Cursor, table: TableName) -> Statement:
    if not cursor.accept("IF", "NOT", "EXISTS"):
        return _tag(cursor, table)
    call = _tag(cursor, table)
    return CallByTag(table, str(call.named["tag"]), None, call)


def _create_or_replace_tag(cursor: Cursor, table: TableName) -> Statement:
    call = _tag(cursor, table)
    return CallByTag(table, str(call.named["tag"]), replace(call, procedure="replace_tag"), call)


def _tag(cursor: Cursor, table: TableName, procedure: str = "create_tag") -> Call:
    tag, snapshot, retained = tag_name(cursor), None, None
    if cursor.accept("AS", "OF"):
        cursor.expect("VERSION")
        snapshot = _integer(cursor, "the id of a snapshot")
    if cursor.accept("RETAIN"):
        number = _integer(cursor, "how long the tag is kept")
        unit = cursor.accept_any(*_UNITS)
        if unit is None:
            raise cursor.error("DAYS, HOURS or MINUTES is needed here")
        retained = f"{number} {_UNITS[unit]}"
    return _call(procedure, table, tag=tag, snapshot=snapshot, time_retained=retained)


def tag_name(cursor: Cursor) -> str:
    """The name of a tag: a name or a string."""
    token = cursor.peek()
    if token is not None and token.kind is Kind.STRING:
        return cursor.string("the name of a tag")
    return cursor.name("the name of a tag")


def _integer(cursor: Cursor, what: str) -> int:
    at, value = cursor.offset(), cursor.literal(what)
    if not isinstance(value, int) or isinstance(value, bool):
        raise cursor.error(f"{what} is an integer", at)
    return value


def _delete_tag(cursor: Cursor, table: TableName) -> Statement:
    cursor.accept("IF", "EXISTS")  # a tag that is not there is no error without it either (Java: the same)
    return _call("delete_tag", table, tag=tag_name(cursor))


def _rename_tag(cursor: Cursor, table: TableName) -> Statement:
    tag = tag_name(cursor)
    cursor.expect("TO")
    return _call("rename_tag", table, tag=tag, target_tag=tag_name(cursor))


_ALTERS: dict[tuple[str, ...], Callable[[Cursor, TableName], Statement]] = {
    ("SET", "TBLPROPERTIES"): _set,
    ("UNSET", "TBLPROPERTIES"): _unset,
    ("RENAME", "TO"): _rename,
    ("DROP", "IF", "EXISTS", "PARTITION"): lambda cursor, table: _partitions_again(cursor, table, 4),
    ("DROP", "PARTITION"): lambda cursor, table: _partitions_again(cursor, table, 2),
    ("ADD", "IF", "NOT", "EXISTS", "PARTITION"): lambda cursor, table: _partitions_again(cursor, table, 5),
    ("ADD", "PARTITION"): lambda cursor, table: _partitions_again(cursor, table, 2),
    ("RECOVER", "PARTITIONS"): _repair,
    ("CREATE", "TAG"): _create_tag,
    ("CREATE", "OR", "REPLACE", "TAG"): _create_or_replace_tag,
    ("REPLACE", "TAG"): lambda cursor, table: _tag(cursor, table, "replace_tag"),
    ("DELETE", "TAG"): _delete_tag,
    ("RENAME", "TAG"): _rename_tag,
}


def _partitions_again(cursor: Cursor, table: TableName, words: int) -> Statement:
    """Go back over the words that distinguish ADD and DROP of partitions from those of columns."""
    cursor.at -= words
    return (
        _drop_partition(cursor, table) if cursor.accept_any("ADD", "DROP") == "DROP" else _add_partition(cursor, table)
    )


# -------------------------------------------------------------------------------------------------------------- COMMENT


def read_comment(cursor: Cursor) -> Statement | None:
    """COMMENT ON TABLE t IS 'text'. NULL takes the comment away."""
    table = _head(cursor, "COMMENT", "ON", "TABLE")
    if table is None:
        return None
    cursor.expect("IS")
    if cursor.accept("NULL"):
        return UnsetProperties(table, ("comment",), if_exists=True)
    comment = cursor.string("the comment")
    cursor.expect_end()
    return SetProperties(table, {"comment": comment})
