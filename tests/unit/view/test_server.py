# SPDX-License-Identifier: Apache-2.0
"""The server of the report answers only its own reader, and refuses others with one line."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from numascape.trace import Trace
from numascape.view.open import shown_in_browser, site_of
from numascape.view.server import MAX_CONNECTIONS, serving_page
from numascape.view.site import Site

Numascape = Callable[..., tuple[int, str, str]]


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def line(self) -> str:
        return self.content.decode()


@dataclass
class Served:
    address: str

    @property
    def path(self) -> str:
        return urlsplit(self.address).path

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    def ask(self, path: str | None = None, method: str = "GET", **headers: str) -> Reply:
        connection = http.client.HTTPConnection(self.host, timeout=120)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, self.path if path is None else path, headers=named)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return Reply(response.status, dict(response.getheaders()), content)

    def detail(self, query: str) -> Reply:
        return self.ask(f"{self.path}detail?{query}")


@pytest.fixture(scope="module")
def site(small_trace: Path) -> Site:
    return site_of(Trace.read(small_trace))


@pytest.fixture
def served(site: Site) -> Iterator[Served]:
    with serving_page(site) as address:
        yield Served(address)


def test_the_page_is_the_report(served: Served) -> None:
    reply = served.ask()
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"<title>sum \xc2\xb7 Numascape</title>" in reply.content
    assert b"default-src 'none'; connect-src 'self';" in reply.content


def test_answers_are_not_kept_and_load_nothing_else(served: Served) -> None:
    for reply in (served.ask(), served.detail(""), served.ask("/"), served.ask(method="PUT")):
        assert reply.headers["Cache-Control"] == "no-store"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        policy = reply.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; connect-src 'self'; script-src 'sha256-")
        assert policy.endswith("frame-ancestors 'none'")
        assert not any("access-control" in name.lower() for name in reply.headers)
        assert "Server" not in reply.headers


def test_only_the_secret_opens(served: Served) -> None:
    secret = served.path.strip("/")
    assert len(secret) >= 32
    wrong = ("/", "/detail", f"/{secret[:-1]}/", f"/{secret}x/", "/%20/", "/%C3%BC/")
    for path in wrong:
        reply = served.ask(path)
        assert (reply.status, reply.line) == (
            403,
            "not allowed: open the address that numascape view printed\n",
        )
    assert served.ask(f"/{secret}").status == 404
    assert served.ask(f"/{secret}/../etc/passwd").status == 404


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Host", "rebound.example"),
        ("Host", "rebound.example:{port}"),
        ("Host", "127.0.0.1"),
        ("Host", "127.0.0.1:1"),
        ("Host", ""),
        ("Origin", "https://elsewhere.example"),
        ("Origin", "http://127.0.0.1"),
        ("Origin", "null"),
        ("Sec_Fetch_Site", "cross-site"),
        ("Sec_Fetch_Site", "same-site"),
    ],
)
def test_foreign_pages_and_names_are_refused(served: Served, name: str, value: str) -> None:
    port = served.host.rpartition(":")[2]
    reply = served.ask(**{name: value.format(port=port)})
    assert (reply.status, reply.content[:12]) == (403, b"not allowed:")


def test_the_users_own_ways_are_not_refused(served: Served) -> None:
    port = served.host.rpartition(":")[2]
    assert served.ask(Host=f"localhost:{port}").status == 200
    assert served.ask(Origin=f"http://{served.host}", Sec_Fetch_Site="same-origin").status == 200
    arriving = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert served.ask(**arriving, Sec_Fetch_Dest="document").status == 200
    assert served.ask(**arriving, Sec_Fetch_Dest="iframe").status == 403


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "BREW"])
def test_there_is_nothing_but_get(served: Served, method: str) -> None:
    reply = served.ask(method=method)
    assert (reply.status, reply.headers["Allow"]) == (405, "GET")


def test_what_is_no_http_is_refused(served: Served) -> None:
    host, _, port = served.host.rpartition(":")
    for sent in (b"\0\1\2\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"x" * 70_000):
        with socket.create_connection((host, int(port)), timeout=120) as connection:
            connection.sendall(sent + b" HTTP/1.1\r\n\r\n")
            assert b"<" not in connection.recv(4096)
    request = f"GET {served.path} HTTP/1.1\r\nHost: {served.host}\r\nHost: a.example\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=120) as connection:
        connection.sendall(request.encode())
        assert b" 400 " in connection.recv(4096).splitlines()[0]


def test_connections_have_a_bound(served: Served) -> None:
    host, _, port = served.host.rpartition(":")
    held = [
        socket.create_connection((host, int(port)), timeout=120) for _ in range(MAX_CONNECTIONS)
    ]
    with socket.create_connection((host, int(port)), timeout=120) as one_more:
        assert one_more.recv(4096).startswith(b"HTTP/1.1 503 ")
        assert one_more.recv(4096) == b""
    for connection in held:
        connection.close()

    def answers() -> bool:
        try:
            return served.ask().status == 200
        except OSError:
            return False

    deadline = time.monotonic() + 60
    while not answers() and time.monotonic() < deadline:
        time.sleep(0.01)  # it has not noticed yet that they left
    assert answers()


def test_a_window_has_the_numbers(served: Served) -> None:
    reply = served.detail("structure=0&from=0&to=2&columns=100")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/octet-stream")
    end = 4 + int.from_bytes(reply.content[:4], "little")
    window = json.loads(reply.content[4:end])
    assert (window["format"], window["version"]) == ("numascape-window", 1)
    assert (window["structure"], window["instance"], window["pages_per_column"]) == (0, -1, 1)

    def column(table: str, name: str) -> list[int]:
        at, length, width = (window[table][name][key] for key in ("at", "length", "bytes"))
        planes = np.frombuffer(reply.content[end + at :][: length * width], np.uint8)
        return [int.from_bytes(bytes(value), "little") for value in planes.reshape(width, length).T]

    assert column("cells", "row") == [0, 0, 1, 1]
    assert column("cells", "column") == [0, 1, 0, 1]
    assert column("cells", "reads") == [0, 0, 512, 400]
    assert column("cells", "writes") == [512, 512, 0, 0]
    assert column("first_touches", "row") == [0, 0]


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("", "structure is missing"),
        ("structure", "the parameters are not of the form name=value&..."),
        ("&" * 100, "the parameters are not of the form name=value&..."),
        ("from=0&to=1&columns=1", "structure is missing"),
        ("structure=0&to=1&columns=1", "from is missing"),
        ("structure=3&from=0&to=1&columns=1", "structure is '3': a number from 0 to 2 is needed"),
        ("structure=-1&from=0&to=1&columns=1", "structure is '-1': a number from 0 to 2 is needed"),
        (
            "structure=%D9%A1&from=0&to=1&columns=1",
            "structure is '\u0661': a number from 0 to 2 is",
        ),
        ("structure=0&from=2&to=3&columns=1", "from is '2': a number from 0 to 1 is needed"),
        ("structure=0&from=1&to=1&columns=1", "to is '1': a number from 2 to 2 is needed"),
        ("structure=0&from=0&to=3&columns=1", "to is '3': a number from 1 to 2 is needed"),
        ("structure=0&from=0&to=1&columns=0", "columns is '0': a number from 1 to 8192 is needed"),
        ("structure=0&from=0&to=1&columns=1e3", "columns is '1e3': a number from 1 to 8192"),
        ("structure=0&from=0&to=1&columns=" + "9" * 5000, "columns is '99999999999999999999'"),
        ("structure=0&instance=1&from=0&to=1&columns=1", "instance is '1': a number from 0 to 0"),
        ("structure=0&from=0&to=1&columns=1&phases=1", "phases is '1': a number from 0 to 0"),
        ("structure=0&from=0&to=1&columns=1&phases=", "phases is '': a number from 0 to 0"),
        ("structure=0&from=0&to=1&columns=1&phases=0,0", "phases names 2, but there are only 1"),
        ("structure=0&structure=1&from=0&to=1&columns=1", "structure is given 2 times"),
        ("structure=0&from=0&to=1&columns=1&x%0a=1", "there is no parameter 'x\\n'"),
    ],
)
def test_bad_parameters_are_one_line(served: Served, query: str, line: str) -> None:
    reply = served.detail(query)
    assert reply.status == 400
    assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert reply.line.startswith(line)
    assert reply.line.count("\n") == 1


def test_it_listens_on_loopback_only(served: Served, trace_folder: Path) -> None:
    with serving_page(site_of(Trace.read(trace_folder))) as address:
        assert address.startswith("http://127.0.0.1:")
        assert address.rpartition(":")[2] != served.address.rpartition(":")[2]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", urlsplit(address).port or 0), timeout=120)


@pytest.mark.skipif(not Path("/proc/net/if_inet6").is_file(), reason="this machine has no IPv6")
def test_it_listens_on_the_other_loopback_when_asked(trace_folder: Path) -> None:
    with serving_page(site_of(Trace.read(trace_folder)), ipv6=True) as address:
        port = urlsplit(address).port
        assert Served(f"http://[::1]:{port}{urlsplit(address).path}").ask().status == 200


def in_new_process(*arguments: object, **variables: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "numascape", "view", *map(str, arguments)]
    environment = {**os.environ, **variables}
    environment.pop("DISPLAY", None)
    environment.pop("WAYLAND_DISPLAY", None)
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


@pytest.mark.program
@pytest.mark.parametrize("options", [["--no-browser"], [], ["--quiet"]])
def test_an_interrupt_ends_it_well(trace_folder: Path, options: list[str]) -> None:
    process = in_new_process(trace_folder, *options)
    assert process.stdout
    assert process.stderr
    address = process.stdout.readline().strip()
    assert Served(address).ask().status == 200
    told = ""
    while options != ["--quiet"] and "press Ctrl-C" not in told:
        told += process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "", "")
    assert ("no browser was found" in told) == (options == [])


def test_a_connection_that_a_reader_keeps_ends_with_the_server(trace_folder: Path) -> None:
    with serving_page(site_of(Trace.read(trace_folder))) as address:
        kept = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
        kept.request("GET", urlsplit(address).path)
        assert kept.getresponse().read()
        assert kept.sock is not None
    assert kept.sock.recv(1) == b""
    kept.close()


def test_a_port_that_is_taken_is_one_line(
    numascape: Numascape, trace_folder: Path, served: Served
) -> None:
    port = served.host.rpartition(":")[2]
    status, out, err = numascape("view", "-q", trace_folder, "--port", port)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use; leave --port" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["/absent"], "/absent does not exist"),
        (["/dev/null"], "/dev/null is not a trace"),
        (["x", "--port", "70000"], "less than or equal to 65535"),
    ],
)
def test_mistakes_are_one_line(numascape: Numascape, options: list[str], message: str) -> None:
    status, out, err = numascape("view", *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_no_command_line_names_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other users of the machine see the arguments of every process."""
    given = []

    def remember(address: str) -> bool:
        given.append((address, Path(address.removeprefix("file://")).read_text()))
        return True

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", remember)
    with shown_in_browser("http://127.0.0.1:1/secret/") as shown:
        assert shown
        folder = Path(given[0][0].removeprefix("file://")).parent
        assert folder.stat().st_mode & 0o077 == 0
    assert "secret" not in given[0][0]
    assert "url=http://127.0.0.1:1/secret/" in given[0][1]
    assert not folder.exists()
