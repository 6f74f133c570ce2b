"""Maps of parquet files whose keys are optional, as Java before 0.9 writes them (since then they are required).

Arrow refuses to open a file with such a map. Without the annotation as a map, the same leaf columns and levels are a
struct of one list of entries. So the footer is rewritten, and ``conform`` makes maps of the structs.
"""

from __future__ import annotations

from paimon_spark.arrow.parquet.thrift_compact import STRUCT, List, Struct, decode_struct, encode_struct, find

_SCHEMA = 2  # of FileMetaData
_REPETITION, _NUM_CHILDREN, _CONVERTED_TYPE, _LOGICAL_TYPE = 3, 5, 6, 10  # of SchemaElement
_OPTIONAL, _REPEATED = 1, 2
_CONVERTED_MAPS = (1, 2)  # MAP, MAP_KEY_VALUE
_LOGICAL_MAP = 2  # of the union LogicalType


def maps_as_structs(footer: bytes) -> bytes | None:
    """A parquet footer whose maps of optional keys are no longer annotated as maps; None: it has no such map.

    Raises:
        ValueError: not a Thrift struct.
    """
    tree = decode_struct(footer)
    schema = find(tree, _SCHEMA)
    if not isinstance(schema, List) or schema.kind != STRUCT:
        return None
    elements: list[Struct] = schema.values
    # Elements stand in depth-first order: a map, its repeated group of entries, the key.
    found = [i for i in range(len(elements) - 2) if _has_optional_key(*elements[i : i + 3])]
    for i in found:
        _strip(elements[i])
        _strip(elements[i + 1])
    return encode_struct(tree) if found else None


def _has_optional_key(group: Struct, entries: Struct, key: Struct) -> bool:
    return (
        _is_map(group)
        and find(group, _NUM_CHILDREN) == 1
        and find(entries, _REPETITION) == _REPEATED
        and find(entries, _NUM_CHILDREN) == 2
        and find(key, _REPETITION) == _OPTIONAL
    )


def _is_map(group: Struct) -> bool:
    logical = find(group, _LOGICAL_TYPE)
    annotated = isinstance(logical, list) and find(logical, _LOGICAL_MAP) is not None
    return annotated or find(group, _CONVERTED_TYPE) in _CONVERTED_MAPS


def _strip(group: Struct) -> None:
    group[:] = [field for field in group if field.id not in (_CONVERTED_TYPE, _LOGICAL_TYPE)]
