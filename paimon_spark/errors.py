"""Every error this package raises: one base, one leaf for each thing a caller can do about it.

The message alone must let the user act, because Spark keeps only its text: what was being done, on what
(path, partition, bucket, snapshot), what was found, what to do next. The type of an error never licenses
deleting files.

May import: nothing.
"""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Iterable

_FAULTS = {
    errno.EDQUOT: "the quota of the disk is used up",
    errno.EMFILE: "this process may open no more files",
    errno.ENFILE: "this machine may open no more files",
    errno.EFBIG: "the file would be larger than this process, or its disk, may have one",
    errno.EIO: "the disk fails",
    errno.EISDIR: "there is a directory of that name",
    errno.ELOOP: "its links lead back to themselves",
    errno.ENAMETOOLONG: "a name in it is too long, most disks take 255 bytes: choose a shorter one",
    errno.ENOSPC: "the disk is full",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EROFS: "the disk is read-only",
}


_WAYS_OUT = {
    errno.EDQUOT: "free space there, or have the quota raised",
    errno.EMFILE: "raise its limit (ulimit -n), or close files",
    errno.ENFILE: "raise the limit of the machine, or end what holds them",
    errno.ENOSPC: "free space there, or entries if it has no more for new files (df -i)",
    errno.EROFS: "mount it for writing",
}
"""What ends the shortage of a machine, by its fault."""


_RIGHTS = {
    "reading": "read it and to enter the directories above it",
    "listing": "read and enter this directory and those above it",
    "looking": "enter the directories above it",
}
"""By the first word of what is done to a file, the right that it needs; all else writes in its directory."""


def fault_words(error: OSError, doing: str = "") -> str:
    """What an error of the system means, in parentheses what the system calls it, and what ends a shortage.

    Args:
        doing: "reading", "writing", ..., for the right that is to be given where it lacks; "": it is not known.
    """
    said = error.strerror or " ".join(str(error).split())
    words = _FAULTS.get(error.errno or 0)
    if doing and isinstance(error, PermissionError):
        right = _RIGHTS.get(doing.split()[0], "write in the directory that holds it and to enter those above")
        named = os.strerror(error.errno) if error.errno else said
        return f"{named}; give the user of this process the right to {right}, then run it again"
    if not words:
        return said
    way_out = _WAYS_OUT.get(error.errno or 0)
    return f"{words} ({os.strerror(error.errno or 0)})" + (f"; {way_out}" if way_out else "")


def wrong_in_utf8(text: str) -> str:
    """What keeps a text from being written in UTF-8, as the end of a sentence; empty: nothing does.

    Python has a surrogate for each byte of a command line or a path that is none of UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        what = f"the byte 0x{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else f"the character U+{code:04X}"
        return f"is no UTF-8 text (it has {what})"
    return ""


def similar_names(name: str, known: Iterable[str], count: int = 1, cutoff: float = 0.6) -> list[str]:
    """The names that the user may have meant, the most similar first; letter case does not matter.

    Args:
        name: the wrong one.
        known: those that there are.
        count: how many at most.
        cutoff: how similar they are at least, from 0 to 1.
    """
    by_lower = {each.lower(): each for each in known}
    return [by_lower[near] for near in difflib.get_close_matches(name.lower(), by_lower, count, cutoff)]


class PaimonError(Exception):
    """Base of all errors raised on purpose by paimon_spark."""


class OptionError(PaimonError, ValueError):
    """An option or argument is unknown, has a bad value, or contradicts the table: fix it.

    Attributes:
        arguments: names of arguments in the message. The command line puts its flags in their place.
    """

    def __init__(self, message: str, *, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.arguments = arguments


class ArgumentError(OptionError, TypeError):
    """A call lacks an argument, or has one that it does not take; the message shows the call."""


class DataError(PaimonError, ValueError):
    """The rows or the schema of the DataFrame do not fit the table: fix the DataFrame."""


class PredicateError(PaimonError, ValueError):
    """A filter cannot be understood or does not fit the columns: fix the filter."""


class SqlError(PaimonError, ValueError):
    """A SQL statement cannot be understood, or is put together wrongly: fix its text."""


class SchemaError(PaimonError, ValueError):
    """A table cannot be created or changed as asked: fix the schema."""


class TableNotFound(PaimonError):
    """There is no Paimon table at the path, or none of that name in the catalog."""


class TableAlreadyExists(PaimonError):
    """A table is there already and the call asked for a new one."""


class DatabaseNotFound(PaimonError):
    """The catalog has no database of that name; the message names those that it has."""


class DatabaseAlreadyExists(PaimonError):
    """A database of that name is there already and the call asked for a new one."""


class DatabaseNotEmpty(PaimonError):
    """The database to be dropped still holds tables or other files: drop them, or ask for them to be dropped too."""


class ViewNotFound(PaimonError):
    """The catalog has no view of that name."""


class ViewAlreadyExists(PaimonError):
    """A view or a table of that name is there already and the call asked for a new view."""


class FunctionNotFound(PaimonError):
    """The catalog has no function of that name."""


class FunctionAlreadyExists(PaimonError):
    """A function of that name is there already and the call asked for a new one."""


class CatalogUnavailable(PaimonError):
    """The database or server of a catalog refused or did not answer: remove the cause and run again."""


class NameTaken(PaimonError):
    """There is a tag or branch of that name already: choose another name."""


class SnapshotNotFound(PaimonError):
    """The snapshot, tag, branch or point in time does not exist or has expired; the message names what is available."""


class StreamPositionLost(SnapshotNotFound):
    """What a stream reads next has expired or was rolled back; the message names the ways to go on."""


class TableChanged(PaimonError):
    """The table was made anew, or has other columns, since it was opened: open it again."""


class SessionStopped(PaimonError):
    """The Spark session of the call was stopped: make a new one, and open the catalog or the table in it again."""


class UnsupportedFeature(PaimonError):
    """The table or the call uses a feature this release does not support; it is refused by name, never guessed."""


class UnsupportedMethod(UnsupportedFeature, AttributeError):
    """The object has no method of this name, which another system has; the message says what to call."""


class CorruptFile(PaimonError):
    """A file of the table is missing, truncated or not what its name says."""


class MissingFile(CorruptFile):
    """A file that the table names does not exist: restore it, or read a state that does not need it.

    Attributes:
        path: of the file; "" when another process raised the error.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class MissingRow(PaimonError):
    """A view of a blob leads to a table, a column or a row that is not there: write it anew, or restore that row."""


