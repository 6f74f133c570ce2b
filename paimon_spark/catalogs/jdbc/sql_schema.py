"""The relational schema of Java's catalog (features 9.3; Java: JdbcUtils, JdbcDistributedLockDialect)."""

from __future__ import annotations

import sqlalchemy as sa

META = sa.MetaData()
LOCK_KEY_LENGTH = 255
NAME_LENGTH = 255
VALUE_LENGTH = 1000


def _text(name: str, key: bool = True, length: int = NAME_LENGTH, is_null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.VARCHAR(length), primary_key=key, nullable=is_null or not key)


TABLES = sa.Table("paimon_tables", META, _text("catalog_key"), _text("database_name"), _text("table_name"))
DATABASE_PROPERTIES = sa.Table(
    "paimon_database_properties",
    META,
    _text("catalog_key"),
    _text("database_name"),
    _text("property_key", is_null=True),
    _text("property_value", key=False, length=VALUE_LENGTH),
)
TABLE_PROPERTIES = sa.Table(
    "paimon_table_properties",
    META,
    *(_text(name) for name in ("catalog_key", "database_name", "table_name", "property_key")),
    _text("property_value", key=False, length=VALUE_LENGTH),
)
VIEWS = sa.Table(
    "paimon_views",
    META,
    *(_text(name) for name in ("catalog_key", "database_name", "view_name")),
    sa.Column("view_schema", sa.TEXT, nullable=False),
)


def lock_table(key_length: int = LOCK_KEY_LENGTH) -> sa.Table:
    """The table of locks; key_length: of the option ``lock-key-max-length``, for a table that is made."""
    return sa.Table(
        "paimon_distributed_locks",
        sa.MetaData(),
        _text("lock_id", length=key_length),
        sa.Column("acquired_at", sa.TIMESTAMP, server_default=sa.text("CURRENT_TIMESTAMP"), nullable=False),
        sa.Column("expire_time_seconds", sa.BIGINT, server_default=sa.text("0"), nullable=False),
    )


LOCKS = lock_table()
