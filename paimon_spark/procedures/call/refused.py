"""The official procedures that this release does not have (features 7), each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_CHAIN = "chain tables are not supported; each of their branches can be compacted by its own name"
_EVOLUTION = "it changes data evolution tables only, and these are not supported"
_GLOBAL_INDEX = "global indexes are not supported"
_FUNCTIONS = "functions of a catalog are not supported"

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "compact_chain_table": _CHAIN,
        "materialize_deletion_vectors": _EVOLUTION,
        "reassign_row_id": _EVOLUTION,
        "create_global_index": _GLOBAL_INDEX,
        "drop_global_index": _GLOBAL_INDEX,
        "create_function": _FUNCTIONS,
        "alter_function": _FUNCTIONS,
        "drop_function": _FUNCTIONS,
    }
)
"""Why a procedure is refused, by its name in SQL."""

OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "rewrite_data_files": "compact",
        "rewrite_manifests": "compact_manifest",
        "rollback_to_snapshot": "rollback",
        "set_current_snapshot": "rollback",
        "remove_orphans": "remove_orphan_files",
        "vacuum": "expire_snapshots",
        "optimize": "compact",
    }
)
"""The procedure here, by its name in another system."""
