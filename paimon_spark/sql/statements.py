"""What a statement can be: one frozen dataclass for each kind.

``Untouched`` is Spark's. ``Query`` runs in Spark with the tables of ours exchanged. All others are done by this
package; those that show something, and those of databases, are in ``listings``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from paimon_spark.sql.listings import (
    AlterDatabase,
    CreateDatabase,
    DescribeDatabase,
    DescribeFunction,
    DescribeProcedure,
    DescribeTable,
    DropDatabase,
    DropFunction,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowFunctions,
    ShowNamespace,
    ShowPartitions,
    ShowProcedures,
    ShowProperties,
    ShowTables,
    ShowTags,
    UseDatabase,
)
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.text.cursor import PartitionSpec
from paimon_spark.sql.text.literals import Value
from paimon_spark.sql.text.names import TableName

Path: TypeAlias = tuple[str, ...]
PREFIX = "SELECT 1 WHERE "
"""Stands before the text of an Expression, which makes a query of it."""


@dataclass(frozen=True)
class Untouched:
    """A statement without a table of ours: it goes to Spark as it is."""

    text: str


@dataclass(frozen=True)
class ViewColumn:
    """A column of a temporary view. comment: None: that of the column of the query, if it has one."""

    name: str
    comment: str | None = None


@dataclass(frozen=True)
class CreateView:
    """CREATE TEMPORARY VIEW over a query with tables of ours."""

    name: str
    query: Query
    replace: bool = False
    is_global: bool = False
    columns: tuple[ViewColumn, ...] = ()


@dataclass(frozen=True)
class CacheQuery:
    """CACHE TABLE ... AS a query with tables of ours: a temporary view that Spark caches. options: of OPTIONS."""

    name: str
    query: Query
    is_lazy: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Explain:
    """EXPLAIN of a statement of ours. mode: "", EXTENDED, CODEGEN, COST or FORMATTED."""

    mode: str
    inner: Statement


# ----------------------------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True)
class Call:
    """CALL of a procedure, or a statement that does what a procedure does.

    Attributes:
        procedure: its name, without catalog and ``sys``, in small letters.
        table: of a statement that is no CALL, and shows no result; None: the arguments of CALL name it.
    """

    procedure: str
    positional: tuple[Value, ...] = ()
    named: Mapping[str, Value] = field(default_factory=dict)
    table: TableName | None = None


@dataclass(frozen=True)
class CallByTag:
    """CREATE TAG with IF NOT EXISTS or OR REPLACE: whether the table has the tag chooses what is done.

    Attributes:
        there: what is done if the table has the tag; None: nothing.
    """

    table: TableName
    tag: str
    there: Call | None
    absent: Call


@dataclass(frozen=True)
class Insert:
    """INSERT.

    Attributes:
        overwrite: rows are replaced: those of the partitions of ``partition``, or as the session says.
        partition: the static and dynamic columns of PARTITION (...).
        replace_where: INSERT INTO ... REPLACE WHERE <condition>; None: there is none.
        by_name: columns meet by name.
        columns: the list of columns behind the table; (): none.
        query: what is inserted.
        options: of ``WITH (...)`` behind the table.
    """

    table: TableName
    query: Query
    overwrite: bool = False
    partition: PartitionSpec = ()
    if_not_exists: bool = False
    by_name: bool = False
    columns: tuple[str, ...] = ()
    replace_where: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class InsertSeveral:
    """INSERTs behind one FROM, which read what there is before the first of them."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True)
class CopyInto:
    """COPY INTO a table from a path, or into a path from a table or query.

    Attributes:
        table: the table that gets rows, or whose rows go out; None: a query's rows go out.
        path: where the files lie.
        is_export: the rows go out.
        columns: of the table; (): all.
        format: CSV, JSON or PARQUET.
        format_options: the others of FILE_FORMAT = (...), by their name in capitals. A list is a tuple.
        options: PATTERN, FORCE, ON_ERROR, OVERWRITE, by their name in capitals.
        query: the rows of an export; None: the table's.
    """

    table: TableName | None
    path: str
    is_export: bool
    format: str
    columns: tuple[str, ...] = ()
    format_options: Mapping[str, Value] = field(default_factory=dict)
    options: Mapping[str, Value] = field(default_factory=dict)
    query: Query | None = None


