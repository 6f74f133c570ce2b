"""Opens connections to a metastore: plain or TLS, with Kerberos or without (Java: Hive's HiveMetaStoreClient.open)."""

from __future__ import annotations

import getpass
import hashlib
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport, TSaslClientTransport, TTransportException

from paimon_spark.catalogs.hive.security import KEYTAB, LOGIN, TRUSTSTORE, TRUSTSTORE_PASSWORD, HiveSecurity
from paimon_spark.errors import CatalogUnavailable, OptionError, UnsupportedFeature

_JKS = b"\xfe\xed\xfe\xed"
_PEM = b"-----BEGIN "
_LONGEST_MESSAGE = 0xFFFFFF  # of RFC 4752: three bytes
_LAYERS = (4, 2, 1)  # of RFC 4752: private, unchanged, neither


def open_transport(host: str, port: int, timeout: int, security: HiveSecurity) -> Any:
    """An open connection.

    Args:
        host: of the metastore, as 'uri' has it.
        port: of its Thrift service.
        timeout: milliseconds after which an answer is given up.
        security: what protects it.

    Returns:
        A transport of Thrift.

    Raises:
        TTransportException, OSError: the server does not answer, or its certificate is not trusted.
        CatalogUnavailable: there is no ticket of Kerberos, or the server does not take it.
        OptionError: the file of certificates cannot be read.
    """
    socket = TSSLSocket(host, port, ssl_context=_trust(security)) if security.is_encrypted else TSocket(host, port)
    socket.setTimeout(timeout)
    if security.server is not None:
        transport = _with_kerberos(socket, host, security)
    else:
        transport = TFramedTransport(socket) if security.is_framed else TBufferedTransport(socket)
    try:
        transport.open()
    except BaseException:
        if transport.isOpen():
            transport.close()
        raise
    return transport


def protocol_of(transport: Any, security: HiveSecurity) -> Any:
    """How calls are written into a transport."""
    made = TCompactProtocolAccelerated if security.is_compact else TBinaryProtocolAccelerated
    return made(transport)


def user_of(security: HiveSecurity) -> str:
    """Who asks, as Hadoop says it (Java: UserGroupInformation.getShortUserName)."""
    if security.server is None:
        return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    principal = security.login
    if principal is None:
        with _login_failures(security):
            principal = str(_gssapi().Credentials(usage="initiate").name)
    return principal.partition("@")[0].partition("/")[0]


def _trust(security: HiveSecurity) -> ssl.SSLContext:
    """The certificates that may sign that of the server, whose name must be the host of 'uri'."""
    if security.truststore is None:
        return ssl.create_default_context()
    path = Path(security.truststore.removeprefix("file://").removeprefix("file:"))
    try:
        return ssl.create_default_context(cadata=_certificates(path, security.password))
    except (OSError, ValueError) as error:
        raise OptionError(
            f"reading the certificates of the hive catalog: '{TRUSTSTORE}' names {path}, which is no file of "
            f"certificates in PEM or PKCS 12 that can be read with '{TRUSTSTORE_PASSWORD}' ({error}); see to both"
        ) from None


def _certificates(path: Path, password: str | None) -> str:
    """As PEM."""
    content = path.read_bytes()
    if content.startswith(_JKS):
        raise UnsupportedFeature(
            f"reading the certificates of the hive catalog: {path} is a key store of Java's own format; convert it "
            f"with keytool -importkeystore -srckeystore {path} -destkeystore trust.p12 -deststoretype PKCS12, and name "
            f"the new file as '{TRUSTSTORE}'"
        )
    if _PEM in content:
        return content.decode("ascii", "ignore")
    try:
        serialization = import_module("cryptography.hazmat.primitives.serialization")
        pkcs12 = import_module(f"{serialization.__name__}.pkcs12")
    except ImportError:
        raise UnsupportedFeature(
            f"reading the certificates of the hive catalog: {path} is a PKCS 12 file, and the package cryptography is "
            "not installed; install it, or export the certificates as PEM"
        ) from None
    store = pkcs12.load_pkcs12(content, None if password is None else password.encode())
    found = [*([store.cert] if store.cert else []), *store.additional_certs]
    return "".join(one.certificate.public_bytes(serialization.Encoding.PEM).decode() for one in found)


def _gssapi() -> Any:
    try:
        import_module("puresasl.client")  # Thrift needs it
        return import_module("gssapi")
    except ImportError as error:
        raise UnsupportedFeature(
            f"logging in to the Hive metastore by Kerberos needs packages that do not load ({error}); install "
            "paimon-spark[kerberos], for which Linux needs the headers of Kerberos (Debian, Ubuntu: libkrb5-dev)"
        ) from None


