"""Who gets an answer from the server of the page, and which."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest


def get(address: str, path: str, method: str = "GET", **headers: str) -> tuple[int, str, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers


@pytest.fixture(scope="module")
def cookie(address: str) -> str:
    """What the browser keeps after it has opened the address."""
    parts = urlsplit(address)
    status, _, headers = get(address, f"/?{parts.query}")
    assert (status, headers["Location"]) == (307, "/"), "the token does not stay in the history of the browser"
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    return cookie.split(";")[0]


@pytest.mark.parametrize("path", ["/", "/plotly.js", "/api/tables", "/api/changes?name=shop.orders&before=0&after=1"])
def test_nobody_without_the_token_gets_an_answer(address: str, cookie: str, path: str) -> None:
    assert get(address, path)[0] == 403
    assert get(address, f"{path}{'&' if '?' in path else '?'}token=other")[0] == 403
    assert get(address, path, Cookie=cookie[:-1] + ("a" if cookie[-1] != "a" else "b"))[0] == 403
    assert get(address, path, Cookie=cookie)[0] == 200


def test_a_page_of_another_host_gets_no_answer(address: str, cookie: str) -> None:
    """A name of another's DNS may lead to the loopback."""
    assert get(address, "/api/tables", Cookie=cookie, Host="evil.example")[0] == 400
    policy = get(address, "/", Cookie=cookie)[2]["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert policy.startswith("default-src 'self'")


def test_nothing_but_reads(address: str, cookie: str) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert get(address, "/api/tables", method, Cookie=cookie)[0] == 405


def test_facts_come_as_json(address: str, cookie: str, lake: Path) -> None:
    status, text, _ = get(address, "/api/tables", Cookie=cookie)
    assert status == 200
    assert json.loads(text) == {"title": str(lake), "tables": {"shop": ["clicks", "many", "nothing", "orders"]}}
    text = get(address, "/api/compaction?name=shop.orders&full=true", Cookie=cookie)[1]
    assert json.loads(text)["tasks"] > 0


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/overview?name=shop.other", "shop.db/other"),
        ("/api/overview?name=shop...%2F..%2Fetc", "etc"),
        ("/api/overview", "the address /api/overview lacks the argument 'name'"),
        ("/api/changes?name=shop.orders&before=9&after=1", "9"),
    ],
)
def test_what_is_wrong_is_one_sentence(address: str, cookie: str, path: str, message: str) -> None:
    status, text, _ = get(address, path, Cookie=cookie)
    assert status == 400
    error = json.loads(text)["error"]
    assert message in error
    assert "\n" not in error


def test_nothing_is_written(address: str, cookie: str, lake: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*")}
    for view in ("summary", "overview", "history", "files", "partitions", "compaction", "changes"):
        path = f"/api/{view}?name=shop.orders&full=true&before=1&after=6"
        assert get(address, path, Cookie=cookie)[0] == 200
    assert {path: path.stat().st_mtime_ns for path in lake.rglob("*")} == before


def run(*arguments: str, program: str = "from paimon_spark.cli.program import main; main()") -> tuple[int, str]:
    command = [sys.executable, "-c", program, "ui", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, " ".join(done.stderr.split())


def test_a_port_that_is_taken(lake: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, message = run(str(lake), "--port", port)
    assert code == 2
    assert f"--port {port}: Address already in use; take another one, or 0 for any" in message


def test_what_is_missing(lake: Path, tmp_path: Path) -> None:
    without = "import sys; sys.modules['uvicorn'] = None; from paimon_spark.cli.program import main; main()"
    code, message = run(str(lake), program=without)
    assert (code, message.partition("ui: ")[2]) == (
        2,
        "ui needs plotly, starlette, uvicorn: run pip install 'paimon-spark[ui]'",
    )
    code, message = run(str(tmp_path))
    assert code == 2
    assert "neither a table nor a database" in message
    code, message = run()
    assert code == 2
    assert "PATH" in message


def test_it_ends_at_once_while_a_catalog_does_not_answer() -> None:
    """A server that tells its databases, and then keeps all who ask for tables waiting."""
    asked, ended = threading.Event(), threading.Event()

    class Silent(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place = self.path.partition("?")[0]
            if place.endswith("/tables"):
                asked.set()
                ended.wait()
            known = {"/v1/config": {"defaults": {"prefix": "p"}}, "/v1/p/databases": {"databases": ["d"]}}
            text = json.dumps(known.get(place, {})).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    catalog = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    threading.Thread(target=catalog.serve_forever, daemon=True).start()
    options = {"metastore": "rest", "uri": f"http://127.0.0.1:{catalog.server_port}", "warehouse": "w"}
    options |= {"token.provider": "bear", "token": "x"}
    given = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    command = [sys.executable, "-m", "paimon_spark", "ui", *given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            parts = urlsplit(process.stdout.readline().strip())
            _, _, headers = get(parts.geturl(), f"/?{parts.query}")
            waiting = http.client.HTTPConnection(parts.netloc)
            waiting.request("GET", "/api/tables", headers={"Cookie": headers["Set-Cookie"].split(";")[0]})
            assert asked.wait(30)
            process.send_signal(2)
            _, messages = process.communicate(timeout=10)
            assert process.returncode == 130, messages
            assert messages.splitlines()[1:] == ["paimon-spark ui: stopped; nothing was changed"]
        finally:
            process.kill()
            ended.set()
            catalog.shutdown()
            catalog.server_close()
