"""Bitmaps of 64-bit numbers as the Java class Roaring64Bitmap writes them (RoaringBitmap 1.2, org.roaringbitmap.art).

This is not the portable format of 64-bit bitmaps. A number is split into a high part of 48 bits and a low part of 16.
The bytes are

* a byte: 0 for the empty bitmap, which ends here, else 1;
* the count of high parts, and an adaptive radix tree over them in preorder. A node has its kind, its count of children
  (2 bytes), the length of the prefix that all keys below it share, the prefix, and a lookup from byte to child: 4 or 16
  sorted bytes, 256 slot numbers (255: none), or 256 bits. A leaf has its whole key, big-endian, and the number of its
  container;
* lists of containers of low parts. A list has a mark, its count of slots (some are empty), and in each slot a mark; a
  container is a kind (runs, bits, values), its cardinality and the bytes it has in the portable format too;
* the count of containers, and the numbers of the last list and of the last slot in it.

Integers are little-endian; groups of 4 or 8 bytes in nodes are written as integers whose highest byte is the first.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyroaring import BitMap64

_LEAF = 4
_NODE_BODIES = {0: 4, 1: 16, 2: 256, 3: 32}  # kind of a node -> bytes of its lookup of children
_NODE_CHILDREN = {0: 4, 1: 16, 2: 48, 3: 256}
_KEY_BYTES = 6
_RUNS, _BITS, _VALUES = 0, 1, 2
_BITS_BYTES = 8192
_LIST_VALUES = 4096  # a container of more values is bits
_MOST_VALUES = 65536
_LIST_MARK, _EMPTY_SLOT, _FULL_SLOT = 0xFE, 0, 1
_COOKIE, _COOKIE_OF_RUNS = 12346, 12347  # the portable format of 32-bit bitmaps
_OFFSETS_FROM = 4  # a bitmap with runs stores offsets from this many containers on


@dataclass(frozen=True, slots=True)
class Container:
    """The low parts of one high part; data is encoded as in the portable format."""

    kind: int
    cardinality: int
    data: bytes


class _Bytes:
    """Reads bytes one after the other, and raises ValueError where they end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise ValueError(f"{count} bytes are missing at byte {self._at} of {len(self._data)}")
        part = self._data[self._at : end]
        self._at = end
        return part

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def end(self) -> None:
        if self._at != len(self._data):
            raise ValueError(f"{len(self._data) - self._at} bytes follow the bitmap")


def decode_art_bitmap(data: bytes) -> BitMap64:
    """The numbers, as unsigned 64-bit integers.

    Raises:
        ValueError: these are not the bytes of such a bitmap; the message says what is wrong with them.
    """
    reader = _Bytes(data)
    mark = reader.number(1)
    if mark == 0:
        reader.end()
        return BitMap64()
    if mark != 1:
        raise ValueError(f"the first byte is {mark}, expected 0 or 1")
    leaves = dict(_read_leaves(reader, reader.number(8)))
    lists = [_read_list(reader) for _ in range(reader.number(4))]
    reader.take(16)
    reader.end()
    containers = {}
    for key in sorted(leaves):
        container = _find(lists, leaves[key])
        if container is None:
            raise ValueError(f"there is no container {leaves[key]} for the key {key.hex()}")
        containers[key] = container
    return BitMap64.deserialize(_portable(containers))


def encode_art_bitmap(numbers: BitMap64) -> bytes:
    """The bytes that Java writes for a bitmap into which these numbers were put in ascending order."""
    optimized = numbers.copy()
    optimized.run_optimize()
    containers = dict(_containers_of(optimized.serialize()))
    if not containers:
        return b"\0"
    keys = list(containers)
    parts = [b"\1", struct.pack("<q", len(keys)), *_node(keys, 0, itertools.count())]
    slots = _slots(len(keys))
    parts.append(struct.pack("<iBi", 1, _LIST_MARK, slots))
    for container in containers.values():
        parts += [struct.pack("<BBi", _FULL_SLOT, container.kind, container.cardinality), container.data]
    parts.append(bytes([_EMPTY_SLOT]) * (slots - len(keys)))
    parts.append(struct.pack("<qii", len(keys), 0, len(keys) - 1))
    return b"".join(parts)


def _read_leaves(reader: _Bytes, count: int) -> Iterator[tuple[bytes, int]]:
    """Key and container number of every leaf. Leaves hold their whole key, so the inner nodes can be skipped."""
    while count:
        kind, _, prefix = struct.unpack("<BhB", reader.take(4))
        reader.take(prefix)
        if kind == _LEAF:
            yield reader.take(_KEY_BYTES), reader.number(8)
            count -= 1
        elif kind in _NODE_BODIES:
            reader.take(_NODE_BODIES[kind])
        else:
            raise ValueError(f"a node is of the unknown kind {kind}")


def _read_list(reader: _Bytes) -> list[Container | None]:
    reader.take(1)
    return [_read_slot(reader) for _ in range(reader.number(4))]


