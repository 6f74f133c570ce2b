"""What an object store refuses, or its client cannot do, as one sentence that says what to set.

The client tells of a request: its address, the attempts, and the answer as the store wrote it. A user knows a path and
options. The codes are those of S3, of the XML interface of Google Cloud Storage, and of Azure Blob Storage.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from obstore import exceptions

from paimon_spark.errors import AccessDenied, OptionError, StorageError

_log = logging.getLogger(__name__)

_PAGE = "docs/guides/cluster-and-storage.md"


@dataclass(frozen=True)
class _Service:
    """What the credentials of a kind of store are called.

    Attributes:
        credentials: the options and the variables of the environment that give them.
        endpoint: the option that tells where the store is; "": there is none.
    """

    credentials: str
    endpoint: str = ""


S3_CREDENTIALS = (
    "the options s3.access-key and s3.secret-key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"
)
_S3 = _Service(S3_CREDENTIALS, "s3.endpoint")
_GCS = _Service(
    "the option fs.gs.auth.service.account.json.keyfile, or GOOGLE_APPLICATION_CREDENTIALS in the environment"
)
_AZURE = _Service(
    "the option fs.azure.account.key.<account>.dfs.core.windows.net or fs.azure.sas.fixed.token.<account>.dfs.core."
    "windows.net, or AZURE_STORAGE_ACCOUNT_KEY in the environment"
)
_KIN = {
    "oss": _Service("the options fs.oss.accessKeyId and fs.oss.accessKeySecret", "fs.oss.endpoint"),
    "cosn": _Service("the options fs.cosn.userinfo.secretId and fs.cosn.userinfo.secretKey", "fs.cosn.bucket.region"),
    "obs": _Service("the options fs.obs.access.key and fs.obs.secret.key", "fs.obs.endpoint"),
}

# What aws_credentials says, as the client hands it on.
_SDK = re.compile(r"External AWS credential provider: \w+: (.*?)(?:\n\nDebug source|$)", re.DOTALL)
# The places where a virtual machine or a container is asked for credentials of its own, when none are given.
_MACHINE = re.compile(
    r"//(169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal)\b"
    r"|//[^/\s]+/(latest/(api/token|meta-data)|computeMetadata/v1|metadata/identity)/?"
)
_ADDRESS = re.compile(r"Error performing [A-Z]+ (https?://[^/\s?]+)")
_STATUS = re.compile(r"non-2xx status code: (\d+)")
_NO_ANSWER = re.compile(r"error sending request|operation timed out|HTTP error:|connection closed", re.IGNORECASE)
_OLD_SIGNATURE = "Signature not valid in the specified time frame"  # what Azure says in detail of AuthenticationFailed
_REGION = re.compile(r"expecting '([\w-]+)'")


@dataclass(frozen=True)
class _Refusal:
    """An error of the client, taken apart.

    Attributes:
        bucket: the name of the bucket or container.
        code: of the store; "": it gave none.
        words: the answer of the store, else the first line of the error.
        whole: the text of the error.
    """

    service: _Service
    bucket: str
    code: str
    words: str
    whole: str

    @property
    def address(self) -> str:
        found = _ADDRESS.search(self.whole)
        return found[1] if found else "the store"

    @property
    def wants_endpoint(self) -> str:
        return f"the option {self.service.endpoint}" if self.service.endpoint else "the name in the path"


def _no_bucket(refusal: _Refusal) -> str:
    also = f", and {refusal.wants_endpoint}" if refusal.service.endpoint else ""
    return f"{refusal.address} has no bucket '{refusal.bucket}' ({refusal.words}): check the name in the path{also}"


def _unknown_key(refusal: _Refusal) -> str:
    return f"{refusal.address} does not know the access key ({refusal.words}): check {refusal.service.credentials}"


def _wrong_secret(refusal: _Refusal) -> str:
    return f"the secret does not belong to the key ({refusal.words}): check {refusal.service.credentials}"


def _expired(refusal: _Refusal) -> str:
    return (
        f"the credentials have expired ({refusal.words}): get new ones and set {refusal.service.credentials}; a token "
        "of S3 is the option s3.session-token or AWS_SESSION_TOKEN"
    )


def _unknown_token(refusal: _Refusal) -> str:
    return (
        f"{refusal.address} does not know the token of the credentials ({refusal.words}): check the option "
        f"s3.session-token, or AWS_SESSION_TOKEN, and leave it out for keys without one; else set "
        f"{refusal.service.credentials}"
    )


def _wrong_clock(refusal: _Refusal) -> str:
    return f"the clock of this machine is not that of the store ({refusal.words}): set it right"


def _wrong_region(refusal: _Refusal) -> str:
    region = _REGION.search(refusal.words)
    value = f"'{region[1]}' by " if region else "it by "
    return f"the bucket is in another region ({refusal.words}): give {value}the option s3.region, or AWS_REGION"


def _denied(refusal: _Refusal) -> str:
    return (
        f"the credentials do not permit it ({refusal.words}): ask for the right to read, list, write and delete in the "
        f"bucket '{refusal.bucket}', or give others by {refusal.service.credentials}"
    )


_CODES: dict[str, tuple[Callable[[_Refusal], str], bool]] = {
    "NoSuchBucket": (_no_bucket, False),
    "ContainerNotFound": (_no_bucket, False),
    "InvalidAccessKeyId": (_unknown_key, True),
    "XAdminUserNotFound": (_unknown_key, True),  # of versitygw, with the status 404
    "SignatureDoesNotMatch": (_wrong_secret, True),
    "AuthenticationFailed": (_wrong_secret, True),
    "ExpiredToken": (_expired, True),
    "TokenRefreshRequired": (_expired, True),
    "InvalidToken": (_unknown_token, True),
    "InvalidTokenId": (_unknown_token, True),
    "RequestTimeTooSkewed": (_wrong_clock, True),
    "AuthorizationHeaderMalformed": (_wrong_region, False),
    "PermanentRedirect": (_wrong_region, False),
    "TemporaryRedirect": (_wrong_region, False),
    "IllegalLocationConstraintException": (_wrong_region, False),
    "AccessDenied": (_denied, True),
    "AllAccessDisabled": (_denied, True),
    "AuthorizationFailure": (_denied, True),
    "AuthorizationPermissionMismatch": (_denied, True),
}
"""By the code of the store: what says it, and whether access was denied."""
_MISSING = frozenset(("", "NoSuchKey", "NoSuchVersion", "BlobNotFound", "ResourceNotFound", "PathNotFound", "NotFound"))
"""Codes of the status 404 that mean the object. An answer without a body, as that to HEAD, has none."""


@contextmanager
def named_errors(doing: str, path: str) -> Iterator[None]:
    """Turns errors of the client into those of a FileIO.

    Args:
        doing: "reading", "writing", ...
        path: the object, for messages.

    Raises:
        AccessDenied, StorageError: ``of_store`` says what is wrong with the store as a whole.
        FileNotFoundError: there is no such object. One that is written cannot be missing.
    """
    try:
        yield
    except StorageError:
        raise
    except (exceptions.BaseError, OSError) as error:
        if isinstance(error, FileNotFoundError) and doing != "writing" and _answer(error)[0] in _MISSING:
            raise FileNotFoundError(f"there is no {path}") from error
        _log.debug("%s %s failed", doing, path, exc_info=error)
        raise fault(doing, path, error) from None  # the client's error is dozens of lines that repeat the request


def fault(doing: str, path: str, error: Exception) -> StorageError:
    """An error of the client in one sentence; see named_errors."""
    refusal = _refusal(path, error)
    sentence, is_denied = _whole_store(refusal, isinstance(error, PermissionError))
    kind = AccessDenied if is_denied else StorageError
    return kind(f"{doing} {path}: {sentence or refusal.words}", of_store=sentence)


def cannot_connect(root: str, error: Exception) -> OptionError:
    """What the client says of settings with which it does not even begin. root: ``s3://bucket``."""
    message, service = _first_line(error), _service(root)
    if "Account must be specified" in message:
        container = root.partition("://")[2]
        return OptionError(
            f"cannot use the store of {root}: the path names no storage account: write "
            f"abfss://{container}@<account>.dfs.core.windows.net/..., or set AZURE_STORAGE_ACCOUNT_NAME in the "
            f"environment ({_PAGE})"
        )
    if re.search(r"Missing (SecretAccessKey|AccessKeyId)|credential error|Invalid Access Key", message):
        return OptionError(f"cannot use the store of {root}: {message}: set {service.credentials} ({_PAGE})")
    return OptionError(f"cannot use the store of {root}: {message}")


