"""Every error this package raises: one base, one leaf for each thing a caller can do about it.

The message alone must let the user act, because Spark keeps only its text: what was being done, on what
(path, partition, bucket, snapshot), what was found, what to do next. The type of an error never licenses
deleting files.
"""


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


class DataError(PaimonError, ValueError):
    """The rows or the schema of the DataFrame do not fit the table: fix the DataFrame."""


class PredicateError(PaimonError, ValueError):
    """A filter cannot be understood or does not fit the columns: fix the filter."""


class SchemaError(PaimonError, ValueError):
    """A table cannot be created or changed as asked: fix the schema."""


class TableNotFound(PaimonError):
    """There is no Paimon table at the path."""


class TableAlreadyExists(PaimonError):
    """A table is there already and the call asked for a new one."""


class NameTaken(PaimonError):
    """There is a tag or branch of that name already: choose another name."""


class SnapshotNotFound(PaimonError):
    """The snapshot, tag, branch or point in time does not exist or has expired; the message names what is available."""


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


class OutsideTable(PaimonError, PermissionError):
    """A file outside of the table would be changed: name its root in the options of the call if it is the table's."""


class CommitConflict(PaimonError):
    """Another writer changed what this commit was based on: run the job again on the new state."""


class RetriesExhausted(PaimonError):
    """Every attempt lost the race against other writers; nothing was committed."""


class CommitStateUnknown(PaimonError):
    """The storage did not say whether the snapshot was published; nothing was deleted."""


class CompactionFailed(PaimonError):
    """Some buckets could not be compacted and are as they were: remove the cause and compact again."""


class RowsNotVisible(PaimonError):
    """The rows are committed, but readers do not see them before a compaction, which failed: compact the table."""


class PartitionNotMarked(PaimonError):
    """An action that tells others of a complete partition failed; the rows are as they were: mark it again."""
