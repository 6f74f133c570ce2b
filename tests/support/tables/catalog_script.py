"""Every statement of features 8.1 and 8.3 on one table after the other, and what each shows or why it is refused.

The parts do not depend on each other. Each has a database of its own, which is the current one and is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from support.programs.four_catalogs import FILES, HIVE, JDBC, KINDS

Row: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class Step:
    """One statement.

    Attributes:
        text: SQL; ``{place}`` is an empty directory, ``{database}`` the database of the part.
        rows: what it returns; None: that is not looked at.
        among: a row of its result; None: none is looked for.
        refused: words of the error, by the kind of the catalog that refuses it.
    """

    text: str
    rows: tuple[Row, ...] | None = None
    among: Row | None = None
    refused: Mapping[str, str] = field(default_factory=dict)

    def of(self, database: str, place: str) -> Step:
        """The step with its placeholders filled."""

        def filled(value: object) -> object:
            return value.replace("{database}", database).replace("{place}", place) if isinstance(value, str) else value

        def row(values: Row) -> Row:
            return tuple(filled(value) for value in values)

        rows = None if self.rows is None else tuple(row(values) for values in self.rows)
        words = {kind: str(filled(text)) for kind, text in self.refused.items()}
        return Step(str(filled(self.text)), rows, None if self.among is None else row(self.among), words)


def do(text: str) -> Step:
    return Step(text, ())


def show(text: str, *rows: Row) -> Step:
    return Step(text, rows)


def holds(text: str, *row: object) -> Step:
    return Step(text, among=row)


def unless(words: str, step: Step, *kinds: str) -> Step:
    """The step, which the catalogs of some kinds refuse."""
    return Step(step.text, step.rows, step.among, {**step.refused, **dict.fromkeys(kinds, words)})


def refused(text: str, words: str) -> Step:
    """By each catalog."""
    return unless(words, do(text), *KINDS)


DATABASES = (
    holds("SHOW CATALOGS", "paimon"),
    do("CREATE DATABASE paimon.plain"),
    do("CREATE SCHEMA IF NOT EXISTS paimon.plain"),
    refused("CREATE DATABASE paimon.plain", "there is a database 'plain' already"),
    show("SHOW DATABASES LIKE 'pla*'", ("plain",)),
    do("CREATE DATABASE paimon.told COMMENT 'c' WITH DBPROPERTIES ('who' = 'us')"),  # which files do not keep
    holds("DESCRIBE DATABASE paimon.told", "Namespace Name", "told"),
    *(
        unless("properties of databases", step, FILES)
        for step in (
            do("ALTER DATABASE paimon.told SET DBPROPERTIES ('a' = 'b')"),
            do("ALTER DATABASE paimon.told UNSET DBPROPERTIES ('who')"),
        )
    ),
    unless("properties of databases", do("ALTER DATABASE paimon.plain SET DBPROPERTIES ('a' = 'b')"), FILES),
    unless(
        "properties of databases|the metastore keeps the comment",
        do("COMMENT ON DATABASE paimon.plain IS 'other'"),
        FILES,
        HIVE,
    ),
    do("USE paimon.plain"),
    show("SHOW CURRENT DATABASE", ("paimon", "plain")),
    do("CREATE TABLE t (id BIGINT)"),
    refused("DROP DATABASE paimon.plain", "holds 1 tables|it is not empty|drop them first"),
    do("DROP DATABASE paimon.plain CASCADE"),
    do("DROP DATABASE IF EXISTS paimon.plain CASCADE"),
    refused("DROP DATABASE paimon.plain", "no database 'plain'"),
)
TABLES = (
    do(
        "CREATE TABLE t (id BIGINT NOT NULL COMMENT 'number', dt STRING, v INT DEFAULT 7) PARTITIONED BY (dt) "
        "COMMENT 'all' TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '1')"
    ),
    do("CREATE TABLE IF NOT EXISTS t (other INT)"),
    refused("CREATE TABLE t (other INT)", "there is such a table"),
    do("INSERT INTO t (id, dt) VALUES (1, 'a'), (2, 'b')"),
    show("SELECT id, dt, v FROM t ORDER BY id", (1, "a", 7), (2, "b", 7)),
    holds("DESCRIBE EXTENDED t", "Comment", "all", ""),
    show("DESCRIBE t id", ("col_name", "id"), ("data_type", "bigint"), ("comment", "number")),
    do("CREATE TABLE l LIKE t"),
    show("SHOW PARTITIONS l"),
    show("SHOW COLUMNS IN l", ("id",), ("dt",), ("v",)),
    do("CREATE TABLE c TBLPROPERTIES ('file.format' = 'orc') AS SELECT id, dt FROM t WHERE id = 1"),
    show("SELECT * FROM c", (1, "a")),
    do("CREATE OR REPLACE TABLE c AS SELECT id FROM t WHERE id = 2"),
    show("SELECT * FROM c", (2,)),
    do("REPLACE TABLE c AS SELECT 5 AS id"),
    show("SELECT * FROM c", (5,)),
    do("CREATE OR REPLACE TABLE c (name STRING)"),
    show("SHOW COLUMNS IN c", ("name",)),
    do("ALTER TABLE c RENAME TO d"),
    show("SHOW TABLES", *(("{database}", name, False) for name in ("d", "l", "t"))),
    do("DROP TABLE d PURGE"),
    do("DROP TABLE IF EXISTS d"),
    refused("DROP TABLE d", "no table"),
    do("REFRESH TABLE t"),
    do("ANALYZE TABLE t COMPUTE STATISTICS"),
    do("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS"),
    refused("ANALYZE TABLE t COMPUTE STATISTICS NOSCAN", "leave NOSCAN out"),
    refused("ANALYZE TABLE t PARTITION (dt = 'a') COMPUTE STATISTICS", "leave PARTITION out"),
    holds("DESCRIBE EXTENDED t", "Provider", "paimon", ""),
    refused("CREATE TABLE x (a INT) USING avro", "which makes a format table"),
    unless("has format tables", do("CREATE TABLE x (a INT) USING csv"), FILES, JDBC),
    unless("no table", do("INSERT INTO x VALUES (4)"), FILES, JDBC),
    unless("no table", show("SELECT a FROM x", (4,)), FILES, JDBC),
    unless("no table", do("DROP TABLE x"), FILES, JDBC),
    unless("has format tables", do("CREATE TABLE x USING parquet AS SELECT 5 AS a"), FILES, JDBC),
    unless("no table", show("SELECT a FROM x", (5,)), FILES, JDBC),
    unless("no table", do("DROP TABLE x"), FILES, JDBC),
    unless("leave LOCATION out", do("CREATE TABLE e (a INT) LOCATION '{place}/e'"), FILES, JDBC),
    unless("no table", do("INSERT INTO e VALUES (3)"), FILES, JDBC),
    unless("no table", show("SELECT a FROM e", (3,)), FILES, JDBC),
    unless("no table", do("DROP TABLE e"), FILES, JDBC),
    unless("leave LOCATION out", do("CREATE TABLE e (a INT) LOCATION '{place}/e'"), FILES, JDBC),
    unless("no table", show("SELECT a FROM e", (3,)), FILES, JDBC),
    *(
        refused(f"{verb} {table} LOCATION '{{place}}/r' AS SELECT 1 AS a", "create the table without AS")
        for verb in ("CREATE TABLE", "CREATE OR REPLACE TABLE", "REPLACE TABLE")
        for table in ("r", "t")
    ),
    refused("CREATE OR REPLACE TABLE t (a INT) LOCATION '{place}/r'", "a table stays where it is; leave LOCATION out"),
    refused("REPLACE TABLE t (a INT) LOCATION '{place}/r'", "a table stays where it is; leave LOCATION out"),
    refused("REPLACE TABLE r (a INT) LOCATION '{place}/r'", "there is no such table"),
    unless("leave LOCATION out", do("CREATE OR REPLACE TABLE r (a INT) LOCATION '{place}/r'"), FILES, JDBC),
    show("SELECT id, dt, v FROM t ORDER BY id", (1, "a", 7), (2, "b", 7)),
)
OPTIONS = (
    do("CREATE TABLE t (id BIGINT, note STRING)"),
    do("ALTER TABLE t SET TBLPROPERTIES ('snapshot.num-retained.max' = '50', 'comment' = 'of options')"),
    show("SHOW TBLPROPERTIES t ('snapshot.num-retained.max')", ("snapshot.num-retained.max", "50")),
    holds("DESCRIBE EXTENDED t", "Comment", "of options", ""),
    do("ALTER TABLE t UNSET TBLPROPERTIES ('snapshot.num-retained.max')"),
    refused("ALTER TABLE t SET TBLPROPERTIES ('bukcet' = '1')", "is not known; did you mean 'bucket'"),
    do("COMMENT ON TABLE t IS 'other'"),
    holds("DESCRIBE EXTENDED t", "Comment", "other", ""),
)
COLUMNS = (
    do("CREATE TABLE t (id BIGINT NOT NULL, note STRING, s STRUCT<a: INT>, m MAP<STRING, STRUCT<x: INT>>)"),
    do("INSERT INTO t VALUES (1, 'n', named_struct('a', 1), map('k', named_struct('x', 2)))"),
    do("ALTER TABLE t ADD COLUMN first INT FIRST"),
    do("ALTER TABLE t ADD COLUMNS (after INT AFTER note, s.b STRING, m.value.y INT)"),
    do("ALTER TABLE t RENAME COLUMN note TO text"),
    do("ALTER TABLE t RENAME COLUMN s.a TO c"),
    do("ALTER TABLE t ALTER COLUMN first TYPE BIGINT"),
    do("ALTER TABLE t ALTER COLUMN id DROP NOT NULL"),
    do("ALTER TABLE t ALTER COLUMN text COMMENT 'words'"),
    do("ALTER TABLE t ALTER COLUMN first AFTER id"),
    do("ALTER TABLE t ALTER COLUMN text FIRST"),
    do("ALTER TABLE t ALTER COLUMN after SET DEFAULT 4"),
    show("SHOW COLUMNS IN t", ("text",), ("id",), ("first",), ("after",), ("s",), ("m",)),
    show("SELECT text, id, first, after, s.b, s.c, m['k'].x FROM t", ("n", 1, None, None, None, 1, 2)),
    do("ALTER TABLE t DROP COLUMN m"),
    do("ALTER TABLE t DROP COLUMNS (s.b, first)"),
    do("INSERT INTO t (text, id, s) VALUES ('o', NULL, named_struct('c', 2))"),
    show("SELECT text, id, after, s.c FROM t ORDER BY text", ("n", 1, None, 1), ("o", None, 4, 2)),
    refused("ALTER TABLE t ALTER COLUMN id SET NOT NULL", "alter-column-null-to-not-null.disabled"),
)
PARTITIONS = (
    do("CREATE TABLE t (id INT, dt STRING, h INT) PARTITIONED BY (dt, h)"),
    do("INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1)"),
    show("SHOW PARTITIONS t", ("dt=a/h=1",), ("dt=a/h=2",), ("dt=b/h=1",)),
    show("SHOW PARTITIONS t PARTITION (dt = 'b')", ("dt=b/h=1",)),
    Step("SHOW TABLE EXTENDED LIKE 't' PARTITION (dt = 'b', h = 1)"),
    do("ALTER TABLE t ADD PARTITION (dt = 'n', h = 1)"),
    refused("ALTER TABLE t DROP PARTITION (h = 1)", "h is given and dt is not"),
    refused("ALTER TABLE t DROP PARTITION (dt = 'a', h = 1), PARTITION (dt = 'a', h = 9)", "no partition was dropped"),
    do("ALTER TABLE t DROP PARTITION (dt = 'a', h = '1')"),
    do("TRUNCATE TABLE t PARTITION (dt = 'b')"),
    show("SELECT id FROM t", (2,)),
    refused("MSCK REPAIR TABLE t", "nothing to repair"),
    do("TRUNCATE TABLE t"),
    show("SELECT id FROM t"),
)
TAGS = (
    do("CREATE TABLE t (id INT)"),
    do("INSERT INTO t VALUES (1)"),
    do("INSERT INTO t VALUES (2)"),
    do("ALTER TABLE t CREATE TAG one AS OF VERSION 1 RETAIN 3 DAYS"),
    do("ALTER TABLE t CREATE TAG IF NOT EXISTS one"),
    do("ALTER TABLE t CREATE TAG late"),
    do("ALTER TABLE t CREATE OR REPLACE TAG late AS OF VERSION 1"),
    show("SELECT id FROM t VERSION AS OF 'late'", (1,)),
    do("ALTER TABLE t REPLACE TAG late AS OF VERSION 2 RETAIN 5 HOURS"),
    refused("ALTER TABLE t REPLACE TAG none", "has no tag 'none'"),
    do("ALTER TABLE t RENAME TAG late TO two"),
    show("SHOW TAGS t", ("one",), ("two",)),
    do("ALTER TABLE t CREATE TAG three"),
    do("ALTER TABLE t DELETE TAG `two, three`"),
    do("ALTER TABLE t DELETE TAG IF EXISTS two"),
    show("SHOW TAGS t", ("one",)),
    show("CALL sys.create_branch('{database}.t', 'b', 'one')", (True,)),
    show("SELECT id FROM `t$branch_b`", (1,)),
)
_NO_VIEWS = "stores no views|no view|no table"
_OF_STORED_VIEWS = (
    do("CREATE VIEW v COMMENT 'big' TBLPROPERTIES ('k' = 'w') AS SELECT id, v FROM paimon.base.t WHERE id > 1"),
    show("SELECT * FROM v", (2, "two")),
    do("CREATE OR REPLACE VIEW v (number COMMENT 'n', v) AS SELECT id, v FROM paimon.base.t WHERE id > 0"),
    do("CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS one"),
    refused("CREATE VIEW v AS SELECT 1 AS one", "already"),
    refused("INSERT INTO v VALUES (1, 'x')", "is a view and no table"),
    refused("DROP TABLE v", "is a view and no table"),
    show("SELECT number FROM v ORDER BY number", (1,), (2,)),
    holds("DESCRIBE v", "number", "int", "n"),
    holds("DESCRIBE EXTENDED v", "v", "string", None),
    show("SHOW COLUMNS IN v", ("number",), ("v",)),
    Step("SHOW CREATE TABLE v"),
    do("ALTER VIEW v SET TBLPROPERTIES ('k' = 'w')"),
    do("ALTER VIEW v UNSET TBLPROPERTIES ('k')"),
    unless("and no dialects", do("ALTER VIEW v AS SELECT id AS number, v FROM paimon.base.t WHERE id = 2"), HIVE),
    refused("ALTER VIEW v AS SELECT id FROM paimon.base.t", "other columns"),
    do("ALTER VIEW v RENAME TO w"),
    refused("DROP VIEW v", "no view"),
    do("DROP VIEW IF EXISTS v"),
    do("DROP VIEW w"),
)
_OF_TEMPORARY_VIEWS = (
    do("CREATE OR REPLACE TEMPORARY VIEW tv_{database} AS SELECT id FROM paimon.base.t WHERE id = 1"),
    show("SELECT * FROM tv_{database}", (1,)),
    holds("DESCRIBE tv_{database}", "id", "int", None),
    show("SHOW COLUMNS IN tv_{database}", ("id",)),
    do("ALTER VIEW tv_{database} AS SELECT 7 AS id"),
    show("SELECT * FROM tv_{database}", (7,)),
    do("ALTER VIEW tv_{database} RENAME TO other_{database}"),  # by Spark
    do("ALTER VIEW other_{database} RENAME TO tv_{database}"),
    do("CACHE TABLE cached_{database} AS SELECT id FROM paimon.base.t WHERE id = 2"),
    show("SELECT * FROM cached_{database}", (2,)),
    do("DROP VIEW cached_{database}"),
    unless(_NO_VIEWS, do("CREATE VIEW tv_{database} AS SELECT 'stored' AS what"), FILES),
    do("DROP VIEW tv_{database}"),
    unless(_NO_VIEWS, show("SELECT * FROM tv_{database}", ("stored",)), FILES),
    unless(_NO_VIEWS, do("DROP VIEW tv_{database}"), FILES),
    unless(_NO_VIEWS, do("DROP VIEW IF EXISTS tv_{database}"), FILES),
    do("CREATE GLOBAL TEMPORARY VIEW gv_{database} AS SELECT id FROM paimon.base.t WHERE id = 2"),
    show("SELECT * FROM global_temp.gv_{database}", (2,)),
    do("DROP VIEW global_temp.gv_{database}"),
)
VIEWS = (
    do("CREATE TABLE known (a INT)"),
    refused("CREATE VIEW known AS SELECT 1 AS a", "already|stores no views"),
    refused("ALTER VIEW known RENAME TO other", "no view|stores no views"),
    refused("CREATE VIEW w (a, b) AS SELECT 1 AS one", "2 columns are named, the query has 1"),
    show("SHOW VIEWS LIKE 'w*'"),
    *(unless(_NO_VIEWS, step, FILES) for step in _OF_STORED_VIEWS),
    show("SHOW VIEWS"),
    *_OF_TEMPORARY_VIEWS,
)
_NO_FUNCTIONS = "only a REST catalog stores functions"
_NO_FUNCTION = r"paimon\.{database}\.f: no catalog of Paimon has it"
FUNCTIONS = (
    show("SELECT sys.max_pt('paimon.base.p')", ("b",)),
    *(
        refused(f"SELECT sys.{name}(1)", f"the function sys.{name} is not supported")
        for name in ("bucket", "hive_bucket")
    ),
    *(
        unless(_NO_FUNCTIONS, step, FILES, HIVE, JDBC)
        for step in (
            do("CREATE FUNCTION paimon.{database}.f(x INT) RETURNS INT RETURN x + 1"),
            holds("DESCRIBE FUNCTION EXTENDED paimon.{database}.f", "Function:      {database}.f"),
        )
    ),
    unless(_NO_FUNCTION, show("SELECT paimon.{database}.f(1)", (2,)), FILES, HIVE, JDBC),
    *(
        unless(_NO_FUNCTIONS, step, FILES, HIVE, JDBC)
        for step in (
            do("CREATE OR REPLACE FUNCTION paimon.{database}.f AS 'a.b.C' USING JAR '/x.jar'"),
            holds("DESCRIBE FUNCTION paimon.{database}.f", "Class: a.b.C"),
            do("DROP FUNCTION paimon.{database}.f"),
        )
    ),
)
SCRIPTS: Mapping[str, tuple[Step, ...]] = {
    "databases": DATABASES,
    "tables": TABLES,
    "options": OPTIONS,
    "columns": COLUMNS,
    "partitions": PARTITIONS,
    "tags": TAGS,
    "views": VIEWS,
    "functions": FUNCTIONS,
}
