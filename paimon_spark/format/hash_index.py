"""HASH index files of dynamic buckets: the hashes of all keys of a bucket (format 8.2; Java: HashIndexFile)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from paimon_spark.errors import CorruptFile


def decode_hashes(data: bytes, where: str = "a HASH index file") -> npt.NDArray[np.int32]:
    """The key hashes of a bucket, in file order, which has no meaning.

    Raises:
        CorruptFile: the file is not whole 4-byte integers.
    """
    if len(data) % 4:
        raise CorruptFile(f"cannot read {where}: its {len(data)} bytes are not a whole number of 4-byte hashes")
    return np.frombuffer(data, ">i4").astype(np.int32)


def encode_hashes(hashes: npt.NDArray[np.int32]) -> bytes:
    """The bytes of the index file."""
    return hashes.astype(">i4").tobytes()
