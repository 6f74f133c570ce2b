"""The options of a REST catalog, and how they travel with a table (Java: RESTCatalogOptions, RESTUtil.merge)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from paimon_spark.catalogs.catalog_options import check_catalog_options
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.value_texts import parse_bool
from paimon_spark.store.metadata.table_options import STORAGE_PREFIXES, split_storage_options

URI = "uri"
WAREHOUSE = "warehouse"
TOKEN = "token"
TOKEN_PROVIDER = "token.provider"
PREFIX = "prefix"
DATA_TOKEN = "data-token.enabled"
HEADER = "header."
DLF_REGION = "dlf.region"
DLF_TOKEN_PATH = "dlf.token-path"
DLF_KEY_ID = "dlf.access-key-id"
DLF_KEY_SECRET = "dlf.access-key-secret"
DLF_SECURITY_TOKEN = "dlf.security-token"
DLF_TOKEN_LOADER = "dlf.token-loader"
DLF_ECS_URL = "dlf.token-ecs-metadata-url"
DLF_ECS_ROLE = "dlf.token-ecs-role-name"
DLF_OSS_ENDPOINT = "dlf.oss-endpoint"
DLF_SIGNING = "dlf.signing-algorithm"
_NOT_USED = ("io-cache.enabled", "io-cache.whitelist-path", "io-cache.policy")
_KNOWN = frozenset(
    {
        *(TOKEN, TOKEN_PROVIDER, PREFIX, DATA_TOKEN, DLF_REGION, DLF_TOKEN_PATH, DLF_KEY_ID, DLF_KEY_SECRET),
        *(DLF_SECURITY_TOKEN, DLF_TOKEN_LOADER, DLF_ECS_URL, DLF_ECS_ROLE, DLF_OSS_ENDPOINT, DLF_SIGNING),
        *_NOT_USED,
    }
)
_OF_CALLER = frozenset(
    {
        *(URI, TOKEN, TOKEN_PROVIDER, DLF_TOKEN_PATH, DLF_KEY_ID, DLF_KEY_SECRET, DLF_SECURITY_TOKEN),
        *(DLF_TOKEN_LOADER, DLF_ECS_URL, DLF_ECS_ROLE, DLF_REGION, DLF_SIGNING),
    }
)
"""Where the server is and who asks it: a server must not send the credentials of its clients to another address."""
_SECRET_KEYS = frozenset({TOKEN, DLF_KEY_SECRET, DLF_SECURITY_TOKEN})
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_TEXT = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_TRAVELLING = "rest."
_MERGED = "rest.config-merged"
_CATALOG = "rest.catalog-name"
_REDACTED = "secret-"


@dataclass(frozen=True)
class RestOptions:
    """Options of a REST catalog. Hashable by what they say; repr shows the address alone.

    Attributes:
        values: by key; with those of the server once it was asked (merged).
        catalog: the name of the catalog in SQL.
        merged: whether the server's are among them.
    """

    values: Mapping[str, str] = field(repr=False)
    catalog: str = "paimon"
    merged: bool = False

    def __hash__(self) -> int:
        return hash((frozenset(self.values.items()), self.catalog, self.merged))

    def __repr__(self) -> str:
        return f"RestOptions({self.shown_uri})"

    def get(self, key: str) -> str | None:
        """The value; None: it is not set, or empty."""
        return self.values.get(key) or None

    def flag(self, key: str) -> bool:
        """The value of a boolean option, false if it is not set."""
        return parse_bool(self.values.get(key, "false"))

    @property
    def base(self) -> str:
        """The address of the server without a slash at its end; http where it names no scheme, as in Java."""
        uri = (self.get(URI) or "").strip().removesuffix("/")
        return uri if uri.startswith(("http://", "https://")) else f"http://{uri}"

    @property
    def shown_uri(self) -> str:
        """The address for messages: without user and password."""
        scheme, _, rest = self.base.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers that ``header.*`` adds to each request."""
        return {key.removeprefix(HEADER): text for key, text in self.values.items() if key.startswith(HEADER)}

    @property
    def storage(self) -> dict[str, str]:
        """The options of the storage."""
        return {key: text for key, text in self.values.items() if key.lower().startswith(STORAGE_PREFIXES)}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that no message may show, long ones first: one may be a part of another."""
        found = {text for key, text in self.values.items() if text and _is_secret(key)}
        return tuple(sorted(found, key=len, reverse=True))

    def with_server(self, defaults: Mapping[str, str | None], overrides: Mapping[str, str | None]) -> RestOptions:
        """The options with those that the server answers: its defaults, then ours, then its overrides.

        The address of the server and the credentials stay those of the caller. Java: RESTApi makes its client and its
        AuthProvider before it asks the server.
        """
        lower, upper = (
            {key: str(text) for key, text in layer.items() if text is not None and key not in _OF_CALLER}
            for layer in (defaults, overrides)
        )
        return replace(self, values={**lower, **self.values, **upper}, merged=True)

    def travelling(self) -> dict[str, str]:
        """As storage options of a table, for the options of a read or a write of Spark; `travelled` is the reverse."""
        own = {key: text for key, text in self.values.items() if key not in self.storage}
        named = {_travelling_key(key): text for key, text in own.items() if not key.startswith("table-default.")}
        return {**self.storage, **named, _CATALOG: self.catalog, _MERGED: str(self.merged).lower()}


def _travelling_key(key: str) -> str:
    """Spark redacts values by words in their keys; headers get such a word (spark.redaction.regex)."""
    return f"{_TRAVELLING}{_REDACTED}{key}" if key.lower().startswith(HEADER) else f"{_TRAVELLING}{key}"


def _own_key(key: str) -> str:
    own = key.removeprefix(_TRAVELLING)
    return own.removeprefix(_REDACTED) if own.startswith(f"{_REDACTED}{HEADER}") else own


def travelled(storage: Mapping[str, str]) -> RestOptions | None:
    """The options that `travelling` has put among those of a storage; None: there are none.

    Spark lower-cases keys; the keys that are needed here are in lower case, and names of headers have no case.
    """
    named = {key.lower(): text for key, text in storage.items()}
    if f"{_TRAVELLING}{URI}" not in named:
        return None
    merged, catalog = named.pop(_MERGED, "false") == "true", named.pop(_CATALOG, "paimon")
    own = {_own_key(key): text for key, text in named.items() if key.startswith(_TRAVELLING)}
    others = {key: text for key, text in storage.items() if not key.lower().startswith(_TRAVELLING)}
    return RestOptions({**others, **own}, catalog, merged)


def rest_options(given: Mapping[str, str], catalog: str) -> RestOptions:
    """The options as a caller gives them.

    Raises:
        OptionError: a key is unknown, a value cannot be parsed, or the address or the credentials are missing.
        UnsupportedFeature: they ask for what this release does not have.
    """
    own: dict[str, str] = {}
    others: dict[str, str] = {}
    for key, text in given.items():
        (own if key in _KNOWN or key.startswith(HEADER) else others)[key] = text
    check_catalog_options(others)
    _check_bools(own)
    if not given.get(URI, "").strip():
        raise OptionError("the option 'uri' of the REST catalog is missing: give the address of the server")
    provider = given.get(TOKEN_PROVIDER, "").strip().lower()
    if provider not in ("bear", "dlf"):
        problem = f"is '{provider}'" if provider else "is missing"
        raise OptionError(
            f"the option '{TOKEN_PROVIDER}' of the REST catalog {problem}: expected 'bear', with '{TOKEN}', or 'dlf'"
        )
    if provider == "bear" and not given.get(TOKEN):
        raise OptionError(f"the option '{TOKEN}' of the REST catalog is missing: '{TOKEN_PROVIDER}' = 'bear' needs it")
    for key, text in own.items():
        if key == TOKEN or key.startswith(HEADER):
            name = key.removeprefix(HEADER)
            _check_header(key, name, text)
    return RestOptions({**given, TOKEN_PROVIDER: provider}, catalog)


def is_header(name: str, text: str) -> bool:
    """True if HTTP can send this name and this value (RFC 9110, 5.5); the value may be a secret."""
    return _HEADER_NAME.fullmatch(name) is not None and _HEADER_TEXT.fullmatch(text) is not None


def _check_header(key: str, name: str, text: str) -> None:
    if not is_header(name, text):
        raise OptionError(
            f"the option '{key}' of the REST catalog is no header of HTTP: its name must be a word, and its value, "
            "which is not shown here, must have neither line breaks nor other control characters, and none outside of "
            "Latin-1; a value from a file often ends with a line break: remove it"
        )


def _check_bools(own: Mapping[str, str]) -> None:
    for key in (DATA_TOKEN, "io-cache.enabled"):
        try:
            on = parse_bool(own.get(key, "false"))
        except ValueError as error:
            raise OptionError(f"the option '{key}' of the REST catalog is '{own[key]}': {error}") from None
        if on and key in _NOT_USED:
            raise UnsupportedFeature(f"opening the REST catalog: this release has no cache of files, leave '{key}' out")


def _is_secret(key: str) -> bool:
    if key in _SECRET_KEYS or key.lower().startswith(HEADER):  # such as X-Api-Key: what they hold is not known here
        return True
    return key.lower().startswith(STORAGE_PREFIXES) and any(word in key.lower() for word in ("secret", "token", "key"))


def token_storage(token: Mapping[str, str], options: RestOptions) -> Iterator[tuple[str, str]]:
    """The options of the storage with a data token on top (Java: RESTTokenFileIO)."""
    yield from {**options.storage, **split_storage_options(token)[0]}.items()
    if endpoint := options.get(DLF_OSS_ENDPOINT):
        yield "fs.oss.endpoint", endpoint
