"""The server of the page: the page itself, and the facts that it asks for as JSON."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from types import FrameType
from typing import Any

import plotly
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from paimon_spark.errors import OptionError, PaimonError
from paimon_spark.ui import views
from paimon_spark.ui.source import Source

LOOPBACK = "127.0.0.1"
_TOKEN = "token"
_BAD_REQUEST, _FORBIDDEN = 400, 403
_INTERRUPTED, _GRACE_SECONDS = 130, 0.5
_PAGE = {"page.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}
_HEADERS = {
    # Plotly writes styles into the page, and compiles the functions of its WebGL charts
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "script-src 'self' 'unsafe-eval'; img-src 'self' data: blob:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _OnlyWithToken(BaseHTTPMiddleware):
    """Answers those alone who have the token: in the address once, then in a cookie."""

    def __init__(self, app: Any, token: str, cookie: str) -> None:
        super().__init__(app)
        self._token = token
        self._cookie = cookie

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        given = request.query_params.get(_TOKEN)
        if given is not None and self._fits(given):
            response: Response = RedirectResponse(request.url.path)
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        elif self._fits(request.cookies.get(self._cookie, "")):
            response = await call_next(request)
        else:
            text = "Open the address that paimon-spark ui has printed, with its token.\n"
            response = PlainTextResponse(text, _FORBIDDEN)
        response.headers.update(_HEADERS)
        return response

    def _fits(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())


def application(source: Source, token: str, cookie: str) -> Starlette:
    """The page of a source as an ASGI application. cookie: its name; cookies are those of all ports of a host."""

    def of_table(view: Callable[..., Any], *arguments: str) -> Callable[[Request], Response]:
        """Answers with a view of the table ``name``. arguments: those of the address that the view takes too."""

        def answer(request: Request) -> Response:
            place = source.place(_argument(request, "name"))
            return JSONResponse(view(place, *(_argument(request, name) for name in arguments)))

        return answer

    def sources(request: Request) -> Response:
        return JSONResponse({"title": source.title, "tables": source.tables()})

    def compaction(request: Request) -> Response:
        place = source.place(_argument(request, "name"))
        return JSONResponse(views.compaction(place, _argument(request, "full") == "true"))

    routes = [
        Route("/", _file("page.html")),
        *(Route(f"/{name}", _file(name)) for name in _PAGE),
        Route("/plotly.js", _plotly),
        Route("/api/tables", sources),
        Route("/api/summary", of_table(views.summary)),
        Route("/api/overview", of_table(views.overview)),
        Route("/api/history", of_table(views.history)),
        Route("/api/files", of_table(views.files)),
        Route("/api/partitions", of_table(views.partitions)),
        Route("/api/compaction", compaction),
        Route("/api/changes", of_table(views.changes, "before", "after")),
    ]
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"]),  # no name of another's DNS
        Middleware(_OnlyWithToken, token=token, cookie=cookie),
    ]
    return Starlette(routes=routes, middleware=middleware, exception_handlers={PaimonError: _refuse})


def _argument(request: Request, name: str) -> str:
    found = request.query_params.get(name)
    if found is None:
        raise OptionError(f"the address {request.url.path} lacks the argument '{name}'")
    return found


async def _refuse(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": " ".join(str(error).split())}, _BAD_REQUEST)


def _file(name: str) -> Callable[[Request], Response]:
    content = (files("paimon_spark.ui") / name).read_bytes()
    return lambda request: Response(content, media_type=_PAGE[name])


def _plotly(request: Request) -> Response:
    """Plotly's release for browsers, which its Python package has."""
    return FileResponse(str(files(plotly) / "package_data" / "plotly.min.js"), media_type="text/javascript")


class _Server(uvicorn.Server):
    """Ends at the first signal, without its answers: they are reads, which may take as long as a store takes."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.force_exit = True
        logging.getLogger("uvicorn.error").disabled = True  # it would show where each answer was cut off

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        with suppress(TimeoutError):  # from Python 3.12 on a closed server waits for its connections
            await asyncio.wait_for(super().shutdown(sockets), _GRACE_SECONDS)


def _end_without_reads() -> None:
    """Ends the process soon after its main thread, which else waits for the threads that still read."""
    threading.main_thread().join()
    time.sleep(_GRACE_SECONDS)
    os._exit(_INTERRUPTED)


def serve(source: Source, port: int, opened: Callable[[str], None]) -> None:
    """Serves the page until the process gets SIGINT or SIGTERM.

    Args:
        source: what the page shows.
        port: of the loopback; 0: any free one.
        opened: is called once with the address, when the server listens.

    Raises:
        OptionError: another process has the port.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError as error:
            raise OptionError(f"--port {port}: {error.strerror}; take another one, or 0 for any") from None
        listener.listen()
        chosen, token = listener.getsockname()[1], secrets.token_urlsafe(16)
        app = application(source, token, f"paimon_ui_{chosen}")
        server = _Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        opened(f"http://{LOOPBACK}:{chosen}/?{_TOKEN}={token}")
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            threading.Thread(target=_end_without_reads, daemon=True).start()
            raise