# --------------------------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class ColumnDefinition:
    """A column of CREATE TABLE.

    Attributes:
        type: as it is written, in the words of Spark.
        default: the expression behind DEFAULT, as it is written; None: there is none.
    """

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None


@dataclass(frozen=True)
class CreateFunction:
    """CREATE FUNCTION: a body in SQL, or a class of Java in files.

    Attributes:
        returns: the type, in the words of Spark; None: that of the body.
        deterministic, contains_sql: None: Spark tells it of the body.
        body: an expression, or a query; "": it is a class.
        resources: (kind, path) of each file of the class; the kinds are jar, file and archive.
    """

    database: str
    function: str
    replaces: bool = False
    if_not_exists: bool = False
    parameters: tuple[ColumnDefinition, ...] = ()
    returns: str | None = None
    comment: str | None = None
    deterministic: bool | None = None
    contains_sql: bool | None = None
    body: str = ""
    is_query: bool = False
    class_name: str = ""
    resources: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class CreateTable:
    """CREATE TABLE, with AS SELECT and LIKE, and REPLACE TABLE.

    Attributes:
        columns: those of partitions too, which may be declared in PARTITIONED BY.
        provider: of USING, in small letters; None: there is none.
        replace: the table is made anew if it is there.
        create: it is made if it is not there; False for REPLACE TABLE alone.
        query: of AS; None: there is none.
        like: the parts of the name of the other table; (): there is none.
    """

    table: TableName
    columns: tuple[ColumnDefinition, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    provider: str | None = None
    location: str | None = None
    comment: str | None = None
    if_not_exists: bool = False
    replace: bool = False
    create: bool = True
    query: Query | None = None
    like: tuple[str, ...] = ()


@dataclass(frozen=True)
class DropTable:
    table: TableName
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True)
class RenameTable:
    """ALTER TABLE ... RENAME TO. A new name without a database stays in that of the old one."""

    table: TableName
    to: TableName


@dataclass(frozen=True)
class TruncatePartitions:
    """TRUNCATE TABLE ... PARTITION: partition names some or all of the partition columns."""

    table: TableName
    partition: PartitionSpec


@dataclass(frozen=True)
class AddPartition:
    table: TableName
    partitions: tuple[PartitionSpec, ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class RepairTable:
    """MSCK REPAIR TABLE: adds partitions whose directories are there, takes away those whose are not, or both."""

    table: TableName
    adds: bool = True
    drops: bool = False


@dataclass(frozen=True)
class DropPartition:
    table: TableName
    partitions: tuple[PartitionSpec, ...]
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True)
class SetProperties:
    """ALTER TABLE ... SET TBLPROPERTIES; COMMENT ON TABLE sets ``comment``."""

    table: TableName
    properties: Mapping[str, str]


@dataclass(frozen=True)
class UnsetProperties:
    table: TableName
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class Refresh:
    """REFRESH TABLE, or UNCACHE TABLE. if_exists: a table that is not there is passed over."""

    table: TableName
    if_exists: bool = False


@dataclass(frozen=True)
class AddColumn:
    """ADD COLUMN.

    Attributes:
        type: as it is written, in the words of Spark.
        default: the expression behind DEFAULT; None: there is none.
        after: the column of AFTER; None: there is no AFTER.
    """

    path: Path
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None
    first: bool = False
    after: str | None = None


@dataclass(frozen=True)
class RenameColumn:
    path: Path
    to: str


@dataclass(frozen=True)
class DropColumn:
    path: Path
    if_exists: bool = False


@dataclass(frozen=True)
class ChangeColumn:
    """ALTER COLUMN or CHANGE COLUMN; what is None or False stays as it is.

    Attributes:
        type: as it is written, in the words of Spark.
        default: the text of a literal; "" takes the default away.
        after: the column of AFTER.
    """

    path: Path
    type: str | None = None
    nullable: bool | None = None
    comment: str | None = None
    default: str | None = None
    first: bool = False
    after: str | None = None


