"""Rewrites parquet footers: declares INT96 columns FIXED_LEN_BYTE_ARRAY(12), and the reverse (see int96)."""

from __future__ import annotations

from paimon_spark.arrow.parquet.thrift_compact import I32, Field, Struct, decode_struct, encode_struct, find

_TYPE_INT96, _TYPE_FIXED = 3, 7
_SCHEMA, _ROW_GROUPS = 2, 4  # of FileMetaData
_TYPE, _TYPE_LENGTH, _CONVERTED_TYPE, _LOGICAL_TYPE = 1, 2, 6, 10  # of SchemaElement
_COLUMNS, _META_DATA = 1, 3  # of RowGroup, ColumnChunk


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
