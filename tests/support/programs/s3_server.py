"""An S3 server of this process, for tests: moto behind one lock, for its own conditional put is not atomic."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@contextmanager
def s3_server(bucket: str) -> Iterator[dict[str, str]]:
    """Serves an empty bucket; yields the storage options that reach it."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = _one_at_a_time(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        options = {
            "s3.endpoint": f"http://127.0.0.1:{server.server_port}",
            "s3.access-key": "access",
            "s3.secret-key": "secret",
            "s3.region": "us-east-1",
        }
        client = boto3.client(
            "s3",
            endpoint_url=options["s3.endpoint"],
            aws_access_key_id=options["s3.access-key"],
            aws_secret_access_key=options["s3.secret-key"],
            region_name=options["s3.region"],
        )
        with urlopen(Request(f"{options['s3.endpoint']}/moto-api/reset", method="POST")):
            pass  # moto keeps its buckets in the process, also those of a server that is gone
        client.create_bucket(Bucket=bucket)
        yield options
    finally:
        server.shutdown()
        thread.join()


@contextmanager
def s3_that_says(status: str, answer: str) -> Iterator[dict[str, str]]:
    """A server that has one answer to every request; yields the options that reach it."""

    def serve(environment: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
        start_response(status, [("ETag", '"1"'), ("Content-Length", str(len(answer)))])
        return [answer.encode()]

    server = make_server("127.0.0.1", 0, serve, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {"s3.endpoint": f"http://127.0.0.1:{server.server_port}", "s3.access-key": "a", "s3.secret-key": "b"}
    finally:
        server.shutdown()
        thread.join()


def _one_at_a_time(application: Application) -> Application:
    lock = threading.Lock()

    def serve(environment: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with lock:
            return list(application(environment, start_response))

    return serve
