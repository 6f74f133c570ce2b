"""Which credentials of AWS are asked for, from the options of S3 and the environment.

The client of the store finds keys, web identities, and the credentials of containers and machines by itself. Profiles,
sessions of SSO and roles that are assumed are found by the AWS SDK for Python, which is an extra: see
``aws_credentials``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from paimon_spark.errors import OptionError, UnsupportedFeature

_DURATION = re.compile(r"(\d+)\s*([smh]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_ROLE, _PROFILE = "AssumedRoleCredentialProvider", "ProfileAWSCredentialsProvider"
_OF_PROFILES = frozenset((_PROFILE, "ProfileCredentialsProvider"))
_OF_CLIENT = frozenset(
    (
        *("SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider", "EnvironmentVariableCredentialsProvider"),
        *("IAMInstanceCredentialsProvider", "InstanceProfileCredentialsProvider", "ContainerCredentialsProvider"),
        *("EC2ContainerCredentialsProviderWrapper", "WebIdentityTokenCredentialsProvider"),
        *("WebIdentityTokenFileCredentialsProvider", "DefaultCredentialsProvider"),
        "DefaultAWSCredentialsProviderChain",
    )
)
"""The last names of classes of Hadoop and of the AWS SDK for Java whose credentials the client finds by itself."""
_FILES = {"AWS_SHARED_CREDENTIALS_FILE": "credentials", "AWS_CONFIG_FILE": "config"}
_TASK, _TASK_TOKEN = "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
_MACHINE = ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_EC2_METADATA_DISABLED")
_PROFILES: tuple[str, ...] = ("profile", "profile_file")
_KEYS = ("access_key_id", "secret_access_key", "session_token")
_OF_ROLES = {
    "assumed_role_session": "RoleSessionName",
    "assumed_role_external_id": "ExternalId",
    "assumed_role_policy": "Policy",
}


@dataclass(frozen=True)
class AwsLogin:
    """What the SDK is asked for.

    Attributes:
        profile: by its name; None: the one that the environment names, else the default one.
        profile_file: of credentials, in place of ``~/.aws/credentials``; None: that.
        role: the ARN of a role that is assumed; None: none.
        role_arguments: of the request for it.
        sts_endpoint, sts_region: where that is asked for; None: where the SDK says.
        region: of the store, where no region of STS is told; None: the SDK finds one.
        keys: those with which the role is assumed; (): the SDK finds some.
        is_wanted: whether the user has asked for it; else the client of the store may find other credentials.
    """

    profile: str | None = None
    profile_file: str | None = None
    role: str | None = None
    role_arguments: tuple[tuple[str, str | int], ...] = ()
    sts_endpoint: str | None = None
    sts_region: str | None = None
    region: str | None = None
    keys: tuple[str | None, ...] = field(default=(), repr=False)
    is_wanted: bool = True


def split_login(settings: Mapping[str, str]) -> tuple[dict[str, str], AwsLogin | None]:
    """The settings of the client, and what the SDK is asked for, if the client does not find the credentials.

    Args:
        settings: as s3_config gives them.

    Raises:
        OptionError: two ways are named that exclude each other, or a value cannot be understood.
        UnsupportedFeature: the class of credentials is none of those that are known.
    """
    found = dict(settings)
    kind = _kind_of_provider(found.pop("credentials_provider", ""))
    role = {name: found.pop(name) for name in list(found) if name.startswith("assumed_role")}
    profile = {name: found.pop(name) for name in _PROFILES if name in found}
    if kind == "anonymous":
        found["skip_signature"] = "true"
        return found, None
    if kind == "role" and "assumed_role" not in role:
        raise OptionError("the role that is to be assumed is not named: set the option fs.s3a.assumed.role.arn")
    if kind in ("role", "") and "assumed_role" in role:
        keys = tuple(found.pop(name, None) for name in _KEYS)
        return found, replace(_role_login(role, profile, keys if keys[0] else ()), region=found.get("region"))
    if kind == "profile" or profile:
        if "access_key_id" in found:
            raise OptionError(
                "both keys and a profile are given: leave out the option s3.access-key or s3.auth.profile.name"
            )
        return found, AwsLogin(profile.get("profile"), profile.get("profile_file"), region=found.get("region"))
    login = None if _knows_keys(found) else _login_of_environment()
    return found, login if login is None else replace(login, region=found.get("region"))


def _role_login(role: Mapping[str, str], profile: Mapping[str, str], keys: tuple[str | None, ...]) -> AwsLogin:
    arguments: dict[str, str | int] = {name: role[ours] for ours, name in _OF_ROLES.items() if ours in role}
    duration = role.get("assumed_role_duration")
    if duration is not None:
        parts = _DURATION.fullmatch(duration.strip())
        if parts is None:
            raise OptionError(
                f"the option 'fs.s3a.assumed.role.session.duration' is '{duration}': expected a time such as 30m"
            )
        arguments["DurationSeconds"] = int(parts[1]) * _SECONDS[parts[2]]
    return AwsLogin(
        profile.get("profile"),
        profile.get("profile_file"),
        role["assumed_role"],
        tuple(arguments.items()),
        role.get("assumed_role_endpoint"),
        role.get("assumed_role_region"),
        keys=keys,
    )


def _kind_of_provider(classes: str) -> str:
    """ "anonymous", "role", "profile", "client", or "" where no class is named; the first one that is not the client's.

    Args:
        classes: names with commas between them, as of ``fs.s3a.aws.credentials.provider``.
    """
    kind = ""
    for name in filter(None, (name.strip().rpartition(".")[2] for name in classes.split(","))):
        if "Anonymous" in name:
            found = "anonymous"
        elif name == _ROLE:
            found = "role"
        elif name in _OF_PROFILES:
            found = "profile"
        elif name in _OF_CLIENT:
            found = "client"
        else:
            raise UnsupportedFeature(
                f"the credentials of '{name}', which the option s3.aws.credentials.provider names, are not supported: "
                f"use {_PROFILE}, {_ROLE}, or leave out the option, and keys, the environment and the machine are asked"
            )
        kind = found if kind in ("", "client") else kind
    return kind


def _knows_keys(settings: Mapping[str, str]) -> bool:
    """True if keys are given by options or the environment, which come before all else, in the SDK too."""
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    return any(key in settings for key in _KEYS) or any(os.environ.get(name) for name in names)


def _login_of_environment() -> AwsLogin | None:
    """What the environment asks for that the client of the store does not find."""
    named = _variable("AWS_PROFILE") or _variable("AWS_DEFAULT_PROFILE")
    if named:
        return AwsLogin(named)
    if _variable("AWS_WEB_IDENTITY_TOKEN_FILE") and _variable("AWS_ROLE_ARN"):
        return AwsLogin() if _variable("AWS_ENDPOINT_URL_STS") else None
    if _variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        return None
    if _variable(_TASK):
        return None if _variable(_TASK_TOKEN) else AwsLogin()
    is_named = any(map(_variable, _MACHINE)) or any(map(_is_there, _FILES))
    return AwsLogin(is_wanted=False) if is_named else None


def _is_there(variable: str) -> bool:
    """True if a file of profiles is there."""
    try:
        return Path(_variable(variable) or Path.home() / ".aws" / _FILES[variable]).is_file()
    except (OSError, RuntimeError):  # no home directory, or one of others
        return False


def _variable(name: str) -> str:
    return os.environ.get(name, "")
