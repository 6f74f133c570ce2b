"""Credentials of AWS by its SDK for Python, which is imported here alone: see ``aws_login``.

The client of the store asks again and again, at most ten times a second, and the SDK gets new credentials in time
before the old ones expire, so that a job may run longer than they live.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from botocore.credentials import AssumeRoleCredentialFetcher, Credentials, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound, SSOError, TokenRetrievalError
from botocore.session import Session

from paimon_spark.errors import AccessDenied, OptionError
from paimon_spark.file_io.aws_login import AwsLogin

_KEPT = timedelta(seconds=1)
_OF_PROFILES = {"region": "region", "endpoint_url": "endpoint"}
_PAGE = "docs/guides/cluster-and-storage.md"

Provider = Callable[[], dict[str, Any]]
"""Gives the credentials of now to the client of the store."""


def sdk_credentials(login: AwsLogin) -> tuple[Provider | None, Mapping[str, str]]:
    """Where the client of the store gets its credentials from, and settings of the profile: its region and endpoint.

    Args:
        login: what is asked for.

    Returns:
        None: the SDK finds no credentials, and none were asked for by name.

    Raises:
        OptionError: there is no such profile, or it has no credentials, or a file cannot be read.
    """
    session = Session(profile=login.profile)
    if login.profile_file:
        session.set_config_variable("credentials_file", login.profile_file)
    try:
        profile = session.get_scoped_config()
        if login.region and not session.get_config_variable("region"):
            session.set_config_variable("region", login.region)
        found = Credentials(*login.keys) if login.keys else session.get_credentials()
    except (BotoCoreError, ClientError) as error:
        raise OptionError(f"{_sentence(login, session, error)} ({_PAGE})") from error
    settings = {ours: profile[key] for key, ours in _OF_PROFILES.items() if profile.get(key)}
    if found is None:
        if login.is_wanted:
            raise OptionError(
                f"{_named(login)} has no credentials: run aws configure, or give it keys, a role or a session of SSO "
                f"({_PAGE})"
            )
        return None, settings
    if login.role:
        found = _assumed(login, session, found)
    return partial(_credentials, login, session, found), settings


def _assumed(login: AwsLogin, session: Session, source: Credentials) -> Credentials:
    places = {"endpoint_url": login.sts_endpoint, "region_name": login.sts_region}
    create = partial(session.create_client, **{key: value for key, value in places.items() if value})
    fetcher = AssumeRoleCredentialFetcher(create, source, login.role, dict(login.role_arguments))
    return DeferredRefreshableCredentials(refresh_using=fetcher.fetch_credentials, method="assume-role")


def _credentials(login: AwsLogin, session: Session, source: Credentials) -> dict[str, Any]:
    """The credentials of now.

    Raises:
        AccessDenied: there are none; the client of the store hands its message on.
    """
    try:
        now = source.get_frozen_credentials()
    except (BotoCoreError, ClientError) as error:
        raise AccessDenied(_sentence(login, session, error)) from error
    return {
        "access_key_id": now.access_key,
        "secret_access_key": now.secret_key,
        "token": now.token,
        "expires_at": datetime.now(UTC) + _KEPT,
    }


def _sentence(login: AwsLogin, session: Session, error: Exception) -> str:
    words = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, ProfileNotFound):
        there = ", ".join(sorted(session.available_profiles)) or "none"
        return f"{_named(login)} is not in the files of AWS: name one that is there ({there})"
    if isinstance(error, SSOError | TokenRetrievalError):
        name = f" --profile {login.profile}" if login.profile else ""
        return f"the session of SSO of {_named(login)} has ended or was never begun ({words}): run aws sso login{name}"
    if login.role:
        return (
            f"the role {login.role} cannot be assumed ({words}): check the keys with which it is assumed, the option "
            "fs.s3a.assumed.role.arn, and who is allowed to assume it"
        )
    return f"the credentials of {_named(login)} cannot be had ({words}): check the files and variables of AWS"


def _named(login: AwsLogin) -> str:
    return f"the profile '{login.profile}'" if login.profile else "the AWS SDK"
