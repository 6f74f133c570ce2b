"""An object store that refuses, does not answer, or was told too little: one sentence that says what to set."""

from __future__ import annotations

import pickle

import pytest
from obstore import exceptions
from support.programs.s3_server import s3_that_says

from paimon_spark import open_table
from paimon_spark.errors import AccessDenied, OptionError, StorageError
from paimon_spark.file_io import file_io_for, named_location
from paimon_spark.file_io.object_faults import fault

PAGE = "docs/guides/cluster-and-storage.md"
REFUSED = """Generic {store} error: Error performing {call} {address}/latest in 2.5ms - Server returned non-2xx status \
code: 403 Forbidden: denied

Debug source:
Generic {{
    store: "{store}",
}}"""


def answer(code: str, message: str) -> str:
    return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message></Error>"


@pytest.mark.parametrize(
    ("path", "address", "option", "variable"),
    [
        ("s3://lake/w/t", "http://169.254.169.254", "s3.access-key", "AWS_SECRET_ACCESS_KEY"),
        ("s3a://lake/w/t", "http://169.254.170.2", "s3.secret-key", "AWS_ACCESS_KEY_ID"),
        ("gs://lake/w/t", "http://metadata.google.internal", "fs.gs.auth.", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("abfss://c@a.dfs.core.windows.net/t", "http://169.254.169.254", "fs.azure.", "AZURE_STORAGE_ACCOUNT_KEY"),
    ],
)
def test_no_credentials(path: str, address: str, option: str, variable: str) -> None:
    error = exceptions.GenericError(REFUSED.format(store="S3", call="PUT", address=address))
    with pytest.raises(AccessDenied) as raised, named_location("opening", path):
        raise fault("looking for", f"{path}$files/schema", error)
    sentence = str(raised.value)
    assert sentence.startswith(f"opening {path}: no credentials are given: set the option")
    assert [word for word in (option, variable, PAGE) if word not in sentence] == []
    assert not any(word in sentence for word in ("169.254", "internal/", "$files", "\n"))


def test_a_signature_of_azure_that_is_old() -> None:
    """Azure has one code for a wrong signature and an old one (Azure: Authentication error codes)."""
    detail = "Signature not valid in the specified time frame: Start [a] - Expiry [b] - Current [c]"
    answer = f"<Error><Code>AuthenticationFailed</Code><AuthenticationErrorDetail>{detail}</AuthenticationErrorDetail>"
    error = exceptions.GenericError(f"Server returned non-2xx status code: 403 Forbidden: {answer}</Error>")
    found = fault("reading", "abfss://c@a.dfs.core.windows.net/t", error)
    assert "the credentials have expired" in str(found)
    assert "fs.azure.sas.fixed.token.<account>" in str(found)


@pytest.mark.parametrize(
    ("status", "body", "kind", "sentence"),
    [
        (
            "403 Forbidden",
            answer("InvalidAccessKeyId", "No."),
            AccessDenied,
            "does not know the access key .*access-key",
        ),
        (
            "403 Forbidden",
            answer("SignatureDoesNotMatch", "No."),
            AccessDenied,
            "does not belong to the key .*secret-key",
        ),
        (
            "403 Forbidden",
            answer("AccessDenied", "No."),
            AccessDenied,
            r"do not permit it \(AccessDenied, No.\): ask for",
        ),
        ("403 Forbidden", answer("RequestTimeTooSkewed", "No."), AccessDenied, "the clock of this machine"),
        ("403 Forbidden", "", AccessDenied, r"do not permit it \(status 403\)"),
        ("401 Unauthorized", "no", AccessDenied, r"do not permit it \(status 401\)"),
        ("400 Bad Request", answer("ExpiredToken", "Old."), AccessDenied, "have expired .*s3.session-token"),
        (
            "400 Bad Request",
            answer("AuthorizationHeaderMalformed", "the region 'us-east-1' is wrong; expecting 'eu-west-1'"),
            StorageError,
            "in another region .*: give 'eu-west-1' by the option s3.region",
        ),
        ("301 Moved Permanently", answer("PermanentRedirect", "No."), StorageError, "in another region .*s3.region"),
        (
            "404 Not Found",
            answer("NoSuchBucket", "No."),
            StorageError,
            "http://127.* has no bucket 'lake'.*s3.endpoint",
        ),
        ("404 Not Found", "<html>", StorageError, "http://127.* does not answer as such a store does.*s3.endpoint"),
    ],
)
def test_what_a_store_refuses(status: str, body: str, kind: type[StorageError], sentence: str) -> None:
    with s3_that_says(status, body) as options:
        with pytest.raises(StorageError, match=sentence) as raised:
            open_table("s3://lake/shop.db/orders", options)
        assert type(raised.value) is kind
        assert str(raised.value).startswith("opening s3://lake/shop.db/orders: ")
        assert "GET" not in str(raised.value)
        with pytest.raises(StorageError, match=sentence) as listed:  # a listing is refused in other words of the client
            file_io_for("s3://lake", options).list("s3://lake/shop.db")
        assert type(listed.value) is kind
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (str(copy), copy.of_store) == (str(raised.value), raised.value.of_store)


def test_a_server_that_is_not_there() -> None:
    options = {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key": "a", "s3.secret-key": "b"}
    with pytest.raises(StorageError) as raised:
        open_table("s3://lake/shop.db/orders", options)
    assert str(raised.value) == (
        "opening s3://lake/shop.db/orders: http://127.0.0.1:1 does not answer (Connection refused): check the option "
        "s3.endpoint and the network"
    )


@pytest.mark.parametrize(
    ("path", "options", "sentence"),
    [
        ("s3://lake/t", {"s3.access-key": "a"}, f"Missing SecretAccessKey: set the options s3.access-key .*{PAGE}"),
        ("s3://lake/t", {"s3.secret-key": "a"}, f"Missing AccessKeyId: set the options s3.access-key .*{PAGE}"),
        ("s3://lake/t", {"s3.endpoint": "ht!tp://x"}, "'s3.endpoint' is 'ht!tp://x': expected an address such as http"),
        ("s3://lake/t", {"s3.endpoint": "http://a b"}, "'s3.endpoint' is 'http://a b': expected an address"),
        ("abfs://lake/t", {}, f"no storage account: write abfss://lake@<account>.dfs.core.windows.net.*{PAGE}"),
        ("az://lake/t", {}, f"no storage account: write abfss://lake@<account>.dfs.core.windows.net.*{PAGE}"),
        (
            "abfss://c@a.dfs.core.windows.net/t",
            {"fs.azure.account.key.a.dfs.core.windows.net": "not base64!"},
            f"Invalid Access Key: .*: set the option fs.azure.account.key.*{PAGE}",
        ),
        (
            "gs://lake/t",
            {"fs.gs.auth.service.account.json.keyfile": "/no/such/key.json"},
            f"Unable to open service account file from /no/such/key.json.*: set the option fs.gs.auth.*{PAGE}",
        ),
    ],
)
def test_settings_with_which_nothing_begins(path: str, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence) as raised:
        open_table(path, options)
    assert "\n" not in str(raised.value)