@contextmanager
def _login_failures(security: HiveSecurity) -> Iterator[None]:
    """Tells in one sentence why a login by Kerberos has failed."""
    gssapi = _gssapi()
    try:
        yield
    except gssapi.exceptions.GSSError as error:
        whose = (
            f"as {security.login} with the keys in {security.keytab}" if security.login else "with the user's ticket"
        )
        raise CatalogUnavailable(
            f"logging in to the Hive metastore {security.server} by Kerberos {whose} has failed: "
            f"{' '.join(str(error).split())}; run kinit, or give '{LOGIN}' and '{KEYTAB}', and see that the server's "
            "principal is right"
        ) from None


def _with_kerberos(socket: Any, host: str, security: HiveSecurity) -> Any:
    transport = _SaslTransport(socket, host, "hive", "ANONYMOUS")  # the mechanism is replaced: pure-sasl has no GSSAPI
    transport.sasl = _Login(host, security)
    return transport


class _SaslTransport(TSaslClientTransport):  # type: ignore[misc] # thrift has no types
    """Thrift over SASL, where what fails within Kerberos is told as a failed login."""

    def open(self) -> None:
        with _login_failures(self.sasl.security):
            super().open()


class _Login:
    """The mechanism GSSAPI of SASL with Kerberos (RFC 4752), as TSaslClientTransport asks for one."""

    mechanism = "GSSAPI"

    def __init__(self, host: str, security: HiveSecurity) -> None:
        """Starts nothing. host: in place of _HOST in the principal of the server."""
        self.security = security
        self.complete = False
        self._host = host
        self._layer = 1
        self._context: Any = None

    def process(self, challenge: bytes | None = None) -> bytes:
        """Answers the server."""
        if self._context is None:
            self._context = _context(self._host, self.security)
        if not self._context.complete:
            return self._context.step(challenge) or b""
        return self._choose_layer(challenge or b"")

    def _choose_layer(self, challenge: bytes) -> bytes:
        """The strongest layer of those that the server offers."""
        offered = self._context.unwrap(challenge).message
        layers = [layer for layer in _LAYERS if offered[:1] and offered[0] & layer]
        if len(offered) != 4 or not layers:
            raise TTransportException(message="it offers no security layer of SASL that RFC 4752 has")
        self._layer = layers[0]
        longest = _LONGEST_MESSAGE if self._layer > 1 else 0
        answer = bytes([self._layer]) + longest.to_bytes(3, "big")
        self.complete = True
        return bytes(self._context.wrap(answer, False).message)

    def wrap(self, message: bytes) -> bytes:
        """A message as it is sent."""
        return message if self._layer == 1 else bytes(self._context.wrap(message, self._layer == 4).message)

    def unwrap(self, message: bytes) -> bytes:
        """A message that was received. Raises TTransportException if it was changed on the way."""
        if self._layer == 1:
            return message
        try:
            return bytes(self._context.unwrap(message).message)
        except _gssapi().exceptions.GSSError as error:
            raise TTransportException(message=f"a message does not decrypt: {error}") from None

    def dispose(self) -> None:
        """Forgets the keys."""
        self._context = None


def _context(host: str, security: HiveSecurity) -> Any:
    """A new exchange with the server."""
    gssapi = _gssapi()
    principal = str(security.server).replace("_HOST", host.lower())
    flag = gssapi.RequirementFlag
    return gssapi.SecurityContext(
        name=gssapi.Name(principal, gssapi.NameType.kerberos_principal),
        creds=_credentials(security.login, security.keytab),
        usage="initiate",
        mech=gssapi.MechType.kerberos,
        flags=flag.mutual_authentication | flag.integrity | flag.confidentiality | flag.out_of_sequence_detection,
    )


def _credentials(login: str | None, keytab: str | None) -> Any:
    """Tickets got with a keytab, kept in the memory of the process and renewed by the library; None: the user's own."""
    if login is None or keytab is None:
        return None
    gssapi = _gssapi()
    return gssapi.Credentials(
        name=gssapi.Name(login, gssapi.NameType.kerberos_principal),
        usage="initiate",
        store={"client_keytab": keytab, "ccache": _own_cache(login, keytab)},
    )


@lru_cache(maxsize=64)
def _own_cache(login: str, keytab: str) -> str:
    """The name of a cache of tickets in memory, one for each login."""
    return f"MEMORY:paimon_{hashlib.sha256(f'{login} {keytab}'.encode()).hexdigest()[:16]}"
