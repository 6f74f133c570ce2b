"""Marks partitions as complete for other systems (features 7, 7.1; Java: PartitionMarkDoneAction, WriteHelper).

The actions of `partition.mark-done-action` do this. Two of them report to a metastore; they are refused, as in Java,
for a table that was not opened by its name in a catalog that has one. One is a Java class, and refused.

Reports to an HTTP service that a partition is done (Java: HttpReportMarkDoneAction, SimpleHttpClient).
"""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, TypeAlias
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from paimon_spark.arrow.predicates.literals import cast_literal, literal_of
from paimon_spark.errors import (
    OptionError,
    PaimonError,
    PartitionNotMarked,
    PredicateError,
    UnsupportedFeature,
    words_of,
)
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.json_text import load_json
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.paths import MAIN_BRANCH, data_root, partition_path, unescape
from paimon_spark.format.rules.supported import unsupported_mark_done
from paimon_spark.store.commit.partition_registration import OF_METASTORE, marking_keeper
from paimon_spark.store.compact.partition_choice import Partitions, partition_specs
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.storage.files import SUCCESS, touch_success_file
from paimon_spark.store.storage.retrying import FailedTry, RetryRules, retry

_log = logging.getLogger(__name__)
_Action: TypeAlias = Callable[[str], None]
_DONE = ".done"
"""What the last value of a partition ends in that tells that another one is complete (Java: AddDonePartitionAction)."""
TIMEOUT = 180.0
"""Seconds that an answer may take, as in Java."""
RETRIES = 5
_MOST_BYTES = 2**20  # of an answer
_LATER = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_LONGEST_WAIT = 64.0


@dataclass(frozen=True, repr=False)
class MarkPartitionDoneResult(Result):
    """The marked partitions.

    Attributes:
        partitions: their directories, relative to the table.
        actions: the names of the actions done for each.
    """

    partitions: tuple[str, ...]
    actions: tuple[str, ...]


def mark_partition_done(table: Table, partitions: Partitions) -> MarkPartitionDoneResult:
    """Runs the actions of the option `partition.mark-done-action` for partitions.

    ``success-file`` writes ``_SUCCESS`` into the directory of the partition, ``http-report`` sends a POST,
    ``done-partition`` adds ``<partition>.done`` to the metastore, ``mark-event`` marks the partition there.

    Args:
        table: a table with partition columns.
        partitions: values of the first or of all partition columns; the partitions need not exist. Instants without a
            zone are in UTC, as in the names of directories.

    Raises:
        OptionError: the table has no partitions, or the values or options cannot be read.
        UnsupportedFeature: the action needs a metastore, or is a Java class.
        PartitionNotMarked: the HTTP service failed; earlier actions are done.
        CorruptFile: a ``_SUCCESS`` file of another system exists.
    """
    directories = [_directory(table, spec) for spec in partition_specs(partitions)]
    for directory in directories:
        if not table.file_io.list(f"{data_root(table.location, table.settings)}/{directory}".rstrip("/")):
            _log.warning("marking %s of %s done: there is no file of such a partition", directory, table.location)
    return _mark(table, directories)


def mark_written_partitions(table: Table, messages: Sequence[CommitMessage]) -> None:
    """Marks the partitions of a batch write with `partition.end-input-to-done`.

    The rows are already committed: an action that fails is logged.
    """
    if not table.settings.partitions.end_input_to_done or not table.schema.partition_keys:
        return
    fields = table.schema.partition_fields
    rows = dict.fromkeys(message.partition for message in messages)
    try:
        values = [decode_arity_row(row, [f.type for f in fields]) for row in rows]
        _mark(table, list(dict.fromkeys(_path(table, one) for one in values)))
    except (PaimonError, OSError, MemoryError) as error:
        _log.warning(
            "the rows are committed to %s, but marking their partitions done failed; mark_partition_done does it: %s",
            table.location,
            words_of(error),
        )


def _mark(table: Table, directories: Sequence[str]) -> MarkPartitionDoneResult:
    given = table.settings.partitions.mark_done_action
    names = tuple(dict.fromkeys(given))
    actions = [_action(table, name) for name in names]  # all are checked before anything is done
    for directory in directories:
        for action in actions:
            action(directory)
    return MarkPartitionDoneResult(tuple(directory.rstrip("/") for directory in directories), names)


def _action(table: Table, name: str) -> _Action:
    if name == "success-file":
        return lambda directory: touch_success_file(table.file_io, f"{table.location}/{directory}{SUCCESS}")
    if name == "http-report":
        url = table.settings.partitions.mark_done_action_http_url
        if not url:
            raise OptionError(f"http-report needs the option '{PartitionSettings.mark_done_action_http_url.key}'")
        params = table.settings.partitions.mark_done_action_http_params
        return HttpReport(url, params, _table_name(table), table.location).send
    if name in OF_METASTORE:
        keeper = marking_keeper(table, name)
        if name == "mark-event":
            return lambda directory: keeper.mark_done(table.location, _spec_of(directory))
        return lambda directory: keeper.add(table.location, [_done(_spec_of(directory))])
    why = unsupported_mark_done(name)
    if why is None:
        raise OptionError(
            f"'{PartitionSettings.mark_done_action.key}' has '{name}': expected success-file, "
            "http-report, done-partition or mark-event"
        )
    raise UnsupportedFeature(
        f"cannot mark partitions of {table.location} done: '{PartitionSettings.mark_done_action.key}' has '{name}', "
        f"{why}"
    )


