"""The interface of a file store that can hold a table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import IO, Any, NamedTuple, Protocol, Self, TypeVar, cast

from paimon_spark.errors import CorruptFile, StorageError, UnsupportedFeature
from paimon_spark.limits import ADVICE, MAX_FILE_BYTES

Method = TypeVar("Method", bound=Callable[..., Any])

DEFAULT_HOST = "default"
"""Stands in an address of Hadoop for the host of its default file system."""


class FileStatus(NamedTuple):
    """One entry of a directory.

    Attributes:
        path: the complete path; name is its last part.
        size: bytes; 0 for a directory.
        modified_millis: epoch milliseconds by the clock of the store; 0: unknown.
    """

    path: str
    name: str
    size: int
    is_directory: bool
    modified_millis: int


class ListedNames(NamedTuple):
    """What a directory holds: its directories, and the names of its files. See list_names."""

    directories: list[FileStatus]
    files: list[str]


def check_size(size: int, path: str) -> None:
    """Checks that a file of this size in bytes is small enough to be read whole.

    Raises:
        CorruptFile: it is too large.
    """
    if size > MAX_FILE_BYTES:
        raise CorruptFile(
            f"cannot read {path}: it has {size} bytes, and files that are read whole have at most {MAX_FILE_BYTES}; it "
            f"is damaged, or made to fill the memory; {ADVICE}"
        )


class NotCreated(StorageError):
    """create_if_absent failed, and it is certain that this call has not created the file and will not do so later.

    Any other StorageError of create_if_absent leaves the outcome unknown.
    """


class UnprovedStore(UnsupportedFeature):
    """A store was asked to create a file only if it is absent, and cannot do it; nothing was created."""


class OutputStream(Protocol):
    """A file being written. Leaving its ``with`` block closes it, or discards it when an error passes through."""

    @property
    def closed(self) -> bool: ...

    def write(self, data: bytes | bytearray | memoryview, /) -> int: ...

    def flush(self) -> None: ...

    def tell(self) -> int:
        """The number of bytes written so far."""
        ...

    def close(self) -> None:
        """Makes the whole file durable and visible. After an error a part of it may remain: delete it by its name."""
        ...

    def discard(self) -> None:
        """Abandons the file and removes it as far as the store allows. Never raises for a closed stream."""
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

    A missing file raises FileNotFoundError wherever the file is required; no other error means that a file is missing.
    All other errors of the store are StorageErrors that name the file. If access was denied, the error is a
    PermissionError as well.
    """

    def read_bytes(self, path: str) -> bytes:
        """The whole content of a small file.

        Raises:
            CorruptFile: it is too large to be read whole, or is not a regular file (a pipe, a device).
        """
        ...

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        """Opens a file for random access, in the form that PyArrow's readers need; the caller closes it.

        Args:
            path: the file.
            size: its exact size in bytes if known, which saves a request on object stores.
        """
        ...

    def open_output(self, path: str) -> OutputStream:
        """Begins a new file under a name that no other writer uses. Missing parent directories are created."""
        ...

    def write_bytes(self, path: str, data: bytes) -> None:
        """Writes a small new file under a name that no other writer uses; it is durable on return."""
        ...

    def create_if_absent(self, path: str, data: bytes) -> bool:
        """Publishes a whole file under a name that other writers compete for; no reader ever sees a part of it.

        Returns:
            True: this call created the file. False: the name was taken. A store that retries requests may return False
            although this call created the file; a caller that must know compares the content.

        Raises:
            NotCreated: the file was not created.
            StorageError: the outcome is unknown.
            UnsupportedFeature: the store has no atomic create-if-absent.
        """
        ...

    def overwrite(self, path: str, data: bytes) -> None:
        """Replaces or creates a small file; readers see the old or the new content."""
        ...

    def list(self, path: str) -> list[FileStatus]:
        """The direct entries of a directory, in no order; empty if the directory does not exist."""
        ...

    def exists(self, path: str) -> bool:
        """True if a file or directory exists at the path."""
        ...

    def delete(self, path: str) -> None:
        """Removes a file; a missing file is no error."""
        ...

    def delete_many(self, paths: Sequence[str]) -> None:
        """Removes files in their order, or with bulk requests if the store has them; missing files are no error.

        Raises:
            StorageError: a file could not be removed; those after it may or may not be removed.
        """
        ...

    def move_file(self, path: str, target: str) -> None:
        """Gives a whole file another name in the same store, which no other file has; readers see all of it or nothing.

        An object store copies it. After an error the file may have both names.
        """
        ...

    def remove_empty_directory(self, path: str) -> bool:
        """Removes an empty directory. False: it still exists. In a store without directories this is always True."""
        ...


def identity_of(store: FileIO) -> Hashable:
    """What tells a store apart from others that have the same paths, such as servers of S3; None: nothing does."""
    found: Hashable = getattr(store, "identity", None)
    return found