def _read_slot(reader: _Bytes) -> Container | None:
    mark = reader.number(1)
    if mark == _EMPTY_SLOT:
        return None
    if mark != _FULL_SLOT:
        raise ValueError(f"a container is marked with {mark}, expected 0 or 1")
    kind, cardinality = struct.unpack("<Bi", reader.take(5))
    if not 0 < cardinality <= _MOST_VALUES:
        raise ValueError(f"a container has {cardinality} values, expected 1 to {_MOST_VALUES}")
    if kind == _RUNS:
        head = reader.take(2)
        return Container(kind, cardinality, head + reader.take(4 * int.from_bytes(head, "little")))
    if kind == _BITS:
        return Container(kind, cardinality, reader.take(_BITS_BYTES))
    if kind == _VALUES:
        return Container(kind, cardinality, reader.take(2 * cardinality))
    raise ValueError(f"a container is of the unknown kind {kind}")


def _find(lists: Sequence[Sequence[Container | None]], number: int) -> Container | None:
    outer, inner = number >> 32, number & 0xFFFFFFFF
    return lists[outer][inner] if outer < len(lists) and inner < len(lists[outer]) else None


def _portable(containers: dict[bytes, Container]) -> bytes:
    """The portable bytes of a 64-bit bitmap: 32-bit bitmaps by the high half of their numbers."""
    halves = [(half, dict(group)) for half, group in itertools.groupby(containers.items(), lambda item: item[0][:4])]
    parts = [struct.pack("<Q", len(halves))]
    for half, members in halves:
        parts += [half[::-1], _portable_32({int.from_bytes(key[4:], "big"): c for key, c in members.items()})]
    return b"".join(parts)


def _portable_32(containers: dict[int, Container]) -> bytes:
    count = len(containers)
    runs = [container.kind == _RUNS for container in containers.values()]
    if any(runs):
        flags = sum(1 << i for i, is_run in enumerate(runs) if is_run)
        head = struct.pack("<HH", _COOKIE_OF_RUNS, count - 1) + flags.to_bytes((count + 7) // 8, "little")
    else:
        head = struct.pack("<II", _COOKIE, count)
    cards = b"".join(struct.pack("<HH", key, c.cardinality - 1) for key, c in containers.items())
    offsets = b""
    if not any(runs) or count >= _OFFSETS_FROM:
        start = len(head) + len(cards) + 4 * count
        sizes = [len(c.data) for c in containers.values()]
        offsets = struct.pack(f"<{count}I", *(start + at for at in itertools.accumulate(sizes[:-1], initial=0)))
    return b"".join([head, cards, offsets, *(c.data for c in containers.values())])


def _containers_of(portable: bytes) -> Iterator[tuple[bytes, Container]]:
    """The containers of a portable 64-bit bitmap by their high parts, ascending."""
    reader = _Bytes(portable)
    for _ in range(reader.number(8)):
        half = reader.take(4)[::-1]
        cookie, count = reader.number(2), reader.number(2) + 1
        flags = 0
        if cookie == _COOKIE_OF_RUNS:
            flags = int.from_bytes(reader.take((count + 7) // 8), "little")
        else:
            count = reader.number(4)
        cards = [struct.unpack("<HH", reader.take(4)) for _ in range(count)]
        if cookie != _COOKIE_OF_RUNS or count >= _OFFSETS_FROM:
            reader.take(4 * count)
        for i, (key, less_one) in enumerate(cards):
            yield half + key.to_bytes(2, "big"), _read_container(reader, bool(flags >> i & 1), less_one + 1)


def _read_container(reader: _Bytes, is_run: bool, cardinality: int) -> Container:
    if is_run:
        head = reader.take(2)
        return Container(_RUNS, cardinality, head + reader.take(4 * int.from_bytes(head, "little")))
    if cardinality > _LIST_VALUES:
        return Container(_BITS, cardinality, reader.take(_BITS_BYTES))
    return Container(_VALUES, cardinality, reader.take(2 * cardinality))


def _node(keys: Sequence[bytes], depth: int, numbers: Iterator[int]) -> Iterator[bytes]:
    """The node over some keys, ascending, that share their first depth bytes, and all nodes below it."""
    if len(keys) == 1:
        yield struct.pack("<BhB", _LEAF, 0, 0) + keys[0] + struct.pack("<q", next(numbers))
        return
    end = next(i for i in range(depth, _KEY_BYTES) if keys[0][i] != keys[-1][i])
    children = [(byte, list(group)) for byte, group in itertools.groupby(keys, lambda key: key[end])]
    kind = next(kind for kind, most in _NODE_CHILDREN.items() if len(children) <= most)
    yield struct.pack("<BhB", kind, len(children), end - depth) + keys[0][depth:end]
    yield _node_body(kind, bytes(byte for byte, _ in children))
    for _, below in children:
        yield from _node(below, end + 1, numbers)


def _node_body(kind: int, first_bytes: bytes) -> bytes:
    size = _NODE_BODIES[kind]
    if kind == 3:
        return sum(1 << byte for byte in first_bytes).to_bytes(size, "little")
    if kind == 2:
        body = bytearray(b"\xff" * size)
        for slot, byte in enumerate(first_bytes):
            body[byte] = slot
    else:
        body = bytearray(first_bytes.ljust(size, b"\0"))
    word = min(size, 8)
    return b"".join(bytes(body[at : at + word][::-1]) for at in range(0, size, word))


def _slots(count: int) -> int:
    """The number of slots of a list that grew to this many containers one by one."""
    slots = 1
    while slots < count:
        slots = max(slots + slots // 2, slots + 1)
    return slots