def lacks_request(error: Exception) -> bool:
    """True if the store says that it does not have such a request at all."""
    status = _STATUS.search(str(error))
    return _answer(error)[0] in ("NotImplemented", "MethodNotAllowed") or (status is not None and status[1] == "501")


def words_of(error: Exception) -> str:
    """The answer of the store, without the request; else the first line of the error."""
    code, message = _answer(error)
    status = _STATUS.search(str(error))
    if code:
        return f"{code}, {message}" if message else code
    return f"status {status[1]}" if status else _first_line(error)


def _whole_store(refusal: _Refusal, is_denied: bool) -> tuple[str, bool]:
    """What is wrong with the store as a whole, and whether access was denied; "": it may be the object alone."""
    reported = _SDK.search(refusal.whole)
    if reported:
        return f"{reported[1]} ({_PAGE})", True
    if _MACHINE.search(refusal.whole):
        return f"no credentials are given: set {refusal.service.credentials} ({_PAGE})", True
    if refusal.code in _CODES:
        words, denied = _CODES[refusal.code]
        return words(refusal), denied
    status = _STATUS.search(refusal.whole)
    if is_denied or (status and status[1] in ("401", "403")):
        return _denied(refusal), True
    if "redirect without LOCATION" in refusal.whole:
        return _wrong_region(replace(refusal, words="the store refers to another address")), False
    if status and status[1] == "404":
        return f"{refusal.address} does not answer as such a store does: check {refusal.wants_endpoint}", False
    if status is None and _NO_ANSWER.search(refusal.whole):
        also = f"{refusal.wants_endpoint} and the network"
        return f"{refusal.address} does not answer ({_reason(refusal.whole)}): check {also}", False
    return "", False


