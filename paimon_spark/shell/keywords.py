"""Words of Spark's SQL that the shell completes: those that statements are mostly written with."""

from __future__ import annotations

STATEMENTS = (
    "ALTER", "ANALYZE", "CALL", "CREATE", "DESCRIBE", "DROP", "EXPLAIN", "FROM", "INSERT", "REFRESH", "SELECT", "SET",
    "SHOW", "TABLE", "TRUNCATE", "USE", "VALUES", "WITH",
)  # fmt: skip
"""Words that a statement begins with."""

WORDS = (
    *STATEMENTS, "ADD", "ALL", "AND", "ANTI", "ARRAY", "AS", "ASC", "BETWEEN", "BIGINT", "BINARY", "BOOLEAN", "BY",
    "CASE", "CAST", "COLUMN", "COLUMNS", "COMMENT", "CROSS", "CURRENT_DATE", "CURRENT_TIMESTAMP", "DATABASE",
    "DATABASES", "DATE", "DECIMAL", "DELETE", "DESC", "DISTINCT", "DOUBLE", "ELSE", "END", "EXCEPT", "EXISTS",
    "EXTENDED", "FALSE", "FILTER", "FLOAT", "FORMATTED", "FULL", "GROUP", "HAVING", "IF", "IN", "INNER", "INT",
    "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "LATERAL", "LEFT", "LIKE", "LIMIT", "MAP", "NOT", "NULL", "NULLS",
    "OF", "OFFSET", "ON", "OR", "ORDER", "OUTER", "OVER", "OVERWRITE", "PARTITION", "PARTITIONED", "PARTITIONS",
    "PRIMARY", "PROCEDURES", "QUALIFY", "RENAME", "REPLACE", "RIGHT", "RLIKE", "ROWS", "SCHEMA", "SEMI", "SMALLINT",
    "STRING", "STRUCT", "SYSTEM_TIME", "TABLES", "TAG", "TAGS", "TBLPROPERTIES", "TEMPORARY", "THEN", "TIMESTAMP",
    "TIMESTAMP_NTZ", "TINYINT", "TO", "TRUE", "UNION", "UPDATE", "USING", "VERSION", "VIEW", "VIEWS", "WHEN", "WHERE",
    "WINDOW",
)  # fmt: skip
"""All of them."""

BEFORE_RELATIONS = frozenset(
    {"FROM", "JOIN", "INTO", "TABLE", "OVERWRITE", "UPDATE", "DESCRIBE", "DESC", "EXTENDED", "PARTITIONS",
     "TBLPROPERTIES", "REFRESH", "COLUMNS", "TAGS"}
)  # fmt: skip
"""Words that the name of a table follows."""

BEFORE_DATABASES = frozenset({"USE", "DATABASE", "SCHEMA", "NAMESPACE"})
"""Words that the name of a database follows."""

CLAUSES = frozenset({"SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "ON", "SET", "VALUES", "WINDOW", "LIMIT"})
"""Words that a clause begins with."""
