"""Reports to an HTTP service that a partition is done (Java: HttpReportMarkDoneAction, SimpleHttpClient)."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from paimon_spark.errors import OptionError, PartitionNotMarked
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.store.storage.retrying import FailedTry, RetryRules, retry

TIMEOUT = 180.0
"""Seconds that an answer may take, as in Java."""

RETRIES = 5
_LATER = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_LONGEST_WAIT = 64.0


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
            found = json.loads(answer)
        except ValueError:
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
                    answer: bytes = response.read()
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
