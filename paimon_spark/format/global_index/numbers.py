"""Numbers of any length in index files: groups of 7 bits, the least first (Java: VarLengthIntUtils)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from paimon_spark.errors import CorruptFile

Octets: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]
Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
LONGEST = 9
"""Bytes of a number of 63 bits."""


def damaged(where: str, why: str) -> CorruptFile:
    """The error for an index file that cannot be read."""
    return CorruptFile(
        f"cannot read the index file {where}: {why}; the file is damaged: drop the index and create it again, or read "
        "with 'global-index.enabled' = 'false'"
    )


def varint(number: int) -> bytes:
    """A number that is not negative, in groups of 7 bits, the least first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def number_at(data: bytes, place: int, where: str) -> tuple[int, int]:
    """The number that begins at a place, and the place after it.

    Raises:
        CorruptFile: it does not end.
    """
    number = 0
    for shift, byte in enumerate(data[place : place + LONGEST]):
        number |= (byte & 127) << 7 * shift
        if byte < 128:
            return number, place + shift + 1
    raise damaged(where, "a number does not end")


def decode_varints(data: Octets, where: str) -> Ints:
    """Numbers that stand one after the other.

    Raises:
        CorruptFile: the last one does not end, or one is too long.
    """
    if not len(data):
        return np.empty(0, np.int64)
    ends = np.flatnonzero(data < 128)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise damaged(where, "a number does not end")
    starts = np.append(0, ends[:-1] + 1)
    lengths = ends - starts + 1
    if lengths.max() > LONGEST:
        raise damaged(where, "a number is too long")
    places = np.arange(len(data)) - np.repeat(starts, lengths)
    return np.add.reduceat((data & 127).astype(np.int64) << (7 * places), starts)


def encode_varints(numbers: Ints) -> tuple[Octets, Ints]:
    """Numbers that are not negative one after the other, and the bytes of each."""
    lengths = np.ones(len(numbers), np.int64)
    for place in range(1, LONGEST):
        lengths += numbers >> 7 * place > 0
    ends = np.cumsum(lengths)
    found = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    starts = ends - lengths
    for place in range(int(lengths.max(initial=0))):
        longer = lengths > place
        septets = (numbers[longer] >> 7 * place) & 127
        found[starts[longer] + place] = septets | np.where(lengths[longer] > place + 1, 128, 0)
    return found, lengths


def numbers_at(data: Octets, places: Ints, where: str) -> tuple[Ints, Ints]:
    """The numbers that begin at some places, and the places after them.

    Raises:
        CorruptFile: a place is outside, or a number does not end.
    """
    found, after, open_ = np.zeros(len(places), np.int64), places.copy(), np.ones(len(places), np.bool_)
    for place in range(LONGEST):
        if not open_.any():
            return found, after
        at = after[open_]
        if at.min() < 0 or at.max() >= len(data):
            raise damaged(where, "a number is outside of its block")
        octets = data[at].astype(np.int64)
        found[open_] |= (octets & 127) << 7 * place
        after[open_] += 1
        open_[np.flatnonzero(open_)[octets < 128]] = False
    if open_.any():
        raise damaged(where, "a number is too long")
    return found, after
