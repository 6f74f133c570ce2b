"""The options of OSS, COS, OBS, Azure and Google, and which stores are tried before they are written to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.programs.s3_server import s3_that_says

from paimon_spark.errors import OptionError, StorageError, UnsupportedFeature
from paimon_spark.file_io import UnprovedStore, file_io_for
from paimon_spark.file_io.conditional_put import is_proved, promises_conditions
from paimon_spark.file_io.object_settings import (
    adapted_azure,
    adapted_s3,
    azure_config,
    gcs_config,
    kin_config,
    s3_config,
)


@pytest.mark.parametrize(
    ("scheme", "options", "endpoint", "region"),
    [
        (
            "oss",
            {"fs.oss.endpoint": "oss-cn-hangzhou.aliyuncs.com"},
            "https://b.s3.oss-cn-hangzhou.aliyuncs.com",
            "cn-hangzhou",
        ),
        (
            "oss",
            {"fs.oss.endpoint": "http://oss-us-west-1-internal.aliyuncs.com"},
            "http://b.s3.oss-us-west-1-internal.aliyuncs.com",
            "us-west-1",
        ),
        ("oss", {"fs.oss.endpoint": "files.example.com"}, "https://b.files.example.com", "cn-hangzhou"),
        (
            "cosn",
            {"fs.cosn.bucket.region": "ap-guangzhou"},
            "https://b.cos.ap-guangzhou.myqcloud.com",
            "ap-guangzhou",
        ),
        (
            "obs",
            {"fs.obs.endpoint": "obs.cn-north-4.myhuaweicloud.com"},
            "https://b.obs.cn-north-4.myhuaweicloud.com",
            "cn-north-4",
        ),
        ("obs", {"fs.obs.endpoint": "http://10.0.0.1:9000"}, "http://10.0.0.1:9000", "us-east-1"),
    ],
)
def test_where_the_door_of_s3_is(scheme: str, options: dict[str, str], endpoint: str, region: str) -> None:
    found = adapted_s3(dict(kin_config(scheme, options)), "b")
    assert (found["endpoint"], found["region"], found["disable_bulk_delete"]) == (endpoint, region, "true")
    assert (found.get("virtual_hosted_style_request") == "true") == ("//b." in endpoint)


def test_credentials_of_the_kin_of_s3() -> None:
    given = {
        "fs.oss.endpoint": "h",
        "fs.oss.accessKeyId": "k",
        "FS.OSS.ACCESSKEYSECRET": "s",
        "fs.oss.securitytoken": "t",
    }
    found = dict(kin_config("oss", given))
    assert (found["access_key_id"], found["secret_access_key"], found["session_token"]) == ("k", "s", "t")


@pytest.mark.parametrize(
    ("location", "options", "error", "sentence"),
    [
        ("oss://b/t", {}, OptionError, "'fs.oss.endpoint' is missing, which says where it is"),
        ("cosn://b/t", {"fs.cosn.userinfo.secretId": "k"}, OptionError, "'fs.cosn.bucket.region' is missing"),
        (
            "oss://b/t",
            {"fs.oss.endpoint": "h", "fs.oss.server-side-encryption": "KMS"},
            UnsupportedFeature,
            "'fs.oss.server-side-encryption' is not supported: objects of Alibaba Cloud OSS are written without it",
        ),
        (
            "s3://b/t",
            {"fs.unsafe-commits": "true"},
            OptionError,
            "'fs.unsafe-commits' is 'true': its only value",
        ),
    ],
)
def test_options_that_are_refused(
    location: str, options: dict[str, str], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        file_io_for(location, options)


def test_settings_of_other_clouds() -> None:
    azure = azure_config(
        {
            "fs.azure.sas.fixed.token.a.dfs.core.windows.net": "sv=1",
            "fs.azure.account.oauth2.client.id.a.dfs.core.windows.net": "me",
            "fs.azure.account.oauth2.client.secret.a.dfs.core.windows.net": "hush",
            "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/ours/oauth2/token",
            "fs.azure.endpoint": "http://h/a",
        }
    )
    assert adapted_azure(dict(azure), "c@a.dfs.core.windows.net") == {
        "authority_host": "https://login.microsoftonline.com",
        "client_id": "me",
        "client_secret": "hush",
        "endpoint": "http://h/a",
        "sas_key": "sv=1",
        "tenant_id": "ours",
    }
    assert gcs_config({"fs.gs.storage.root.url": "http://h"}) == (("base_url", "http://h"),)
    assert s3_config({"fs.s3a.multiobjectdelete.enable": "false"}) == (("disable_bulk_delete", "true"),)


def test_only_the_clouds_themselves_are_taken_at_their_word(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for scheme in ("s3", "gs", "az"):
        assert promises_conditions(scheme, {})
    assert promises_conditions("s3", {"endpoint": "https://s3.eu-west-1.amazonaws.com"})
    assert not promises_conditions("s3", {"endpoint": "https://s3.amazonaws.com.example.org"})
    assert not promises_conditions("s3", {"endpoint": "http://minio:9000"})
    assert not promises_conditions("gs", {"base_url": "http://h"})
    assert not promises_conditions("az", {"endpoint": "http://127.0.0.1:10000/x"})
    (tmp_path / "key.json").write_text(json.dumps({"gcs_base_url": "http://h"}))
    assert not promises_conditions("gs", {"service_account": str(tmp_path / "key.json")})
    for scheme, variable in (("s3", "AWS_ENDPOINT_URL"), ("az", "AZURE_STORAGE_ENDPOINT"), ("gs", "GOOGLE_BASE_URL")):
        monkeypatch.setenv(variable, "http://h:9000")
        assert not promises_conditions(scheme, {}), variable


def test_a_store_that_does_not_know_the_condition_is_refused() -> None:
    """As OSS answers by its interface of S3."""
    answer = "<Error><Code>NotImplemented</Code><Message>A header is not implemented.</Message></Error>"
    with s3_that_says("501 Not Implemented", answer) as options:
        io = file_io_for("s3://oss-like/t", options)
        with pytest.raises(UnprovedStore, match="does not honour conditional puts"):
            io.create_if_absent("s3://oss-like/t/snapshot/snapshot-1", b"x")


def test_a_trial_that_fails_leaves_no_probe() -> None:
    """The error of a request is raised, and not one of the deletion after it."""
    there = set[str]()

    def create(name: str) -> bool:
        if len(there) == 5:
            raise StorageError("the store went away")
        is_new = name not in there
        there.add(name)
        return is_new

    def delete(names: Sequence[str]) -> None:
        there.difference_update(names)
        raise StorageError("and did not come back")

    with pytest.raises(StorageError, match="went away"):
        is_proved(create, delete, "t/")
    assert not there