def _refusal(path: str, error: Exception) -> _Refusal:
    code = "ExpiredToken" if _OLD_SIGNATURE in str(error) else _answer(error)[0]
    bucket = path.partition("://")[2].partition("/")[0].partition("@")[0]
    return _Refusal(_service(path), bucket, code, words_of(error), str(error))


def _answer(error: Exception) -> tuple[str, str]:
    """The code and the message of the store."""
    code, message = (re.search(rf"<{tag}>(.*?)</{tag}>", str(error), re.DOTALL) for tag in ("Code", "Message"))
    return code[1] if code else "", " ".join(message[1].split()) if message else ""


def _reason(whole: str) -> str:
    """Why there was no answer: the words of the system, which the client puts into the deepest of its errors."""
    found = re.search(r'(?:message|error): "([^"]+)"', whole)
    if found:
        return found[1]
    return "it took too long" if "timed out" in whole.lower() else "no connection"


def _first_line(error: Exception) -> str:
    line = str(error).strip().split("\n", 1)[0]
    return re.sub(r"^Generic \w+ error: ", "", line).rstrip(".")


def _service(path: str) -> _Service:
    scheme = path.partition(":")[0]
    if scheme == "gs":
        return _GCS
    return _AZURE if scheme in ("az", "abfs", "abfss") else _KIN.get(scheme, _S3)
