# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of a site, on the loopback addresses of this machine.

The server of the standard library is sufficient: there are few requests of one reader.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final, Protocol

from numascape.errors import NumascapeError
from numascape.view.site import Answer, refusal

LOOPBACK: Final = "127.0.0.1"
LOOPBACK_6: Final = "::1"
_SILENCE_S: Final = 60
"""Seconds after which a silent connection is closed."""
MAX_CONNECTIONS: Final = 64
"""Maximum number of simultaneous connections; each has a thread. A browser opens six."""
_TOO_MANY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


class Served(Protocol):
    """A site that can be served: that of a trace, or of a job."""

    secret: str
    policy: str

    def answer(self, target: str, headers: Mapping[str, str], hosts: frozenset[str]) -> Answer:
        """Answer a GET of `target`; `hosts` are the valid names of this server."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # With the default of 5, the kernel drops connections that come at once; they retry for seconds.
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, address: str, port: int, site: Served) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.site = site
        self.connections: set[socket.socket] = set()
        super().__init__((address, port), _Handler)
        self.hosts = frozenset(
            f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost", f"[{LOOPBACK_6}]")
        )

    def server_bind(self) -> None:
        # The base class would resolve this machine's name, which may take long.
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        if len(self.connections) >= MAX_CONNECTIONS:
            request.settimeout(0)
            with suppress(OSError):
                request.send(_TOO_MANY)
            self.shutdown_request(request)
            return
        self.connections.add(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one connection; end quietly if Polars raises Ctrl-C in this thread, too."""
        with suppress(KeyboardInterrupt):
            super().process_request_thread(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Also close the connections that readers keep open."""
        super().server_close()
        for connection in tuple(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing if a reader closed the connection; the browser shows errors."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _SILENCE_S
    server: _Server

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        if len(headers) < len(self.headers):
            self._send(refusal(HTTPStatus.BAD_REQUEST, "a header is given twice"))
        else:
            self._send(self.server.site.answer(self.path, headers, self.server.hosts))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Reject a request that is not a GET or not HTTP, with one line of text."""
        status = HTTPStatus(code)
        if status == HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self.close_connection = True
        self._send(refusal(status, status.phrase.lower()))

    def _send(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in (
            ("Content-Type", answer.kind),
            ("Content-Length", str(len(answer.content))),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", self.server.site.policy),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content)

    def log_message(self, *_: object) -> None:
        """Print nothing, because the requested addresses contain the secret."""


@contextmanager
def serving_page(site: Served, port: int = 0, *, ipv6: bool = False) -> Iterator[str]:
    """Serve `site` in the background while the context is entered; yields the page's address.

    `port` 0 uses a free port. With `ipv6`, ::1 is served, too. Raises NumascapeError if the port is
    not available.
    """
    with ExitStack() as stack:
        servers: list[_Server] = []
        for address in (LOOPBACK, LOOPBACK_6)[: 1 + ipv6]:
            if servers:
                port = servers[0].server_port
            try:
                server = stack.enter_context(_Server(address, port, site))
            except OSError as error:
                raise NumascapeError(
                    f"cannot listen on {address}, port {port}: {error.strerror}; "
                    "leave --port out for a free one"
                    if not servers
                    else f"cannot listen on {address}, port {port}: {error.strerror}; "
                    "leave --ipv6 out"
                ) from error
            servers.append(server)
        for server in servers:
            Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
            stack.callback(server.shutdown)
        yield f"http://{LOOPBACK}:{servers[0].server_port}/{site.secret}/"
