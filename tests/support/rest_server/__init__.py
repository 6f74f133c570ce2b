"""A small REST catalog server for tests, which keeps the protocol of Java's RESTCatalogServer (release 2.0.0).

It needs no JVM, and requests to it can fail on purpose. That it keeps the protocol is proven by the genuine Java
client, which works against it in ``tests/interop/test_rest_like_java.py``, in turns with ours; and ours works against
Java's own server in ``tests/interop/test_rest_of_java.py``. Tables are files of a warehouse; what is
beside them (databases, views, functions, the latest snapshots) is in memory.
"""

from support.rest_server.faults import Fault, When
from support.rest_server.server import RestServer, rest_server

__all__ = ["Fault", "RestServer", "When", "rest_server"]
