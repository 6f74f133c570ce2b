"""Packs of bytes of BLOB columns of tables with a primary key, and the list of packs beside each data file.

Data files hold references, which a compaction copies as they are; the bytes lie in packs, files of entries as those of
`format.blob_file`, which no job changes or deletes. The list (`<data file>.blobref`, one of the extra files) names the
packs to which the rows of the file refer: a magic number (int32, big-endian), then what the checksum is of: the version
1, the number of packs (int32), directory and name of each (Java's writeUTF), sorted; and the CRC-32 (int32).
Java: ManagedBlobReferenceFile (release 2.0).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from paimon_spark.errors import CorruptFile
from paimon_spark.format.java.modified_utf8 import decode_utf, encode_utf

PACK = "managed.blob"
"""The extension of the names of packs."""
PACK_SUFFIX = f".{PACK}"
LIST_SUFFIX = ".blobref"
"""What the name of a data file has behind it in the name of its list of packs."""
_MAGIC = 0x50424C52
_VERSION = 1
_HEAD, _COUNT, _CHECKSUM, _LENGTH = struct.Struct(">i"), struct.Struct(">bi"), struct.Struct(">I"), struct.Struct(">H")


class Pack(NamedTuple):
    """One pack: its directory as Java writes it, and its name."""

    directory: str
    name: str

    @property
    def path(self) -> str:
        """The whole path."""
        return f"{self.directory}/{self.name}"


def pack_of(uri: str) -> Pack | None:
    """The pack to whose bytes a reference leads; None: the file is none."""
    directory, _, name = uri.rpartition("/")
    if not name.endswith(PACK_SUFFIX):
        return None
    return Pack(directory.replace(":///", ":/", 1), name)  # so Java prints a path without an authority


def encode_packs(packs: Iterable[Pack]) -> bytes:
    """The list of some packs."""
    distinct = sorted(set(packs), key=lambda pack: [part.encode("utf-16-be", "surrogatepass") for part in pack])
    body = _COUNT.pack(_VERSION, len(distinct)) + b"".join(encode_utf(part) for pack in distinct for part in pack)
    return _HEAD.pack(_MAGIC) + body + _CHECKSUM.pack(zlib.crc32(body))


def decode_packs(data: bytes, where: str) -> tuple[Pack, ...]:
    """The packs of a list.

    Raises:
        CorruptFile: it is damaged, or of another version.
    """
    body, least = data[_HEAD.size : -_CHECKSUM.size], _HEAD.size + _COUNT.size + _CHECKSUM.size
    if len(data) < least or _HEAD.unpack_from(data)[0] != _MAGIC:
        raise _damaged(where, f"its {len(data)} bytes do not begin as those of a list of packs")
    if zlib.crc32(body) != _CHECKSUM.unpack_from(data, len(data) - _CHECKSUM.size)[0]:
        raise _damaged(where, "its checksum is not that of its bytes")
    version, count = _COUNT.unpack_from(body)
    if version != _VERSION:
        raise _damaged(where, f"its version is {version}, this release reads {_VERSION}")
    texts: list[str] = []
    at = _COUNT.size
    try:
        while at < len(body):
            (length,) = _LENGTH.unpack_from(body, at)
            at += _LENGTH.size
            texts.append(decode_utf(body[at : at + length]))
            at += length
    except (struct.error, UnicodeDecodeError):
        raise _damaged(where, "a text in it breaks off or is no modified UTF-8") from None
    packs = tuple(Pack(*pair) for pair in zip(texts[::2], texts[1::2], strict=False))
    if at != len(body) or len(texts) != 2 * count or not all(_is_pack(pack) for pack in packs):
        raise _damaged(where, f"it has {len(texts)} texts for {count} packs, or names that are those of no pack")
    return packs


def _is_pack(pack: Pack) -> bool:
    return bool(pack.directory) and "/" not in pack.name and pack.name.endswith(PACK_SUFFIX)


def _damaged(where: str, found: str) -> CorruptFile:
    return CorruptFile(f"reading the list of packs {where}: {found}; it is damaged: restore it from a copy")
