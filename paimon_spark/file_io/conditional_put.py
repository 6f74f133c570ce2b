"""Finds out if an object store creates an object only if it is absent, which commits need (protocol S1).

The clouds promise it; a store at an address of its own is tried, once per bucket and process. Some stores that are like
S3 ignore the condition, some refuse it, and some look first and write then: they answer a second request rightly, and
tell several writers at once that each of them has created the object. So the trial is a race, and for stores of S3 a
request that is half sent while another one comes: a fast store of the last kind loses one race in 30 or less.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from threading import Barrier, BrokenBarrierError
from urllib.parse import urlsplit

from paimon_spark.errors import OptionError, StorageError

_log = logging.getLogger(__name__)

OPTION = "fs.unsafe-commits"
WORDS = "only-one-job-writes-at-a-time"
"""The only value of the option: nobody types it by accident."""

_NAMES, _RUNNERS = 6, 4
_HALF = b"half"
_HEAD_START = 0.2  # seconds in which a store begins with a request
_WAIT_SECONDS = 5
_S3_ADDRESSES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_AZURE_ADDRESSES = (
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_USE_EMULATOR",
    "AZURITE_BLOB_STORAGE_URL",
)
_GCS_ADDRESSES = ("GOOGLE_BASE_URL", "STORAGE_EMULATOR_HOST")
_GCS_KEY_FILES = (
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "SERVICE_ACCOUNT",
    "GOOGLE_APPLICATION_CREDENTIALS",
)


def allows_unproved(options: Mapping[str, str]) -> bool:
    """True if the user says that one job at a time writes, so that a store without conditional puts will do.

    Raises:
        OptionError: the option has another value.
    """
    value = next((value.strip() for key, value in options.items() if key.lower() == OPTION), None)
    if value not in (None, WORDS):
        raise OptionError(
            f"the option '{OPTION}' is '{value}': its only value is {WORDS}, and two jobs that write a table then "
            "overwrite each other's commits"
        )
    return value is not None


def promises_conditions(scheme: str, settings: Mapping[str, str]) -> bool:
    """True if the store is AWS S3, Google Cloud Storage or Azure itself, whose documentation promises the condition.

    Args:
        scheme: "s3", "gs" or "az", in which stores of one kind are together.
        settings: those of the client.
    """
    address = store_address(scheme, settings)
    if not address:
        return True
    host = _host(address)
    if scheme == "gs":
        return host == "storage.googleapis.com"
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn") if scheme == "s3" else ".core.windows.net")


def store_address(scheme: str, settings: Mapping[str, str]) -> str:
    """Where a store is, by the settings, the environment or a file of credentials; "": at the address of the cloud.

    Args:
        scheme, settings: as for promises_conditions.
    """
    if scheme == "s3":
        return settings.get("endpoint") or _first(_S3_ADDRESSES)
    if scheme == "gs":
        return settings.get("base_url") or _first(_GCS_ADDRESSES) or _address_in_key_file(settings)
    return settings.get("endpoint") or _first(_AZURE_ADDRESSES)


def is_proved(
    create: Callable[[str], bool],
    delete: Callable[[Sequence[str]], None],
    folder: str,
    url_of: Callable[[str], str | None] = lambda key: None,
) -> bool:
    """Lets several requests at once create each of a few objects; at most one may be told that it did.

    A client that repeats a request whose answer was lost may tell nobody so, which is no fault of the store.

    Args:
        create: creates an object of a key if it is absent, and returns whether it did.
        delete: deletes keys.
        folder: where the probes lie, "" or with a slash at the end. They are deleted again.
        url_of: an address of S3 where a key may be put without more credentials; None: there is none.
    """
    slow, *names = [f"{folder}.probe-{uuid.uuid4()}" for _ in range(_NAMES + 1)]
    url = url_of(slow)
    probes = names if url is None else [*names, slow]
    try:
        with ThreadPoolExecutor(_NAMES * _RUNNERS) as threads:
            winners = _winners(create, threads, names)
            overlaps = url is not None and _creates_twice(url, partial(create, slow), threads)
    except BaseException:
        with suppress(StorageError):  # the first error says what is wrong
            delete(probes)
        raise
    delete(probes)
    return max(winners) == 1 and not overlaps


def _winners(create: Callable[[str], bool], threads: ThreadPoolExecutor, probes: Sequence[str]) -> list[int]:
    """How many requests for each name were told that they created it, of all that were sent at once."""
    start = Barrier(len(probes) * _RUNNERS)

    def run(probe: str) -> bool:
        with suppress(BrokenBarrierError):  # a thread that does not come
            start.wait(_WAIT_SECONDS)
        return create(probe)

    created = list(threads.map(run, [probe for probe in probes for _ in range(_RUNNERS)]))
    return [created[first : first + _RUNNERS].count(True) for first in range(0, len(created), _RUNNERS)]


def _creates_twice(url: str, create: Callable[[], bool], threads: ThreadPoolExecutor) -> bool:
    """True if two requests are told that they created one object, of which one came while the other was half sent.

    A store that looks first and writes then has looked when it has the head of the first request. One that makes the
    second wait for the first is right as well. A first request that cannot be sent shows nothing.
    """
    place = urlsplit(url)
    connect = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = connect(place.hostname or "", place.port, timeout=2 * _WAIT_SECONDS)
    try:
        connection.putrequest("PUT", f"{place.path}?{place.query}")
        connection.putheader("If-None-Match", "*")
        connection.putheader("Content-Length", str(2 * len(_HALF)))
        connection.endheaders(_HALF)
        time.sleep(_HEAD_START)
        other = threads.submit(create)
        wait([other], _WAIT_SECONDS)
        connection.send(_HALF)
        is_first_created = connection.getresponse().status < http.client.MULTIPLE_CHOICES
    except (OSError, http.client.HTTPException) as error:
        _log.info("the store was not tried with a request that is half sent: %s", error)
        return False
    finally:
        connection.close()
    return other.result() and is_first_created


def refusal(root: str) -> str:
    """Says that a store was tried in vain. root: ``s3://bucket``."""
    return (
        f"cannot write to {root}: its store does not honour conditional puts (If-None-Match), so two writers could "
        "overwrite each other's commits; use a store that does (AWS S3, MinIO, R2, Google Cloud Storage, Azure), or a "
        f"catalog with a lock (jdbc or hive with lock.enabled, or rest); where never more than one job writes, set "
        f"{OPTION}={WORDS} (docs/guides/cluster-and-storage.md)"
    )


def _first(variables: Sequence[str]) -> str:
    return next((os.environ[name] for name in variables if os.environ.get(name)), "")


def _host(address: str) -> str:
    return address.partition("://")[2].partition("/")[0].partition(":")[0].lower()


def _address_in_key_file(settings: Mapping[str, str]) -> str:
    """The address of a server that the file of a service account may name, as those of emulators do."""
    try:
        text = os.environ.get("GOOGLE_SERVICE_ACCOUNT_KEY", "")
        path = settings.get("service_account") or _first(_GCS_KEY_FILES)
        if path:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        return str(json.loads(text).get("gcs_base_url", "")) if text else ""
    except (OSError, ValueError, AttributeError):
        return ""  # the client says what is wrong with it
