"""The settings of object stores under the names of their client, from the options that Paimon and Hadoop have for them.

OSS, COS and OBS are reached by the interface of S3 that each of them has.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.file_io.s3_options import S3_OPTIONS, S3_PREFIXES

Settings = tuple[tuple[str, str], ...]
"""Sorted; beside the names of the client, those of S3_OPTIONS, and of Azure names with the host of an account."""

S3_SCHEMES = ("s3", "s3a", "s3n")
AZURE_SCHEMES = ("az", "abfs", "abfss")

_ADDRESS = re.compile(r"https?://([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d+)?(/[\w./-]*)?")
_IP = re.compile(r"(\d+\.){3}\d+|\[.*\]|localhost")
_OSS_HOST = re.compile(r"(s3\.)?oss-([\w-]+?)(-internal)?\.aliyuncs\.com")
_OBS_HOST = re.compile(r"obs\.([\w-]+)\.myhuaweicloud\.com")
_GCS_OPTIONS: Mapping[str, str] = {
    "fs.gs.auth.service.account.json.keyfile": "service_account",
    "google.cloud.auth.service.account.json.keyfile": "service_account",
    "fs.gs.storage.root.url": "base_url",
}
_GCS_TYPE, _GCS_KEY_FILE = "fs.gs.auth.type", "SERVICE_ACCOUNT_JSON_KEYFILE"
_GCS_TYPES = (_GCS_KEY_FILE, "APPLICATION_DEFAULT", "COMPUTE_ENGINE", "UNAUTHENTICATED")
_AZURE_OPTIONS: tuple[tuple[str, str], ...] = (
    ("fs.azure.account.key", "account_key"),
    ("fs.azure.sas.fixed.token", "sas_key"),
    ("fs.azure.account.auth.type", "auth_type"),
    ("fs.azure.account.oauth.provider.type", "provider_type"),
    ("fs.azure.account.oauth2.client.id", "client_id"),
    ("fs.azure.account.oauth2.client.secret", "client_secret"),
    ("fs.azure.account.oauth2.client.endpoint", "client_endpoint"),
    ("fs.azure.account.oauth2.token.file", "federated_token_file"),
    ("fs.azure.account.oauth2.msi.tenant", "tenant_id"),
    ("fs.azure.account.oauth2.msi.endpoint", "msi_endpoint"),
    ("fs.azure.endpoint", "endpoint"),
    ("azure.endpoint", "endpoint"),
)
_AZURE_TYPES: Mapping[str, str] = {"sharedkey": "access_key", "sas": "sas_token", "oauth": ""}
_AZURE_PROVIDERS: Mapping[str, str] = {
    "ClientCredsTokenProvider": "client_secret",
    "MsiTokenProvider": "managed_identity",
    "WorkloadIdentityTokenProvider": "workload_identity",
}
_ACCOUNT = "AZURE_STORAGE_ACCOUNT_NAME"
"""The variable with the account of containers whose paths name none."""
_AT = "@"


def s3_config(options: Mapping[str, str]) -> Settings:
    """The settings of an S3 store, from table or storage options (``s3.*``, ``fs.s3a.*``).

    Hadoop has many more keys under these prefixes, which do nothing here.
    """
    found: dict[str, str] = {}
    for setting, names in S3_OPTIONS.items():
        keys = [prefix + name for prefix in S3_PREFIXES for name in names]
        value = next((options[key] for key in keys if key in options), None)
        if value is not None:
            found[setting] = value.strip()
    if found.pop("bulk_delete", "true").lower() == "false":
        found["disable_bulk_delete"] = "true"
    return tuple(sorted(found.items()))


def gcs_config(options: Mapping[str, str]) -> Settings:
    """The settings of a Google store, from storage options; the environment supplies missing ones.

    Raises:
        UnsupportedFeature: ``fs.gs.auth.type`` is none that is supported.
        OptionError: it wants a file of keys that is not named.
    """
    found = {ours: options[key].strip() for key, ours in _GCS_OPTIONS.items() if key in options}
    kind = options.get(_GCS_TYPE, "").strip().upper()
    if kind and kind not in _GCS_TYPES:
        raise UnsupportedFeature(f"the option '{_GCS_TYPE}' is '{kind}': supported are {', '.join(_GCS_TYPES)}")
    if kind == _GCS_KEY_FILE and "service_account" not in found:
        raise OptionError(f"no file of keys is named: set the option {next(iter(_GCS_OPTIONS))}")
    if kind and kind != _GCS_KEY_FILE:
        found.pop("service_account", None)
    if kind == "UNAUTHENTICATED":
        found["skip_signature"] = "true"
    return tuple(sorted(found.items()))


def azure_config(options: Mapping[str, str]) -> Settings:
    """The credentials and the address of Azure stores; the environment supplies missing ones.

    Hadoop's keys may end with the name of the account (``fs.azure.account.key.<account>.dfs.core.windows.net``): such
    a setting has it behind an ``@``, and adapted_azure chooses.
    """
    found: dict[str, str] = {}
    for prefix, ours in _AZURE_OPTIONS:
        for key, value in sorted(options.items()):
            if key == prefix:
                found.setdefault(ours, value.strip())
            elif key.startswith(f"{prefix}."):
                found.setdefault(f"{ours}{_AT}{key.removeprefix(prefix)[1:]}", value.strip())
    return tuple(sorted(found.items()))


def adapted_azure(settings: Mapping[str, str], authority: str) -> dict[str, str]:
    """The settings of the client for one account.

    Args:
        settings: as azure_config gives them.
        authority: ``<container>@<account>.dfs.core.windows.net``, or the container alone, whose account the environment
            names. If neither names one, settings of any account are taken.

    Raises:
        UnsupportedFeature: the way of credentials is none that is supported.
    """
    account = authority.partition("@")[2].partition(".")[0] or os.environ.get(_ACCOUNT, "")
    found = {name: value for name, value in settings.items() if _AT not in name}
    for name, value in sorted(settings.items()):
        ours, _, host = name.partition(_AT)
        if host and (not account or host.partition(".")[0] == account):
            found[ours] = value
    endpoint = found.pop("client_endpoint", "")  # https://login.microsoftonline.com/<tenant>/oauth2/token
    scheme, _, rest = endpoint.partition("://")
    if rest:
        host, _, path = rest.partition("/")
        found.update(authority_host=f"{scheme}://{host}", tenant_id=path.partition("/")[0])
    kind = _azure_credentials(found.pop("auth_type", ""), found.pop("provider_type", ""))
    return {**found, "credential_type": kind} if kind else found


def _azure_credentials(auth_type: str, provider: str) -> str:
    """The client's name of the way of credentials that Hadoop's options ask for; "": any that is given."""
    if auth_type and auth_type.lower() not in _AZURE_TYPES:
        raise UnsupportedFeature(
            f"the option 'fs.azure.account.auth.type' is '{auth_type}': supported are SharedKey, SAS and OAuth"
        )
    kind = _AZURE_TYPES.get(auth_type.lower(), "")
    name = provider.rpartition(".")[2]
    if kind or not name:
        return kind
    if name not in _AZURE_PROVIDERS:
        raise UnsupportedFeature(
            f"the option 'fs.azure.account.oauth.provider.type' is '{provider}': supported are "
            f"{', '.join(_AZURE_PROVIDERS)}"
        )
    return _AZURE_PROVIDERS[name]


@dataclass(frozen=True)
class _Kin:
    """A store that has an interface of S3 beside its own.

    Attributes:
        name: of the store.
        options: the setting of the client -> its keys, in lower case, as Spark gives them.
        wanted: the key without which there is no address.
        address: makes the host of the interface of S3 and the region from the host or region that the key gives.
    """

    name: str
    options: Mapping[str, tuple[str, ...]]
    wanted: str
    address: Callable[[str], tuple[str, str]]


def _oss_address(host: str) -> tuple[str, str]:
    """Of ``oss-cn-hangzhou.aliyuncs.com``: ``s3.`` before it is its interface of S3 (OSS: Use Amazon S3 SDKs)."""
    found = _OSS_HOST.fullmatch(host)
    if found is None:
        return host, "cn-hangzhou"
    return (host if found[1] else f"s3.{host}"), found[2]


def _cos_address(region: str) -> tuple[str, str]:
    return f"cos.{region}.myqcloud.com", region


def _obs_address(host: str) -> tuple[str, str]:
    found = _OBS_HOST.fullmatch(host)
    return host, found[1] if found else "us-east-1"


KIN: Mapping[str, _Kin] = {
    "oss": _Kin(
        "Alibaba Cloud OSS",
        {
            "endpoint": ("fs.oss.endpoint",),
            "access_key_id": ("fs.oss.accesskeyid",),
            "secret_access_key": ("fs.oss.accesskeysecret",),
            "session_token": ("fs.oss.securitytoken",),
            "region": ("fs.oss.region",),
        },
        "fs.oss.endpoint",
        _oss_address,
    ),
    "cosn": _Kin(
        "Tencent Cloud COS",
        {
            "endpoint": ("fs.cosn.bucket.endpoint",),
            "access_key_id": ("fs.cosn.userinfo.secretid",),
            "secret_access_key": ("fs.cosn.userinfo.secretkey",),
            "session_token": ("fs.cosn.userinfo.sessiontoken",),
            "region": ("fs.cosn.bucket.region", "fs.cosn.userinfo.region"),
        },
        "fs.cosn.bucket.region",
        _cos_address,
    ),
    "obs": _Kin(
        "Huawei Cloud OBS",
        {
            "endpoint": ("fs.obs.endpoint",),
            "access_key_id": ("fs.obs.access.key",),
            "secret_access_key": ("fs.obs.secret.key",),
            "session_token": ("fs.obs.session.token",),
            "region": ("fs.obs.region",),
        },
        "fs.obs.endpoint",
        _obs_address,
    ),
}
"""By the scheme of their locations."""


def kin_config(scheme: str, options: Mapping[str, str]) -> Settings:
    """The settings of the interface of S3 of a store of KIN. They need no bulk delete, which OSS has otherwise.

    The bucket is a part of the host, as these stores want it, but for a server whose host is a number.

    Raises:
        OptionError: the option that tells where the store is is missing.
        UnsupportedFeature: objects are to be encrypted by the store, which this interface is not asked for.
    """
    kin, given = KIN[scheme], {key.lower(): value.strip() for key, value in options.items()}
    encrypted = next((key for key in given if key.startswith(f"fs.{scheme}.server-side-encryption")), None)
    if encrypted is not None:
        raise UnsupportedFeature(
            f"the option '{encrypted}' is not supported: objects of {kin.name} are written without it; set the "
            "encryption of the bucket in its place, and leave out the option"
        )
    found = {
        setting: next(given[key] for key in keys if key in given)
        for setting, keys in kin.options.items()
        if any(key in given for key in keys)
    }
    place = found.get("endpoint") or found.get("region") if scheme == "cosn" else found.get("endpoint")
    if not place:
        raise OptionError(f"cannot reach {scheme}://: the option '{kin.wanted}' is missing, which says where it is")
    protocol, _, host = place.rpartition("://")
    is_region = scheme == "cosn" and "endpoint" not in found
    address, region = kin.address(host) if is_region or scheme != "cosn" else (host, found.get("region", "us-east-1"))
    found["endpoint"] = f"{protocol or 'https'}://{address}"
    found.setdefault("region", region)
    found["path_style"] = "true" if _IP.match(host) else "false"
    found["disable_bulk_delete"] = "true"
    return tuple(sorted(found.items()))


def adapted_s3(settings: Mapping[str, str], bucket: str) -> dict[str, str]:
    """The settings of the client, from that of path style which Hadoop has.

    Raises:
        OptionError: a value is none of those that the option has.
    """
    found = dict(settings)
    path_style = found.pop("path_style", "true").strip().lower()
    if path_style not in ("true", "false"):
        raise OptionError(f"the option 's3.path-style-access' is '{path_style}': expected true or false")
    endpoint = found.get("endpoint")
    if endpoint is None:
        return found
    if "://" not in endpoint:
        endpoint = f"https://{endpoint}"
    if not _ADDRESS.fullmatch(endpoint):
        raise OptionError(f"the option 's3.endpoint' is '{endpoint}': expected an address such as http://minio:9000")
    if path_style == "false":
        scheme, _, host = endpoint.partition("://")
        endpoint = f"{scheme}://{bucket}.{host}"
        found["virtual_hosted_style_request"] = "true"
    found["endpoint"] = endpoint
    return found
