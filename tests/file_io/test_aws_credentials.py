"""The ways in which users of S3 have credentials, each with a real server that knows the keys, and what is told else.

What hands out credentials (STS, SSO, the metadata of machines and containers) is a stand-in; the store is versitygw.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from support.servers.builds import ServerUnavailable, server_cache
from support.servers.stand_ins import NO_TOKEN, Asked, Refused, aws_keys, stand_in, sts_answer
from support.servers.storage import RunningServers, StorageServer, new_account, remove_account, s3_client, versitygw

from paimon_spark import create_table, open_table
from paimon_spark.errors import AccessDenied, OptionError, UnsupportedFeature
from paimon_spark.file_io import file_io_for
from paimon_spark.file_io.aws_login import split_login
from paimon_spark.file_io.object_settings import s3_config
from paimon_spark.file_io.object_store import forget_clients

pytestmark = pytest.mark.server
ROLE = "arn:aws:iam::123456789012:role/writer"
PROVIDER = "s3.aws.credentials.provider"
HOUR = timedelta(hours=1)
Lake = tuple[str, dict[str, str]]
Keys = tuple[str, str]
START = "https://d-1.awsapps.com/start"


@pytest.fixture
def server(storage_servers: RunningServers) -> StorageServer:
    try:
        return storage_servers.get("versitygw")
    except ServerUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def keys(server: StorageServer) -> tuple[str, str]:
    return server.options["s3.access-key"], server.options["s3.secret-key"]


@pytest.fixture
def lake(server: StorageServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[str, dict[str, str]]:
    """A new bucket, and options without credentials, in a process that has none either, with no machine around it."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PAIMON_SERVERS", str(server_cache()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    (tmp_path / ".aws").mkdir()
    bucket = f"lake-{uuid4().hex}"
    s3_client(server.options).create_bucket(Bucket=bucket)
    return f"s3://{bucket}", {name: server.options[name] for name in ("s3.endpoint", "s3.region")}


def write(lake: tuple[str, Mapping[str, str]], **more: str) -> None:
    """Makes a table and reads it."""
    path, options = f"{lake[0]}/{uuid4().hex}", {**lake[1], **more}
    create_table(path, {"id": "INT"}, options=options).append({"id": [1, 2]})
    assert open_table(path, options).scan().count() == 2


def told(lake: tuple[str, Mapping[str, str]], **more: str) -> str:
    """What a user is told who opens a table."""
    with pytest.raises((AccessDenied, OptionError)) as raised:
        open_table(f"{lake[0]}/t", {**lake[1], **more})
    assert "\n" not in str(raised.value)
    return str(raised.value)


def write_profiles(home: Path, **profiles: Mapping[str, str]) -> None:
    """The files of the AWS SDK: keys are in the one, all else is in the other."""
    secret = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    lines: dict[str, list[str]] = {"credentials": [], "config": []}
    for name, values in profiles.items():
        lines["credentials"] += [f"[{name}]", *(f"{key} = {value}" for key, value in values.items() if key in secret)]
        head = f"[profile {name}]" if name != "default" else "[default]"
        lines["config"] += [head, *(f"{key} = {value}" for key, value in values.items() if key not in secret)]
    for file, text in lines.items():
        (home / ".aws" / file).write_text("\n".join(text))


def test_keys_in_options(lake: Lake, keys: Keys) -> None:
    write(lake, **{"s3.access-key": keys[0], "s3.secret-key": keys[1]})
    simple = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
    write(lake, **{"fs.s3a.access.key": keys[0], "fs.s3a.secret.key": keys[1], PROVIDER: simple})


def test_keys_in_the_environment(lake: Lake, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may come after the first try."""
    assert "no credentials are given: set the options s3.access-key and s3.secret-key" in told(lake)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys[1])
    write(lake)


def test_profiles(lake: Lake, keys: Keys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By the environment or an option, and the default one; a profile may say where the store is."""
    mine = {"aws_access_key_id": keys[0], "aws_secret_access_key": keys[1]}
    write_profiles(tmp_path, default=mine, other={**mine, "endpoint_url": lake[1]["s3.endpoint"]}, empty={})
    write(lake)
    write(lake, **{"fs.s3a.auth.profile.name": "default"})
    write((lake[0], {"s3.auth.profile.name": "other", PROVIDER: "ProfileAWSCredentialsProvider"}))
    monkeypatch.setenv("AWS_PROFILE", "other")
    write((lake[0], {}))
    (tmp_path / ".aws" / "credentials").rename(tmp_path / "elsewhere")
    write(lake, **{"s3.auth.profile.name": "default", "s3.auth.profile.file": str(tmp_path / "elsewhere")})
    forget_clients()
    assert "the profile 'other' has no credentials: run aws configure" in told(lake)


def test_a_token_that_the_store_does_not_know(lake: Lake, keys: Keys) -> None:
    forged = {"s3.access-key": keys[0], "s3.secret-key": keys[1], "s3.session-token": "forged"}
    assert "does not know the token of the credentials (InvalidToken, " in told(lake, **forged)
    assert "s3.session-token" in told(lake, **forged)


def test_a_profile_that_is_not_there(lake: Lake, keys: Keys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert "the profile 'nobody' is not in the files of AWS: name one that is there (none)" in told(lake)
    write_profiles(tmp_path, b={"region": "eu-west-1"}, a={"region": "eu-west-1"})
    assert "name one that is there (a, b)" in told(lake)
    both = {"s3.access-key": keys[0], "s3.secret-key": keys[1], "s3.auth.profile.name": "a"}
    assert "both keys and a profile are given: leave out" in told(lake, **both)


def test_other_clouds_get_no_credentials_of_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(AccessDenied, match=r"no credentials are given: set the options fs\.oss\.accessKeyId"):
        file_io_for("oss://b/t", {"fs.oss.endpoint": "http://127.0.0.1:1"}).list("oss://b/t")


def test_a_program_that_gives_keys(lake: Lake, keys: Keys, tmp_path: Path) -> None:
    answer = {"Version": 1, "AccessKeyId": keys[0], "SecretAccessKey": keys[1]}
    (tmp_path / "keys.json").write_text(json.dumps(answer))
    write_profiles(tmp_path, default={"credential_process": f"cat {tmp_path}/keys.json"})
    write(lake)
    (tmp_path / "keys.json").unlink()
    forget_clients()
    assert "credentials of the AWS SDK cannot be had" in told(lake)


def test_a_session_of_sso(lake: Lake, keys: Keys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As ``aws sso login`` leaves it."""
    role = {"accessKeyId": keys[0], "secretAccessKey": keys[1], "sessionToken": NO_TOKEN, "expiration": _millis(HOUR)}
    with stand_in({"/federation/credentials": lambda asked: json.dumps({"roleCredentials": role})}) as portal:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", portal.address)
        places = "botocore.credentials.SSOProvider._SSO_TOKEN_CACHE_DIR"  # made of HOME when it is imported
        monkeypatch.setattr(places, str(tmp_path / ".aws" / "sso" / "cache"))
        told_of_sso = {"sso_start_url": START, "sso_region": "us-east-1", "sso_account_id": "1", "sso_role_name": "w"}
        write_profiles(tmp_path, work=told_of_sso)
        place = {"s3.auth.profile.name": "work"}
        sentence = "the session of SSO of the profile 'work' has ended or was never begun"
        assert sentence in told(lake, **place)
        cache = tmp_path / ".aws" / "sso" / "cache"
        cache.mkdir(parents=True)
        session = cache / f"{hashlib.sha1(START.encode()).hexdigest()}.json"
        session.write_text(json.dumps({"accessToken": "token-of-sso", "expiresAt": _time(HOUR)}))
        write(lake, **place)
        assert portal.asked[-1].headers["x-amz-sso_bearer_token"] == "token-of-sso"
        session.write_text(json.dumps({"accessToken": "token-of-sso", "expiresAt": _time(-HOUR)}))
        forget_clients()
        assert told(lake, **place).endswith("run aws sso login --profile work (docs/guides/cluster-and-storage.md)")


def test_an_assumed_role(lake: Lake, keys: Keys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With keys of options, by a profile, and refused."""
    with stand_in({"/": lambda asked: sts_answer("AssumeRole", *keys)}) as sts:
        asked_of = {"fs.s3a.assumed.role.sts.endpoint": sts.address, "fs.s3a.assumed.role.sts.endpoint.region": "x-1"}
        role = {"fs.s3a.assumed.role.arn": ROLE, "fs.s3a.access.key": "poor", "fs.s3a.secret.key": "secret", **asked_of}
        more = {"fs.s3a.assumed.role.session.duration": "30m", "fs.s3a.assumed.role.session.name": "job"}
        write(lake, **role, **more, **{PROVIDER: "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider"})
        form = sts.asked[-1].form
        assert (form["RoleArn"], form["DurationSeconds"], form["RoleSessionName"]) == (ROLE, "1800", "job")
        assert "Credential=poor/" in sts.asked[-1].headers["authorization"]
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address)
        poor = {"aws_access_key_id": "poor", "aws_secret_access_key": "secret"}
        write_profiles(tmp_path, poor=poor, role={"role_arn": ROLE, "source_profile": "poor"})
        write(lake, **{"s3.auth.profile.name": "role"})
        assert len(sts.asked) == 2

    def refuse(asked: Asked) -> str:
        body = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not for you</Message></Error></ErrorResponse>"
        raise Refused(403, body)

    with stand_in({"/": refuse}) as sts:
        refused = told(lake, **{**role, "fs.s3a.assumed.role.sts.endpoint": sts.address})
        assert f"the role {ROLE} cannot be assumed (" in refused
        assert "not for you" in refused


def test_a_web_identity(lake: Lake, keys: Keys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of a pod of Kubernetes, by the SDK, because the client of the store asks STS by TLS alone."""
    (tmp_path / "token").write_text("token-of-pod")
    with stand_in({"/": lambda asked: sts_answer("AssumeRoleWithWebIdentity", *keys)}) as sts:
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
        monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address)
        write(lake)
        assert sts.asked[-1].form["WebIdentityToken"] == "token-of-pod"


@pytest.mark.parametrize("has_file", [True, False])
def test_a_container(lake: Lake, keys: Keys, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_file: bool) -> None:
    """A pod of EKS, whose token is in a file, by the client of the store; a task of ECS by the SDK."""
    with stand_in({"/keys": lambda asked: aws_keys(*keys)}) as agent:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{agent.address}/keys")
        if has_file:
            (tmp_path / "token").write_text("token-of-pod")
            monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
        else:
            monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "token-of-pod")
        write(lake)
        assert agent.asked[-1].headers["authorization"] == "token-of-pod"


def machine(keys: Callable[[], str]) -> Any:
    """The metadata of a machine of EC2, whose role has keys."""
    return stand_in(
        {
            "/latest/api/token": lambda asked: "session",
            "/latest/meta-data/iam/security-credentials/": lambda asked: "role-of-machine",
            "/latest/meta-data/iam/security-credentials/role-of-machine": lambda asked: keys(),
        }
    )


@pytest.mark.parametrize("variable", ["AWS_METADATA_ENDPOINT", "AWS_EC2_METADATA_SERVICE_ENDPOINT"])
def test_a_machine(lake: Lake, keys: Keys, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """By the client of the store, and by the variable of the SDK."""
    with machine(lambda: aws_keys(*keys)) as metadata:
        monkeypatch.setenv(variable, metadata.address)
        write(lake)
        assert metadata.asked[-1].headers["x-aws-ec2-metadata-token"] == "session"


def test_keys_that_expire_while_a_job_runs(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine has got the next key before the store stops to know the last one."""
    made: list[str] = []
    asks = itertools.count()
    with versitygw(accounts=True) as server:
        s3_client(server.options).create_bucket(Bucket=lake[0].removeprefix("s3://"))

        def key_of_now() -> str:
            """Another one each time that the machine has been asked ten times; the store forgets the last but one."""
            if next(asks) % 10 == 0:
                made.append(uuid4().hex)
                new_account(server, made[-1], "secret")
                if len(made) > 2:
                    remove_account(server, made[-3])
            return aws_keys(made[-1], "secret", timedelta(seconds=1))

        options = {name: server.options[name] for name in lake[1]}
        with machine(key_of_now) as metadata:
            monkeypatch.setenv("AWS_METADATA_ENDPOINT", metadata.address)
            table, count = create_table(f"{lake[0]}/t", {"id": "INT"}, options=options), 0
            while len(made) < 5:
                table.append({"id": [count]})
                count += 1
            assert open_table(f"{lake[0]}/t", options).scan().count() == count
        first = {"s3.access-key": made[0], "s3.secret-key": "secret"}
        assert "does not know the access key" in told((lake[0], options), **first)


def _millis(ahead: timedelta) -> int:
    return int((datetime.now(UTC) + ahead).timestamp() * 1000)


def _time(ahead: timedelta) -> str:
    return (datetime.now(UTC) + ahead).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({PROVIDER: "com.example.MyProvider"}, UnsupportedFeature, "the credentials of 'MyProvider', which the option"),
        ({PROVIDER: "a.AssumedRoleCredentialProvider"}, OptionError, "set the option fs.s3a.assumed.role.arn"),
        (
            {"fs.s3a.assumed.role.arn": ROLE, "fs.s3a.assumed.role.session.duration": "long"},
            OptionError,
            "'fs.s3a.assumed.role.session.duration' is 'long': expected a time such as 30m",
        ),
    ],
)
def test_what_is_refused(options: dict[str, str], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        split_login(dict(s3_config(options)))


def test_which_class_of_hadoop_counts() -> None:
    """The first one that the client of the store does not do by itself; Anonymous signs nothing."""
    assert split_login({"credentials_provider": "x.AnonymousAWSCredentialsProvider"}) == (
        {"skip_signature": "true"},
        None,
    )
    chain = "x.EnvironmentVariableCredentialsProvider, x.ProfileCredentialsProvider"
    login = split_login({"credentials_provider": chain, "profile": "p"})[1]
    assert login is not None
    assert login.profile == "p"
