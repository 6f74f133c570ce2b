"""Finds out if an object store creates an object only if it is absent, which commits need (protocol S1).

The clouds promise it; a store at an address of its own is tried, once per bucket and process. Some stores that are like
S3 ignore the condition, some refuse it, and some look first and write then: they answer a second request rightly, and
tell several writers at once that each of them has created the object. So the trial is a race.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

from paimon_spark.errors import OptionError, StorageError

OPTION = "fs.unsafe-commits"
WORDS = "only-one-job-writes-at-a-time"
"""The only value of the option: nobody types it by accident."""

_ROUNDS, _NAMES, _RUNNERS = 3, 6, 4
"""Of a store that looks first and writes then, one round in 20 is answered rightly where the machine is busy."""
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
    if scheme == "s3":
        address = settings.get("endpoint") or _first(_S3_ADDRESSES)
        return not address or _host(address).endswith((".amazonaws.com", ".amazonaws.com.cn"))
    if scheme == "gs":
        address = settings.get("base_url") or _first(_GCS_ADDRESSES) or _address_in_key_file(settings)
        return not address or _host(address) == "storage.googleapis.com"
    address = settings.get("endpoint") or _first(_AZURE_ADDRESSES)
    return not address or _host(address).endswith(".core.windows.net")


def is_proved(create: Callable[[str], bool], delete: Callable[[Sequence[str]], None], folder: str) -> bool:
    """Lets several requests at once create each of a few objects, three times; at most one may be told that it did.

    A client that repeats a request whose answer was lost may tell nobody so, which is no fault of the store.

    Args:
        create: creates an empty object of a key if it is absent, and returns whether it did.
        delete: deletes keys.
        folder: where the probes lie, "" or with a slash at the end. They are deleted again.
    """
    probes = [f"{folder}.probe-{uuid.uuid4()}" for _ in range(_ROUNDS * _NAMES)]
    try:
        with ThreadPoolExecutor(_NAMES * _RUNNERS) as threads:
            winners = [_winners(create, threads, probes[first::_ROUNDS]) for first in range(_ROUNDS)]
    except BaseException:
        with suppress(StorageError):  # the first error says what is wrong
            delete(probes)
        raise
    delete(probes)
    return all(max(counts) == 1 for counts in winners)


def _winners(create: Callable[[str], bool], threads: ThreadPoolExecutor, probes: Sequence[str]) -> list[int]:
    """How many requests for each name were told that they created it, of all that were sent at once."""
    start = Barrier(len(probes) * _RUNNERS)

    def run(probe: str) -> bool:
        with suppress(BrokenBarrierError):  # a thread that does not come
            start.wait(_WAIT_SECONDS)
        return create(probe)

    created = list(threads.map(run, [probe for probe in probes for _ in range(_RUNNERS)]))
    return [created[first : first + _RUNNERS].count(True) for first in range(0, len(created), _RUNNERS)]


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
