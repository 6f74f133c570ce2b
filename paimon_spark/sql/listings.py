"""Statements that show what is there, and those of databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_spark.sql.text.cursor import PartitionSpec
from paimon_spark.sql.text.names import TableName


@dataclass(frozen=True)
class ShowTables:
    """SHOW TABLES, SHOW VIEWS and SHOW TABLE EXTENDED.

    Attributes:
        kind: "TABLES", "VIEWS" or "TABLE EXTENDED".
        pattern: of LIKE; None: all.
    """

    database: str
    kind: str = "TABLES"
    pattern: str | None = None
    partition: PartitionSpec = ()


@dataclass(frozen=True)
class ShowDatabases:
    pattern: str | None = None


@dataclass(frozen=True)
class ShowCatalogs:
    """SHOW CATALOGS: those of Spark, and ours beside them."""

    pattern: str | None = None


@dataclass(frozen=True)
class ShowProcedures:
    pattern: str | None = None


@dataclass(frozen=True)
class ShowNamespace:
    """SHOW CURRENT DATABASE, where the current one is ours."""

    database: str


@dataclass(frozen=True)
class ShowPartitions:
    table: TableName
    partition: PartitionSpec = ()


@dataclass(frozen=True)
class ShowColumns:
    table: TableName


@dataclass(frozen=True)
class ShowCreateTable:
    table: TableName


@dataclass(frozen=True)
class ShowProperties:
    """SHOW TBLPROPERTIES. key: None: all."""

    table: TableName
    key: str | None = None


@dataclass(frozen=True)
class ShowTags:
    table: TableName


@dataclass(frozen=True)
class DescribeTable:
    """DESCRIBE of a table. column: the parts of its name; (): all columns."""

    table: TableName
    extended: bool = False
    partition: PartitionSpec = ()
    column: tuple[str, ...] = ()
    as_json: bool = False


@dataclass(frozen=True)
class DescribeDatabase:
    database: str
    extended: bool = False


@dataclass(frozen=True)
class DescribeProcedure:
    procedure: str


@dataclass(frozen=True)
class ShowFunctions:
    """SHOW FUNCTIONS IN a database of ours, or in ``sys``. kind: USER, SYSTEM or ALL."""

    database: str
    kind: str = "ALL"
    pattern: str | None = None


@dataclass(frozen=True)
class DescribeFunction:
    """DESCRIBE FUNCTION.

    Attributes:
        is_bare: the name has one part, so that a function of Spark comes first.
    """

    database: str
    function: str
    extended: bool = False
    is_bare: bool = False


@dataclass(frozen=True)
class DropFunction:
    database: str
    function: str
    if_exists: bool = False


@dataclass(frozen=True)
class CreateDatabase:
    database: str
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DropDatabase:
    database: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class AlterDatabase:
    """ALTER DATABASE ... SET or UNSET DBPROPERTIES, or SET LOCATION; COMMENT ON DATABASE sets ``comment``."""

    database: str
    properties: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    location: str | None = None


@dataclass(frozen=True)
class UseDatabase:
    """USE and SET CATALOG.

    Attributes:
        database: the current one from now on; None: names without a catalog are Spark's from now on.
        text: the statement, which Spark must run too if there is no database.
    """

    database: str | None
    text: str
