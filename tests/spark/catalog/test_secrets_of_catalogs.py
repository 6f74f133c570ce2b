"""No catalog shows a secret: not in texts of objects, errors, logs, plans, answers of statements, progress, or files.

A program uses each catalog in a Spark session of its own, with all loggers at DEBUG, and keeps all that is shown. Every
secret begins alike, so one search finds them. What tasks and other processes of Spark are sent is looked at too: it
has only what docs/guides/catalogs.md names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from support.paths import ROOT
from support.programs.database_servers import database_server, mariadb_program
from support.programs.hive_metastore import NoMetastore, hive_metastore
from support.programs.s3_server import s3_server
from support.rest_server import Fault, RestServer, rest_server
from support.shares import some_of

pytestmark = pytest.mark.spark

SECRET = re.compile(rb"hush-[\w-]*")
S3_SECRETS = {"s3.secret-key": "hush-s3-key", "s3.session-token": "hush-s3-session"}
_S3 = frozenset(S3_SECRETS.values())
TRAVELS: Mapping[str, frozenset[str]] = {
    "filesystem": _S3,
    "postgresql": _S3,
    "mysql": _S3,
    "hive": _S3,
    "bearer": frozenset({"hush-token", "hush-header", "hush-s3-key"}),
    "dlf": frozenset({"hush-dlf-key", "hush-dlf-session"}),
}
"""What other processes of Spark are sent, as they read and write: no password of a database, nothing that was lent."""
KINDS = tuple(kind for kind in TRAVELS if kind != "mysql" or mariadb_program())
RECORDER = """
import os, pickle
place = os.environ.get("RECORDED_PICKLES")
if place:
    from pyspark import cloudpickle

    def recorded(dumps):
        def recording(*args, **named):
            data = dumps(*args, **named)
            with open(f"{place}/{os.getpid()}", "ab") as file:
                file.write(data)
            return data
        return recording

    cloudpickle.dumps, pickle.dumps = recorded(cloudpickle.dumps), recorded(pickle.dumps)
