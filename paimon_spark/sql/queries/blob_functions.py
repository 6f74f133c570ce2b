"""Functions of references to blobs as expressions of Spark's own (Java: PathToDescriptorFunction,
DescriptorToStringFunction, BlobViewFieldIdSparkFunction).

Their argument stands in the expression once, so that it is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paimon_spark.format.blob_file import REFERENCE_START, REFERENCE_URI, BlobDescriptor

_START = REFERENCE_START.hex().upper()
_LENGTH = REFERENCE_URI - 3  # of the address: the place of its first byte, which SQL counts from 1
_END = 16  # bytes of the place of the value, behind the address


def path_to_descriptor(argument: str) -> str:
    """The reference to all bytes of the file of a path."""
    digits = "lpad(hex(octet_length(p)), 8, '0')"
    length = f"unhex(concat({', '.join(f'substr({digits}, {at}, 2)' for at in (7, 5, 3, 1))}))"
    place = f"X'{'00' * 8}{'FF' * 8}'"
    whole = f"concat(X'{_START}', {length}, encode(p, 'UTF-8'), {place})"
    return f"element_at(transform(array(CAST({argument} AS STRING)), p -> {whole}), 1)"


def descriptor_to_string(argument: str) -> str:
    """A reference as text, as Java prints it."""
    length = _number("d", _LENGTH, 4)
    uri = f"decode(substr(d, {REFERENCE_URI + 1}, CAST({length} AS INT)), 'UTF-8')"
    offset, count = (_number("d", f"octet_length(d) - {_END - 1 - more}", 8) for more in (0, 8))
    text = f"concat('BlobDescriptor{{version=2, uri=\\'', {uri}, '\\', offset=', {offset}, ', length=', {count}, '}}')"
    fits = f"startswith(d, X'{_START}') AND octet_length(d) = {REFERENCE_URI + _END} + CAST({length} AS INT)"
    wrong = "raise_error(concat('a value of ', octet_length(d), ' bytes is no reference to a blob'))"
    whole = f"CASE WHEN d IS NULL THEN CAST(NULL AS STRING) WHEN {fits} THEN {text} ELSE {wrong} END"
    return f"element_at(transform(array(CAST({argument} AS BINARY)), d -> {whole}), 1)"


def blob_view(head: bytes, argument: str) -> str:
    """The view of a row: what views of the column begin with, then the id of the row.

    Args:
        head: what stands before the id of the row (format.blob_file).
        argument: the text of the id.
    """
    digits = "lpad(hex(r), 16, '0')"
    turned = ", ".join(f"substr({digits}, {at}, 2)" for at in range(15, 0, -2))
    whole = f"concat(X'{head.hex().upper()}', unhex(concat({turned})))"
    return f"element_at(transform(array(CAST({argument} AS BIGINT)), r -> {whole}), 1)"


def _number(name: str, start: int | str, size: int) -> str:
    """A little-endian number in some bytes, as the text of its digits."""
    digits = f"hex(substr({name}, {start}, {size}))"
    turned = ", ".join(f"substr({digits}, {at}, 2)" for at in range(2 * size - 1, 0, -2))
    return f"conv(concat({turned}), 16, -10)"


BLOB_VIEW = "blob_view"
PATH_TO_DESCRIPTOR = "path_to_descriptor"
EXPRESSIONS: Mapping[str, Callable[[str], str]] = {
    PATH_TO_DESCRIPTOR: path_to_descriptor,
    "descriptor_to_string": descriptor_to_string,
}
"""The expression of a call by the name of the function, of the text of its argument."""


def reference_to(path: str) -> str:
    """The literal of the reference to all bytes of the file of a path."""
    return f"X'{BlobDescriptor(path).encode().hex().upper()}'"