def version_of(store: FileIO, path: str) -> Hashable | None:
    """What tells the content of a file apart from any other one that its name had or will have.

    Returns:
        None: the store does not tell, there is no such file, or it is so young that the next one may look alike.
    """
    find: Callable[[str], Hashable | None] | None = getattr(store, "version", None)
    return None if find is None else find(path)


def list_names(store: FileIO, path: str) -> ListedNames | None:
    """As FileIO.list, without the sizes and times of files.

    Returns:
        None: the store tells them together with the names, by ``list``, which takes no longer.
    """
    find: Callable[[str], ListedNames] | None = getattr(store, "list_names", None)
    return None if find is None else find(path)


def find_status(store: FileIO, path: str) -> FileStatus | None:
    """One entry of a store that has list_names; None: there is none of this name, or none any more."""
    found: FileStatus | None = cast("Any", store).find_status(path)
    return found


def overwrite_hint(store: FileIO, path: str, data: bytes) -> None:
    """As FileIO.overwrite, of a file that may have its old content again, or none, after a crash of the machine."""
    write: Callable[[str, bytes], None] = getattr(store, "overwrite_hint", store.overwrite)
    write(path, data)


class Publisher(Protocol):
    """Creates the files that make a change of a table real, in the place of its store; picklable."""

    def create_if_absent(self, store: FileIO, path: str, data: bytes) -> bool:
        """As FileIO.create_if_absent, by means of the store or of something that decides in its place."""
        ...


def create_alone(store: FileIO, path: str, data: bytes) -> bool:
    """Creates a file if it is absent, for a caller of whom nobody else creates it meanwhile.

    Raises:
        StorageError: the outcome is unknown.
    """
    if store.exists(path):
        return False
    store.write_bytes(path, data)
    return True


def create_locked(store: FileIO, path: str, data: bytes) -> bool:
    """As FileIO.create_if_absent, by a caller that holds a lock which all who create this file take.

    The store need not be able to create a file only if it is absent.
    """
    try:
        return store.create_if_absent(path, data)
    except UnprovedStore:
        return create_alone(store, path, data)


class DirectoryIO(FileIO, Protocol):
    """A FileIO that also changes whole directories: catalogs need it. The store of a table (ConfinedFileIO) is none."""

    @property
    def moves_directories(self) -> bool:
        """True if the store moves a directory in one atomic step. Object stores have no such step."""
        ...

    def make_directory(self, path: str, parents: bool = True) -> bool:
        """Makes a directory exist even while it holds nothing.

        An object store has no directories: there, an empty file ``.paimon-directory`` stands for an empty directory.

        Args:
            path: the directory.
            parents: True creates missing parent directories too.

        Returns:
            True: it did not exist before. Of several calls at once just one gets True.

        Raises:
            FileNotFoundError: the parent does not exist, and parents is False.
        """
        ...

    def move_directory(self, path: str, target: str) -> bool:
        """Moves a directory to a new name in the same store, in one atomic step. The parent of the target must exist.

        Returns:
            True: it was moved. False: the target is taken; nothing was changed. A target that is an empty directory
            may be replaced.

        Raises:
            FileNotFoundError: there is no such directory, or the parent of the target does not exist.
            UnsupportedFeature: the store cannot do it (moves_directories).
        """
        ...

    def delete_directory(self, path: str) -> None:
        """Deletes a directory with all that is in it; a missing one is no error. Links are removed, not followed.

        Files that others create concurrently may remain. An object store deletes the files of the directory itself
        whose names begin with ``.paimon-`` last, so that an interrupted deletion can be recognized.
        """
        ...


@contextmanager
def named_faults(doing: str, path: str) -> Iterator[None]:
    """Turns OSErrors within the block into StorageErrors, except the FileNotFoundError of a missing file.

    Args:
        doing: "reading", "writing", ... A file that is written cannot be missing, so FileNotFoundError means its
            directory then, and becomes a StorageError.
        path: the file, for messages.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError) or (isinstance(error, FileNotFoundError) and doing != "writing"):
            raise
        raise StorageError.of(doing, path, error) from error


@contextmanager
def named_location(doing: str, location: str) -> Iterator[None]:
    """Lets an error of a store as a whole name what the user named, and not a file that was looked for within it.

    Args:
        doing: "opening", "listing", ...
        location: as the user gave it.
    """
    try:
        yield
    except StorageError as error:
        if not error.of_store:
            raise
        raise type(error)(f"{doing} {location}: {error.of_store}", of_store=error.of_store) from None


def names_faults(doing: str) -> Callable[[Method], Method]:
    """A decorator that runs a method, whose first argument is the path, within ``named_faults``."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def named(self: Any, path: str, *args: Any, **more: Any) -> Any:
            with named_faults(doing, path):
                return method(self, path, *args, **more)

        return cast(Method, named)

    return decorate
