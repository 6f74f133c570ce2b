"""PostgreSQL and MariaDB as servers of their own, on a free port, with their data in a directory of the test.

Their programs are those of Debian: postgresql, and mariadb-server-core with mariadb-client-core.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tenacity import Retrying, stop_after_delay, wait_fixed

USER, PASSWORD = "paimon", "hush-hush 'secret'"


@dataclass(frozen=True)
class Server:
    """A server that runs.

    Attributes:
        kind: postgresql or mysql.
        port: of localhost.
        process: of the server.
    """

    kind: str
    port: int
    process: subprocess.Popen[bytes]

    @property
    def options(self) -> dict[str, str]:
        """The options of a catalog in its database, but for the warehouse."""
        return {
            "metastore": "jdbc",
            "uri": f"jdbc:{self.kind}://localhost:{self.port}/lake",
            "jdbc.user": USER,
            "jdbc.password": PASSWORD,
        }


def postgres_programs() -> Path | None:
    """The directory of the newest installed PostgreSQL; None: there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def mariadb_program() -> str | None:
    return shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")


@contextmanager
def database_server(kind: str) -> Iterator[Server]:
    """A server of a kind, postgresql or mysql; the test is skipped if its program is not installed."""
    if kind == "postgresql":
        programs = postgres_programs()
        if programs is None:
            pytest.skip("the Debian package postgresql is not installed")
        with postgres(programs) as server:
            yield server
    else:
        program = mariadb_program()
        if program is None:
            pytest.skip("the Debian packages mariadb-server-core and mariadb-client-core are not installed")
        with mariadb(program) as server:
            yield server


@contextmanager
def postgres(programs: Path) -> Iterator[Server]:
    """A PostgreSQL with an empty database ``lake``."""
    with _data_directory("postgres") as data:
        as_user = _unprivileged("postgres")
        secret = data.parent / "password"
        secret.write_text(PASSWORD)
        _hand_over(data.parent, "postgres")
        initial = ["-D", str(data), "-U", USER, f"--pwfile={secret}", "-A", "scram-sha-256", "-E", "UTF8", "--no-sync"]
        subprocess.run([*as_user, str(programs / "initdb"), *initial], check=True, capture_output=True)
        port = _free_port()
        settings = [f"port={port}", "listen_addresses=localhost", f"unix_socket_directories={data}", "fsync=off"]
        settings.append("max_connections=1000")  # Java's catalogs keep theirs for as long as their process lives
        command = [*as_user, str(programs / "postgres"), "-D", str(data)]
        for setting in settings:
            command += ["-c", setting]
        with _running(command, "postgresql", port) as server:
            import pg8000.dbapi

            def create() -> None:
                connection = pg8000.dbapi.connect(
                    USER, host="localhost", port=port, password=PASSWORD, database="postgres"
                )
                connection.autocommit = True
                connection.cursor().execute("CREATE DATABASE lake")
                connection.close()

            _until_it_works(create)
            yield server


@contextmanager
def mariadb(program: str) -> Iterator[Server]:
    """A MariaDB with an empty database ``lake``, in a character set in which the keys of Java's tables fit."""
    with _data_directory("mariadb") as data:
        data.mkdir()
        port, plain = _free_port(), PASSWORD.replace("'", "''")
        begin = data.parent / "begin.sql"
        install = shutil.which("mariadb-install-db") or str(Path(program).parents[1] / "bin" / "mariadb-install-db")
        base = str(Path(program).parents[1])
        user = ["--user=root"] if os.getuid() == 0 else []
        made = ["--no-defaults", f"--datadir={data}", f"--basedir={base}", "--auth-root-authentication-method=normal"]
        subprocess.run([install, *made, "--skip-test-db", *user], check=True, capture_output=True)
        begin.write_text(
            "CREATE DATABASE lake CHARACTER SET utf8mb3;\n"
            f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{plain}';\n"
            f"GRANT ALL ON lake.* TO '{USER}'@'%';\nCREATE USER '{USER}'@'localhost' IDENTIFIED BY '{plain}';\n"
            f"GRANT ALL ON lake.* TO '{USER}'@'localhost';\n"
        )
        command = [program, "--no-defaults", f"--datadir={data}", f"--port={port}", "--bind-address=127.0.0.1", *user]
        command += [f"--socket={data}/s", f"--init-file={begin}", f"--lc-messages-dir={base}/share/mysql"]
        command.append("--max-connections=1000")  # as for PostgreSQL
        with _running([*command, "--innodb-flush-log-at-trx-commit=0"], "mysql", port) as server:
            import pymysql

            _until_it_works(
                lambda: pymysql.connect(
                    host="127.0.0.1", port=port, user=USER, password=PASSWORD, database="lake"
                ).close()
            )
            yield server


@contextmanager
def _running(command: Sequence[str], kind: str, port: int) -> Iterator[Server]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield Server(kind, port, process)
    finally:
        process.send_signal(signal.SIGINT if kind == "postgresql" else signal.SIGTERM)  # it waits for no connection
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until_it_works(work: object) -> None:
    Retrying(stop=stop_after_delay(60), wait=wait_fixed(0.1), reraise=True)(work)  # type: ignore[arg-type]


@contextmanager
def _data_directory(name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=f"paimon-{name}-") as place:
        os.chmod(place, 0o755)
        yield Path(place) / "data"


def _unprivileged(user: str) -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if os.getuid() == 0 else []


def _hand_over(place: Path, user: str) -> None:
    if os.getuid() == 0:
        shutil.chown(place, user, user)
        for path in place.iterdir():
            shutil.chown(path, user, user)


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("localhost", 0))
        port: int = made.getsockname()[1]
        return port
