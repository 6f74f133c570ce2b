"""What a store of bytes must offer to hold a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Protocol, Self

from paimon_spark.errors import CorruptFile, StorageError
from paimon_spark.limits import MAX_FILE_BYTES, TOLD


@dataclass(frozen=True, slots=True)
class FileStatus:
    """One entry of a directory. path is complete, name its last part; size in bytes (0 for a directory).

    modified_millis: epoch millis by the clock of the store; 0: it does not tell.
    """

    path: str
    name: str
    size: int
    is_directory: bool
    modified_millis: int


def check_size(size: int, path: str) -> None:
    """Checks that a file of so many bytes is small enough to be read whole.

    Raises:
        CorruptFile: it is not.
    """
    if size > MAX_FILE_BYTES:
        raise CorruptFile(
            f"cannot read {path}: it has {size} bytes, and files that are read whole have at most {MAX_FILE_BYTES}; it "
            f"is damaged, or made to fill the memory; {TOLD}"
        )


class NotCreated(StorageError):
    """create_if_absent failed, and the file certainly does not exist through this call, nor will it later.

    Any other StorageError of create_if_absent leaves the outcome unknown.
    """


class OutputStream(Protocol):
    """A file being written. Leaving its ``with`` block closes it, or discards it when an error passes through."""

    @property
    def closed(self) -> bool: ...

    def write(self, data: bytes | bytearray | memoryview, /) -> int: ...

    def flush(self) -> None: ...

    def tell(self) -> int:
        """How many bytes have been written."""
        ...

    def close(self) -> None:
        """Makes the whole file durable and visible. After an error a part of it may exist: delete it by its name."""
        ...

    def discard(self) -> None:
        """Gives the file up: nothing of it stays, as far as the store can tell. Never raises for a closed stream."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class WholeOrNothing:
    """The ``with`` block of an OutputStream."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self: OutputStream,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


class FileIO(Protocol):
    """A store of files under absolute paths or URIs; picklable, and safe to use from several threads.

    A file that is not there raises FileNotFoundError wherever it has to be there; no other error means "not there". All
    other faults of the store are StorageErrors that name the file; those who are refused access, PermissionErrors too.
    """

    def read_bytes(self, path: str) -> bytes:
        """The whole content of a small file.

        Raises:
            CorruptFile: it is far too large for what is read whole, or no regular file (a pipe, a device).
        """
        ...

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        """Random access to a file, as PyArrow's readers want it; to be closed by the caller.

        Args:
            path: the file.
            size: its exact size in bytes if known, which saves a request on object stores.
        """
        ...

    def open_output(self, path: str) -> OutputStream:
        """A new file under a name nobody else uses. Missing parent directories are made."""
        ...

    def write_bytes(self, path: str, data: bytes) -> None:
        """A small new file under a name nobody else uses, durable on return."""
        ...

    def create_if_absent(self, path: str, data: bytes) -> bool:
        """Publishes a whole file under a name others race for; no reader ever sees a part of it.

        Returns:
            True: this call created the file. False: the name was taken. A store that repeats requests by itself may
            say False for a file of this very call: who must know compares the content.

        Raises:
            NotCreated: it failed for certain. Any other StorageError: the outcome is unknown.
            UnsupportedFeature: the store has no atomic create-if-absent.
        """
        ...

    def overwrite(self, path: str, data: bytes) -> None:
        """Replaces a small file or creates it; readers see the old or the new content."""
        ...

    def list(self, path: str) -> list[FileStatus]:
        """The direct entries of a directory, in no order; empty when there is none."""
        ...

    def exists(self, path: str) -> bool:
        """True if there is a file or directory."""
        ...

    def delete(self, path: str) -> None:
        """Removes a file; fine when it is not there."""
        ...

    def delete_many(self, paths: Sequence[str]) -> None:
        """Removes files in their order, or with bulk requests where the store has them; absent ones are fine.

        Raises:
            StorageError: one could not be removed; what became of those after it is open.
        """
        ...

    def remove_empty_directory(self, path: str) -> bool:
        """Removes a directory that holds nothing. False: it is still there. A store without directories has none."""
        ...