class OutsideTable(PaimonError, PermissionError):
    """A file outside of the table would be changed: name its root in the options of the call if it is the table's."""


class StorageError(PaimonError, OSError):
    """The storage refused or failed (a full disk, no permission, no answer): remove the cause and run again.

    Attributes:
        of_store: what is wrong with the storage as a whole, as the end of a sentence; "": it may be one file alone.
    """

    of_store: str

    def __init__(self, *args: object, of_store: str = "") -> None:
        super().__init__(*args)
        self.of_store = of_store

    @staticmethod
    def of(doing: str, path: str, error: OSError) -> StorageError:
        """An error of the system in a sentence that names the file. doing: "reading", "writing", ..."""
        kind = AccessDenied if isinstance(error, PermissionError) else StorageError
        named = kind(f"{doing} {path}: {fault_words(error, doing)}")
        named.errno = error.errno
        return named


class AccessDenied(StorageError, PermissionError):
    """The storage refuses who asks, or was given no credentials: set them, or see to the permissions."""


class ResourcesExhausted(PaimonError, MemoryError):
    """The memory or the threads of this process are used up: give it more, or let it do less at once."""

    @staticmethod
    def of(doing: str, error: BaseException) -> ResourcesExhausted:
        """What a shortage means. doing: what was done, and on what; error: one of which ``is_shortage`` is true."""
        return error if isinstance(error, ResourcesExhausted) else ResourcesExhausted(f"{doing}: {words_of(error)}")


def words_of(error: BaseException) -> str:
    """What an error says, for a message around it: those of Python about a shortage say little, or nothing."""
    said = " ".join(str(error).split())
    if isinstance(error, PaimonError) or not is_shortage(error):
        return str(error)
    if isinstance(error, MemoryError):
        found, way_out = "this process has no memory left", "give it more, or let it do less at once"
    else:
        found = "this process can start no thread"
        way_out = "raise its limits of threads (ulimit -u) and of memory, or let it do less at once"
    return f"{found}{f' ({said})' if said else ''}; {way_out}"


def is_shortage(error: BaseException) -> bool:
    """True if memory or threads have run out, which tells nothing about a file or a value."""
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and str(error) == _NO_THREAD)


_NO_THREAD = "can't start new thread"  # Python has no class of its own for it


class CommitConflict(PaimonError):
    """Another writer changed what this commit was based on: run the job again on the new state."""


class StrictModeConflict(PaimonError):
    """Another user changed the partition since `commit.strict-mode.last-safe-snapshot`: name one after you looked."""


class RetriesExhausted(PaimonError):
    """Every attempt lost the race against other writers; nothing was committed."""


class StaleBatch(PaimonError):
    """A stream or application comes with an older batch than the table has: the message names the ways out."""


class CommitStateUnknown(PaimonError):
    """The storage did not say whether the snapshot was published; nothing was deleted."""


class CompactionFailed(PaimonError):
    """Some buckets could not be compacted and are as they were: remove the cause and compact again."""


class RowsNotVisible(PaimonError):
    """The rows are committed, but readers do not see them before a compaction, which failed: compact the table."""


class PartitionNotMarked(PaimonError):
    """An action that tells others of a complete partition failed; the rows are as they were: mark it again."""