def _spec_of(directory: str) -> dict[str, str]:
    """The values in a path such as ``day=a/hour=1/`` (Java: extractPartitionSpecFromPath)."""
    parts = (part.partition("=") for part in directory.rstrip("/").split("/"))
    return {unescape(name): unescape(value) for name, _, value in parts}


def _done(spec: Mapping[str, str]) -> dict[str, str]:
    last = list(spec)[-1]
    return {**spec, last: f"{spec[last]}{_DONE}"}


def _directory(table: Table, spec: Mapping[str, Any]) -> str:
    """The path of the partitions with these values, relative to the table."""
    fields, keys = table.schema.partition_fields, table.schema.partition_keys
    if not spec or set(spec) != set(keys[: len(spec)]):
        raise OptionError(
            f"marking {dict(spec)} of {table.location} done: give values for its first partition columns, or all; they "
            f"are {', '.join(keys) or 'none'}"
        )
    default = table.settings.partitions.default_name
    values = []
    for field in fields[: len(spec)]:
        given = spec[field.name]
        try:
            literal = literal_of(None if given == default else given)
            values.append(cast_literal(literal, field.type, UTC).value)
        except PredicateError as error:
            raise OptionError(f"marking {dict(spec)} of {table.location} done: {field.name}: {error}") from None
    return _path(table, values)


def _path(table: Table, values: Sequence[Any]) -> str:
    fields = table.schema.partition_fields[: len(values)]
    default, legacy = table.settings.partitions.default_name, table.settings.partitions.legacy_name
    return partition_path(values, fields, default, legacy)


def _table_name(table: Table) -> str:
    """``database.table``, derived from the directory as in Java; only the table name outside of a warehouse."""
    folder, _, name = table.location.rpartition("/")
    database, dot, _ = folder.rpartition("/")[2].rpartition(".db")
    branch = "" if table.branch == MAIN_BRANCH else f"$branch_{table.branch}"
    return f"{database}.{name}{branch}" if dot else f"{name}{branch}"


@dataclass(frozen=True)
class HttpReport:
    """The target and the content of reports.

    Attributes:
        url: accepts a POST with a JSON object of these values and the partition, answers ``{"result": "SUCCESS"}``.
        params: any text, or None.
        table: the name of the table.
        location: the directory of the table.
        timeout: seconds.
        wait: waits for a number of seconds.
    """

    url: str
    params: str | None
    table: str
    location: str
    timeout: float = TIMEOUT
    wait: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise OptionError(
                f"'{PartitionSettings.mark_done_action_http_url.key}' is '{self.url}': http-report needs a URL that "
                "begins with http:// or https://"
            )

    def send(self, partition: str) -> None:
        """Reports one partition, such as ``dt=2026-11-01/``; if the service asks for a retry, tries a few times.

        Raises:
            PartitionNotMarked: the service did not answer, or did not answer SUCCESS.
        """
        body = {"params": self.params, "table": self.table, "path": self.location, "partition": partition}
        answer = self._post(partition, json.dumps(body, ensure_ascii=False).encode())
        try:
            found = load_json(answer)
        except (ValueError, RecursionError):
            raise self._failed(partition, f"the answer is no JSON: {answer[:100]!r}") from None
        result = found.get("result") if isinstance(found, dict) else None
        if not isinstance(result, str) or result.upper() != "SUCCESS":
            raise self._failed(partition, f"the answer has the result {result!r}, not SUCCESS")

    def _post(self, partition: str, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json; charset=UTF-8"}
        request = Request(self.url, body, headers, method="POST")

        def post(_: int) -> bytes:
            try:
                with urlopen(request, timeout=self.timeout) as response:
                    answer: bytes = response.read(_MOST_BYTES)
                    return answer
            except HTTPError as error:
                with error:
                    if error.code in _LATER:
                        raise _AskedToWait(f"{error.code} {error.reason}", error.headers.get("Retry-After")) from error
                    raise self._failed(partition, f"the answer was {error.code} {error.reason}") from error
            except (OSError, HTTPException) as error:
                raise self._failed(partition, f"{type(error).__name__}: {error}") from error

        try:
            return retry(post, RetryRules(RETRIES + 1), _AskedToWait, _seconds_later, self.wait)
        except _AskedToWait as asked:
            raise self._failed(partition, f"the answer was {asked.answer}") from asked.__cause__

    def _failed(self, partition: str, why: str) -> PartitionNotMarked:
        host = urlsplit(self.url).hostname  # other parts of a URL may be secret
        return PartitionNotMarked(
            f"reporting the partition {partition.rstrip('/')} of {self.location} to {host} failed: {why}. See to the "
            "service, and mark the partition again"
        )


class _AskedToWait(Exception):
    """The service wants the report later. answer: code and reason; header: its Retry-After, if it has one."""

    def __init__(self, answer: str, header: str | None) -> None:
        self.answer, self.header = answer, header


def _seconds_later(failed: FailedTry) -> float:
    header = failed.error.header if isinstance(failed.error, _AskedToWait) else None
    if header is not None and header.strip().isdecimal():
        return min(float(header), _LONGEST_WAIT)
    return min(2.0 ** (failed.number - 1), _LONGEST_WAIT) * (1 + random.random() / 10)
