"""All procedures by their names, each imported when it is asked for: a session waits for the first that it calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from paimon_spark.procedures.databases import DatabaseProcedure
    from paimon_spark.procedures.procedure import Declaration, Procedure

D = TypeVar("D", bound="Declaration")
_ROOM = "paimon_spark.procedures"
_MODULES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Compaction": {
            "compact": "rewrites",
            "compact_manifest": "rewrites",
            "compact_chain_table": "rewrites",
            "rescale": "rewrites",
            "rewrite_file_index": "rewrites",
            "materialize_deletion_vectors": "rewrites",
            "reassign_row_id": "rewrites",
        },
        "Indexes of the table": {"create_global_index": "table_indexes", "drop_global_index": "table_indexes"},
        "Expiry": {
            "expire_snapshots": "snapshots",
            "expire_changelogs": "snapshots",
            "expire_partitions": "partitions",
            "mark_partition_done": "partitions",
        },
        "Rows": {"truncate": "row_removal", "drop_partitions": "row_removal"},
        "Tags": {
            "create_tag": "tags",
            "create_tag_from_timestamp": "tags",
            "replace_tag": "tags",
            "rename_tag": "tags",
            "delete_tag": "tags",
            "expire_tags": "tags",
            "trigger_tag_automatic_creation": "tags",
        },
        "Going back": {
            "rollback": "rollbacks",
            "rollback_to_timestamp": "rollbacks",
            "rollback_to_watermark": "rollbacks",
            "rollback_to_as_latest": "rollbacks",
        },
        "Branches": {
            "create_branch": "branches",
            "rename_branch": "branches",
            "delete_branch": "branches",
            "fast_forward": "branches",
            "merge_branch": "rollbacks",
        },
        "Consumers": {"reset_consumer": "snapshots", "clear_consumers": "snapshots"},
        "Copies and statistics": {"copy": "rewrites", "analyze": "analysis"},
        "Cleaning and repair": {
            "remove_orphan_files": "orphan_files",
            "purge_files": "row_removal",
            "remove_unexisting_files": "row_removal",
            "repair_earliest_snapshot": "snapshots",
        },
    }
)
"""The module of each procedure of one table, under the headings of the documentation."""
_OF_DATABASES = (
    "compact_database",
    "repair",
    "alter_view_dialect",
    "migrate_table",
    "migrate_database",
    "refresh_materialized_table",
    "create_function",
    "alter_function",
    "drop_function",
)


class _Declared(Mapping[str, type[D]], Generic[D]):
    """Procedures by their names in SQL. What asks for names alone imports none."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> type[D]:
        module = import_module(f"{_ROOM}.{self._modules[name]}")
        declared: type[D] = getattr(module, "".join(part.capitalize() for part in name.split("_")))
        return declared

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules


GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType({heading: tuple(named) for heading, named in _MODULES.items()})
"""The names of the procedures of one table under the headings of the documentation."""

PROCEDURES: Mapping[str, type[Procedure[Any]]] = _Declared(
    {name: module for named in _MODULES.values() for name, module in named.items()}
)
"""The procedures of one table by their names in SQL."""

DATABASE_PROCEDURES: Mapping[str, type[DatabaseProcedure[Any]]] = _Declared(dict.fromkeys(_OF_DATABASES, "databases"))
"""The procedures of many tables by their names in SQL."""