@dataclass(frozen=True)
class ReplaceColumns:
    """REPLACE COLUMNS: all columns go, and these come."""


ColumnChange: TypeAlias = AddColumn | RenameColumn | DropColumn | ChangeColumn | ReplaceColumns


@dataclass(frozen=True)
class AlterColumns:
    """ALTER TABLE ... ADD, DROP, RENAME, ALTER, CHANGE or REPLACE COLUMN(S): all its changes make one schema."""

    table: TableName
    changes: tuple[ColumnChange, ...]


@dataclass(frozen=True)
class CreateCatalogView:
    """CREATE VIEW of a name of ours.

    Attributes:
        text: the query as it is written.
        columns: (name, comment) of each; (): those of the query.
        comment: of the view; None: there is none.
        properties: of TBLPROPERTIES.
    """

    view: TableName
    text: str
    replace: bool = False
    if_not_exists: bool = False
    columns: tuple[tuple[str, str | None], ...] = ()
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DropView:
    view: TableName
    if_exists: bool = False


@dataclass(frozen=True)
class RenameView:
    """ALTER VIEW ... RENAME TO. A new name without a database stays in that of the old one."""

    view: TableName
    to: TableName


@dataclass(frozen=True)
class SetViewProperties:
    view: TableName
    properties: Mapping[str, str]


@dataclass(frozen=True)
class UnsetViewProperties:
    view: TableName
    keys: tuple[str, ...]


@dataclass(frozen=True)
class ReplaceViewQuery:
    """ALTER VIEW ... AS. text: the query as it is written."""

    view: TableName
    text: str


@dataclass(frozen=True)
class Expression:
    """An expression in the user's own characters.

    Attributes:
        query: PREFIX and the expression; its uses are tables of ours in sub-queries.
    """

    query: Query

    @property
    def text(self) -> str:
        """The expression."""
        return self.query.text.removeprefix(PREFIX)


@dataclass(frozen=True)
class Delete:
    """DELETE FROM. alias: by which expressions name the table. where: None: all rows."""

    table: TableName
    alias: str
    where: Expression | None = None


@dataclass(frozen=True)
class Update:
    """UPDATE. values: by the names of columns, as they are written."""

    table: TableName
    alias: str
    values: Mapping[str, Expression]
    where: Expression | None = None


@dataclass(frozen=True)
class MergeClause:
    """One WHEN of a MERGE.

    Attributes:
        when: "MATCHED", "NOT MATCHED" or "NOT MATCHED BY SOURCE".
        action: "UPDATE", "DELETE" or "INSERT".
        condition: behind AND; None: there is none.
        values: by the names of columns; None: ``*``, or a DELETE.
    """

    when: str
    action: str
    condition: Expression | None = None
    values: Mapping[str, Expression] | None = None


@dataclass(frozen=True)
class Merge:
    """MERGE INTO.

    Attributes:
        source: a query of all columns of the source.
        source_alias: None: it has none.
        evolves: WITH SCHEMA EVOLUTION.
    """

    table: TableName
    alias: str
    source: Query
    source_alias: str | None
    condition: Expression
    clauses: tuple[MergeClause, ...]
    evolves: bool = False


Statement: TypeAlias = (
    Untouched | Query | CreateView | CacheQuery | Explain | Call | CallByTag | Insert | InsertSeveral
    | Delete | Update | Merge | CopyInto | CreateTable | DropTable | RenameTable | TruncatePartitions
    | AddPartition | RepairTable | DropPartition | SetProperties | UnsetProperties | AlterColumns | Refresh
    | CreateCatalogView | DropView | RenameView | ReplaceViewQuery | SetViewProperties | UnsetViewProperties
    | ShowTables | ShowDatabases | ShowCatalogs | ShowProcedures | ShowNamespace | ShowPartitions | ShowColumns
    | ShowCreateTable | ShowProperties | ShowTags | DescribeTable | DescribeDatabase | DescribeProcedure
    | CreateDatabase | DropDatabase | AlterDatabase | UseDatabase | ShowFunctions | CreateFunction | DropFunction
    | DescribeFunction
)  # fmt: skip
