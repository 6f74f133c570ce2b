"""A realm of Kerberos with a key distribution centre (KDC) of MIT's, in a folder of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SYSTEM = ("/usr/sbin", "/usr/local/sbin")
_PROGRAMS = ("krb5kdc", "kadmin.local", "kdb5_util", "kinit")


class NoKerberos(Exception):
    """It cannot be started here; the text is the reason to skip."""


@contextmanager
def kerberos_realm() -> Iterator[Any]:
    """A realm that runs; a ``k5test.K5Realm``. The user has no ticket.

    Raises:
        NoKerberos: programs or packages are missing.
    """
    before = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join((before, *_SYSTEM))  # Debian's users do not look there
    try:
        missing = [name for name in _PROGRAMS if shutil.which(name) is None]
        missing += [name for name in ("gssapi", "puresasl", "k5test") if importlib.util.find_spec(name) is None]
        if missing:
            raise NoKerberos(f"{', '.join(missing)} missing (Debian: krb5-kdc, krb5-admin-server, krb5-user; k5test)")
        import k5test

        made = k5test.K5Realm(portbase=_free_port(), get_creds=False)
    finally:
        os.environ["PATH"] = before
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(made.tmpdir, ignore_errors=True)


def keytab_of(realm: Any, principal: str) -> Path:
    """Makes a principal with a random key. Returns: the file of the key."""
    path = Path(realm.tmpdir) / principal.replace("/", "_")
    realm.addprinc(principal)
    realm.extract_keytab(principal, str(path))
    return path


def _free_port() -> int:
    """The first of several free ones: the KDC takes it, administration the next ones."""
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        return int(taken.getsockname()[1])
