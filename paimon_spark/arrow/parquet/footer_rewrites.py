"""Rewrites parquet footers, where Arrow does not read or write what Paimon has: INT96, and maps of optional keys.

INT96 columns are declared FIXED_LEN_BYTE_ARRAY(12), and the reverse (see ``conform``).

Java before 0.9 writes maps whose keys are optional. Arrow refuses to open a file with such a map. Without the
annotation as a map, the same leaf columns and levels are a struct of one list of entries. So the footer is rewritten,
and ``conform`` makes maps of the structs.
"""

from __future__ import annotations

from paimon_spark.arrow.parquet.thrift_compact import (
    I32,
    STRUCT,
    Field,
    List,
    Struct,
    decode_struct,
    encode_struct,
    find,
)

_TYPE_INT96, _TYPE_FIXED = 3, 7
_SCHEMA, _ROW_GROUPS = 2, 4  # of FileMetaData
_TYPE, _TYPE_LENGTH, _REPETITION, _NUM_CHILDREN, _CONVERTED_TYPE, _LOGICAL_TYPE = 1, 2, 3, 5, 6, 10  # of SchemaElement
_COLUMNS, _META_DATA = 1, 3  # of RowGroup, ColumnChunk
_OPTIONAL, _REPEATED = 1, 2
_CONVERTED_MAPS = (1, 2)  # MAP, MAP_KEY_VALUE
_LOGICAL_MAP = 2  # of the union LogicalType


def int96_to_fixed(footer: bytes) -> bytes:
    """A parquet footer whose INT96 columns are declared FIXED_LEN_BYTE_ARRAY(12).

    Raises:
        ValueError: not a parquet footer.
    """
    tree = decode_struct(footer)
    for element in _elements(tree):
        if find(element, _TYPE) == _TYPE_INT96:
            _set(element, _TYPE, _TYPE_FIXED)
            _set(element, _TYPE_LENGTH, 12)
    _retype_chunks(tree)
    return encode_struct(tree)


def fixed_to_int96(footer: bytes) -> bytes:
    """The inverse: columns of FIXED_LEN_BYTE_ARRAY(12) without a logical type are declared INT96.

    Raises:
        ValueError: not a parquet footer.
    """
    tree = decode_struct(footer)
    for element in _elements(tree):
        annotated = find(element, _CONVERTED_TYPE) is not None or find(element, _LOGICAL_TYPE) is not None
        if find(element, _TYPE) == _TYPE_FIXED and find(element, _TYPE_LENGTH) == 12 and not annotated:
            _set(element, _TYPE, _TYPE_INT96)
            element[:] = [field for field in element if field.id != _TYPE_LENGTH]
    _retype_chunks(tree)
    return encode_struct(tree)


def _elements(tree: Struct) -> list[Struct]:
    schema = find(tree, _SCHEMA)
    if schema is None:
        raise ValueError("the parquet footer has no schema")
    elements: list[Struct] = schema.values
    return elements


def _retype_chunks(tree: Struct) -> None:
    """Give every column chunk the physical type of its schema leaf."""
    types = [kind for kind in (find(element, _TYPE) for element in _elements(tree)) if kind is not None]
    row_groups = find(tree, _ROW_GROUPS)
    for group in row_groups.values if row_groups else ():
        for chunk, kind in zip(find(group, _COLUMNS).values, types, strict=True):
            meta_data = find(chunk, _META_DATA)
            if meta_data is not None and find(meta_data, _TYPE) != kind:
                _set(meta_data, _TYPE, kind)


def _set(struct: Struct, field_id: int, value: int) -> None:
    for field in struct:
        if field.id == field_id:
            field.value = value
            return
    struct.append(Field(field_id, I32, value))
    struct.sort(key=lambda field: field.id)


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
