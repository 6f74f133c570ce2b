"""Java's own REST catalog server (RESTCatalogServer, in the tests jar of paimon-core), in a process of its own.

Run as a program it starts the server, prints its address and a line for each command that it has done, and ends with
its input. The commands: ``lose`` (the next commit is done, and answered as failed), ``deny``, ``token``, and ``limit``
(the row filters and the column masks of a table, in JSON).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import jpype
from genuine_jars import JavaUnavailable, java_jar, maven_jar, paimon_jar, spark_jars

TOKEN = "java-tok-77aa01"
PREFIX = "paimon"
WAREHOUSE = "java house"
_LIBRARIES = (
    "com.squareup.okhttp3:okhttp:4.12.0",
    "com.squareup.okhttp3:mockwebserver:4.12.0",
    "com.squareup.okio:okio-jvm:3.6.0",
    "org.jetbrains.kotlin:kotlin-stdlib:1.9.10",
    "junit:junit:4.13.2",
)


class JavaRestServer:
    """A running server of Java's.

    Attributes:
        options: of a catalog on it.
    """

    def __init__(self, url: str, commands: IO[str], answers: IO[str]) -> None:
        self._commands, self._answers = commands, answers
        told = {"metastore": "rest", "uri": url, "warehouse": WAREHOUSE}
        self.options = {**told, "token.provider": "bear", "token": TOKEN}

    def do(self, *words: str) -> None:
        """One command; see the module."""
        assert self.answer(*words) == "done"

    def answer(self, *words: str) -> str:
        """What becomes of a command: "done", or what Java says against it."""
        print("\t".join(words), file=self._commands, flush=True)
        return self._answers.readline().strip()


@contextmanager
def java_rest_server(folder: Path) -> Iterator[JavaRestServer]:
    """The server, with its tables below a directory.

    Raises:
        JavaUnavailable: no Java, or a jar cannot be had here.
    """
    jars = [maven_jar("org.apache.paimon:paimon-core:2.0.0:jar:tests"), paimon_jar("2.0.0")]
    jars += [java_jar(library) for library in _LIBRARIES]
    names = [str(jar) for jar in jars] + spark_jars("hadoop-client-api", "hadoop-client-runtime", "slf4j-api")
    program = [sys.executable, __file__, str(folder), *names]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=path
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url.startswith("http"):
            raise JavaUnavailable("Java's REST server does not start")
        try:
            yield JavaRestServer(url, process.stdin, process.stdout)
        finally:
            process.stdin.close()


def _serve(folder: str, *jars: str) -> None:
    jpype.startJVM(
        "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-Duser.timezone=UTC", classpath=list(jars)
    )
    paimon = jpype.JPackage("org.apache.paimon")
    config = paimon.rest.responses.ConfigResponse(
        jpype.java.util.HashMap({"prefix": PREFIX}), jpype.java.util.HashMap()
    )
    provider = paimon.rest.auth.BearTokenAuthProvider(TOKEN)
    server = paimon.rest.RESTCatalogServer(folder, provider, config, WAREHOUSE)
    server.start()
    print(str(server.getUrl()), flush=True)
    for line in sys.stdin:
        what, *words = line.rstrip("\n").split("\t")
        if what == "lose":
            paimon.rest.RESTCatalogServer.commitSuccessThrowException = True
        elif what == "deny":
            server.addNoPermissionTable(paimon.catalog.Identifier.create(*words))
        elif what == "token":
            database, table, millis, *pairs = words
            lent = jpype.java.util.HashMap(dict(zip(pairs[::2], pairs[1::2], strict=True)))
            token = paimon.rest.RESTToken(lent, int(millis))
            server.setDataToken(paimon.catalog.Identifier.create(database, table), token)
        elif what == "limit":
            try:
                _limit(paimon, server, *words)
            except jpype.JException as error:
                print(str(error).replace("\n", " "), flush=True)
                continue
        print("done", flush=True)
    server.shutdown()


def _limit(paimon: Any, server: Any, database: str, table: str, filters: str, masks: str) -> None:
    """filters: texts of conditions in a list of JSON; masks: texts of transforms by columns in an object of JSON."""
    identifier, parse = paimon.catalog.Identifier.create(database, table), paimon.utils.JsonSerdeUtil.fromJson
    conditions = [parse(text, paimon.predicate.Predicate.class_) for text in json.loads(filters)]
    masked = {name: parse(text, paimon.predicate.Transform.class_) for name, text in json.loads(masks).items()}
    server.setRowFilterAuth(identifier, jpype.java.util.ArrayList(conditions))
    server.setColumnMaskingAuth(identifier, jpype.java.util.HashMap(masked))


if __name__ == "__main__":
    _serve(*sys.argv[1:])