"""


@dataclass
class Used:
    """A catalog that works, and those that do not.

    Attributes:
        options: of the first.
        wrong: what is different in the others.
        files: what its storage has, by path.
    """

    options: dict[str, str]
    wrong: list[dict[str, str]] = field(default_factory=list)
    files: Callable[[], Mapping[str, bytes]] = dict

    def told(self) -> dict[str, Any]:
        """For the program."""
        return {"options": self.options, "wrong": [{**self.options, **more} for more in self.wrong]}


def objects(options: Mapping[str, str]) -> dict[str, bytes]:
    """What the store has."""
    client = boto3.client(
        "s3",
        endpoint_url=options["s3.endpoint"],
        aws_access_key_id=options["s3.access-key"],
        aws_secret_access_key="any",
        region_name="us-east-1",
    )
    pages = client.get_paginator("list_objects_v2").paginate(Bucket="lake")
    keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
    return {key: client.get_object(Bucket="lake", Key=key)["Body"].read() for key in keys}


def files_below(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@contextmanager
def used(kind: str, place: Path, s3: dict[str, str]) -> Iterator[Used]:
    """A catalog of a kind.

    Raises:
        NoMetastore: Hive's cannot be started here.
    """
    common = {"catalog-options-table.enabled": "true", "cache-enabled": "false"}
    with ExitStack() as running:
        match kind:
            case "filesystem":
                wrong = [{"warehouse": "s3://nobody/lake"}, {"secret-key": "hush-typo"}]
                yield Used({"warehouse": "s3://lake/files", **s3, **common}, wrong, lambda: objects(s3))
            case "postgresql" | "mysql":
                server = running.enter_context(database_server(kind))
                down = server.options["uri"].replace(str(server.port), "1")
                host = f"localhost:{server.port}/lake"
                wrong = [
                    {"jdbc.password": "hush-wrong"},
                    {"uri": down},
                    {"uri": f"{down}?user=me&password=hush-in-uri", "jdbc.user": "me"},
                    {"uri": f"{kind}://me:hush-in-url@{host}", "jdbc.password": "hush-wrong"},
                    {"uri": "jdbc:postgresql://hush-user:hush-no-port@x:y:z"},
                    {"jdbc.nothing": "hush-property"},
                    {"jdbc.sslmode": "hush-mode"},
                ]
                yield Used(
                    {**server.options, "warehouse": f"s3://lake/{kind}", **s3, **common}, wrong, lambda: objects(s3)
                )
            case "hive":
                uri = running.enter_context(hive_metastore()).uri
                made = {"metastore": "hive", "uri": uri, "warehouse": "s3://lake/hive", **s3, **common}
                wrong = [{"uri": "thrift://localhost:1"}, {"warehouse": "s3://nobody/lake"}]
                yield Used({**made, "location-in-properties": "true"}, wrong, lambda: objects(s3))
            case _:
                place.mkdir()
                yield of_server(kind, running.enter_context(rest_server(place)), place)


def of_server(kind: str, server: RestServer, place: Path) -> Used:
    """A catalog of a REST server that repeats a secret in an error."""
    options = {key: text for key, text in server.options.items() if not key.startswith("token")}
    wrong = [{"uri": "http://127.0.0.1:1"}, {"uri": f"http://me:hush-in-uri@{server.url.removeprefix('http://')}x"}]

    def files() -> dict[str, bytes]:
        return files_below(place)

    if kind == "bearer":
        server.allows = lambda method, path, query, body, headers: headers["authorization"] == "Bearer hush-token"
        server.faults += [Fault("tables/nothing", status=403, message="hush-token has no right") for _ in range(2)]
        bearer = {"token.provider": "bear", "token": "hush-token", "header.X-Api-Key": "hush-header"}
        wrong += [{"token": "hush-wrong"}, {"token": "hush-line\n"}, {"token.provider": "none"}]
        return Used({**options, **bearer, "s3.secret-key": "hush-s3-key"}, wrong, files)
    server.allows = lambda method, path, query, body, headers: "Credential=me/" in headers["authorization"]
    server.config["defaults"]["data-token.enabled"] = "true"
    server.state.tokens = lambda name: {"token": {"s3.secret-key": "hush-lent"}, "expiresAtMillis": 2**52}
    signed = {"token.provider": "dlf", "dlf.access-key-id": "me", "dlf.region": "r"}
    secrets = {"dlf.access-key-secret": "hush-dlf-key", "dlf.security-token": "hush-dlf-session"}
    wrong += [{"dlf.access-key-id": "you"}, {"dlf.signing-algorithm": "none"}]
    return Used({**options, **signed, **secrets}, wrong, files)


@dataclass(frozen=True)
class Life:
    """What the program has left.

    Attributes:
        shown: all texts and files, by name, but for what was pickled.
        pickled: what was, by any process.
    """

    kind: str
    shown: Mapping[str, bytes]
    pickled: bytes


@pytest.fixture(scope="module", params=some_of(KINDS, 1))
def life(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """One catalog of each kind. Its storage is S3, except for those of REST servers, whose is here."""
    kind, place = str(request.param), tmp_path_factory.mktemp("life")
    with ExitStack() as running:
        s3 = {**running.enter_context(s3_server("lake")), **S3_SECRETS}
        try:
            catalog = running.enter_context(used(kind, place / "lake", s3))
        except NoMetastore as reason:
            pytest.skip(str(reason))
        shown, pickled = run(place, {kind: catalog.told()})
        yield Life(kind, {**shown, **catalog.files()}, pickled)


def run(place: Path, catalogs: Mapping[str, Any]) -> tuple[Mapping[str, bytes], bytes]:
    """(what the program leaves and prints, what was pickled)"""
    left, recorder, pickles = (place / name for name in ("left", "recorder", "pickles"))
    for made in (left, recorder, pickles):
        made.mkdir()
    (recorder / "sitecustomize.py").write_text(RECORDER)
    paths = [str(recorder), str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "RECORDED_PICKLES": str(pickles)}
    environment |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    program = [sys.executable, str(ROOT / "tests/support/programs/secret_life.py"), str(left)]
    told = json.dumps(catalogs).encode()
    done = subprocess.run(program, check=False, input=told, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr[-3000:].decode()
    return {**files_below(left), "printed": done.stdout + done.stderr}, b"".join(files_below(pickles).values())


def secrets_in(data: bytes) -> set[str]:
    return {found.decode() for found in SECRET.findall(data)}


def test_no_catalog_shows_a_secret(life: Life) -> None:
    assert len(life.shown["spark.log"]) > 100_000, "it is a log at DEBUG"
    assert {name for name in life.shown if name.startswith("events/")}
    assert b"Traceback" in life.shown[f"{life.kind}.txt"], "errors are shown"
    told = {name: found for name, data in life.shown.items() if (found := secrets_in(data))}
    assert told == {}


def test_what_processes_of_spark_are_sent(life: Life) -> None:
    assert secrets_in(life.pickled) == TRAVELS[life.kind]
