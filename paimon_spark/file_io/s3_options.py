"""The names of the options of S3, which are checked for every store: one map of options may serve many tables."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_spark.errors import OptionError, similar_names

# The name of obstore of a setting -> its names in table options, without the prefixes.
S3_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "endpoint": ("endpoint",),
    "access_key_id": ("access-key", "access.key"),
    "secret_access_key": ("secret-key", "secret.key"),
    "session_token": ("session-token", "session.token"),
    "region": ("region", "endpoint.region"),
    "path_style": ("path-style-access", "path.style.access"),
    "credentials_provider": ("aws.credentials.provider",),
    "bulk_delete": ("multiobjectdelete.enable",),
    "profile": ("auth.profile.name",),
    "profile_file": ("auth.profile.file",),
    "assumed_role": ("assumed.role.arn",),
    "assumed_role_session": ("assumed.role.session.name",),
    "assumed_role_duration": ("assumed.role.session.duration",),
    "assumed_role_policy": ("assumed.role.policy",),
    "assumed_role_external_id": ("assumed.role.external.id",),
    "assumed_role_endpoint": ("assumed.role.sts.endpoint",),
    "assumed_role_region": ("assumed.role.sts.endpoint.region",),
}
S3_PREFIXES = ("s3.", "fs.s3a.", "s3a.", "fs.s3.")
_KNOWN = frozenset(prefix + name for prefix in S3_PREFIXES for names in S3_OPTIONS.values() for name in names)
_NEAR_MISS = 0.9


def check_spelling(options: Mapping[str, str]) -> None:
    """Refuses a key that is nearly one of S3; Hadoop has many more keys under these prefixes, which do nothing here.

    Raises:
        OptionError: there is such a key.
    """
    for key in options:
        is_of_s3 = key.lower().startswith(S3_PREFIXES) and key not in _KNOWN
        near = similar_names(key, _KNOWN, cutoff=_NEAR_MISS) if is_of_s3 else []
        if near:
            raise OptionError(f"the option '{key}' of the store is not known; did you mean '{near[0]}'?")
