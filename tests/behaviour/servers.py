# SPDX-License-Identifier: Apache-2.0
"""Servers that get the same requests several times: how to start them, and what to send.

Each listens on a socket in its own folder, which also has all its other files.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedRWPair
from pathlib import Path

CLIENTS = 3
# Debian installs some servers in folders of root's PATH.
PATH = f"{os.environ['PATH']}:/usr/sbin"
LIMIT_S = 240
_PROTOCOL_END = b"\r\n"


@dataclass(frozen=True)
class Server:
    """How to start a server and how to query it; the answers are the same each time."""

    programs: tuple[str, ...]
    socket: str
    prepare: Callable[[Path], list[str | Path]]  # writes its files, and returns its command
    ask: Callable[[Path], str]  # returns its answers
    refuses_root: bool = False
    answers_in_a_child: bool = False

    def answering(self, pid: int) -> int:
        """Return the process that answers; `pid` is the one that was started."""
        if not self.answers_in_a_child:
            return pid
        (child,) = _children(pid)
        return int(child)

    def is_ready(self, folder: Path, pid: int | None = None) -> bool:
        """Whether it listens, and the started process `pid` has the child that answers.

        A server listens before it makes its children.
        """
        if pid is not None and self.answers_in_a_child and not _children(pid):
            return False
        try:
            connect(folder / self.socket).close()
        except OSError:
            return False
        ready = [str(_POSTGRES / "pg_isready"), "-q", "-h", str(folder)]
        return self.ask is not _ask_postgres or subprocess.run(ready, check=False).returncode == 0


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def not_as_root() -> list[str]:
    """Return the command for a program that refuses root; it may still read root's files."""
    nobody = pwd.getpwnam("nobody")
    mapped = [f"--map-user={nobody.pw_uid}", f"--map-group={nobody.pw_gid}"]
    return ["unshare", "--user", *mapped, "--"] if os.geteuid() == 0 else []


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(LIMIT_S)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    return connection


def at_the_same_time(ask: Callable[[int], str]) -> str:
    """Return the answers to all clients, in order; a client that fails returns its error."""
    answers = [""] * CLIENTS

    def client(number: int) -> None:
        try:
            answers[number] = ask(number)
        except OSError as error:
            answers[number] = f"client {number}: {error!r}"

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return "\n".join(answers)


def _redis(folder: Path) -> list[str | Path]:
    words: list[str | Path] = [
        "--port",
        "0",
        "--unixsocket",
        folder / "redis",
        "--save",
        "",
        "--dir",
        folder,
    ]
    return [*_found("redis-server"), *words, "--logfile", folder / "log"]


_COUNT = "local n = 0; for i = 1, 500 do n = n + redis.call('incr', KEYS[1]) end; return n"


def _ask_redis(folder: Path) -> str:
    def client(number: int) -> str:
        with connect(folder / "redis") as connection, connection.makefile("rwb") as stream:

            def command(*words: str) -> str:
                parts = [f"*{len(words)}\r\n", *(f"${len(word)}\r\n{word}\r\n" for word in words)]
                stream.write("".join(parts).encode())
                stream.flush()
                return _redis_answer(stream)

            key = f"key{number}"
            answers = [command("del", key, f"{key}l", f"{key}n", f"{key}z")[:0]]
            for i in range(100):
                answers.append(command("set", key, str(i) * 20))
                answers.append(command("get", key))
                answers.append(command("rpush", f"{key}l", str(i)))
                answers.append(command("zadd", f"{key}z", str(i % 7), str(i)))
            answers.append(command("lrange", f"{key}l", "0", "-1"))
            answers.append(command("zrange", f"{key}z", "0", "-1"))
            answers.append(command("eval", _COUNT, "1", f"{key}n"))
            return " ".join(answers)

    told = at_the_same_time(client)
    with connect(folder / "redis") as connection, connection.makefile("rwb") as stream:
        stream.write(b"save\r\n")  # a file with all data
        stream.flush()
        return told + _redis_answer(stream)


def _redis_answer(stream: BufferedRWPair) -> str:
    line = stream.readline().rstrip(_PROTOCOL_END)
    if line[:1] == b"$":
        content = stream.read(int(line[1:]) + len(_PROTOCOL_END))
        return content.rstrip(_PROTOCOL_END).decode()
    if line[:1] == b"*":
        return " ".join(_redis_answer(stream) for _ in range(int(line[1:])))
    return line.decode()


def _memcached(folder: Path) -> list[str | Path]:
    user = ["-u", "root"] if os.geteuid() == 0 else []
    return [*_found("memcached"), "-s", folder / "memcached", "-t", "3", *user]


def _ask_memcached(folder: Path) -> str:
    def client(number: int) -> str:
        answers = []
        with connect(folder / "memcached") as connection, connection.makefile("rwb") as stream:
            for i in range(100):
                value = (f"value{i} " * 50).encode()
                stream.write(b"set k%d-%d 0 0 %d\r\n%s\r\n" % (number, i % 9, len(value), value))
                stream.write(b"get k%d-%d\r\n" % (number, i % 9))
                stream.flush()
                lines = [stream.readline() for _ in range(4)]  # STORED, VALUE, the value, END
                answers.append(b"".join(lines).decode())
        return "".join(answers)

    return at_the_same_time(client)


_NGINX = """
daemon off;
worker_processes 1;
{user}
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 64; }}
http {{
    access_log {folder}/accesses;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/proxied;
    fastcgi_temp_path {folder}/fast;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_types text/plain;
    server {{
        listen unix:{folder}/nginx;
        root {folder}/pages;
        location /said {{ return 200 "said $request_uri\\n"; }}
    }}
}}
"""


def _nginx(folder: Path) -> list[str | Path]:
    (folder / "pages").mkdir()
    for number in range(CLIENTS):
        (folder / "pages" / f"{number}.txt").write_text(f"line of {number}\n" * 3000)
    user = "user root root;" if os.geteuid() == 0 else ""
    (folder / "configuration").write_text(_NGINX.format(folder=folder, user=user))
    return [*_found("nginx"), "-e", folder / "errors", "-c", folder / "configuration"]


def _ask_nginx(folder: Path) -> str:
    def client(number: int) -> str:
        answers = []
        for path in (f"{number}.txt", "said/something", "nothing", f"{number}.txt") * 8:
            request = f"GET /{path} HTTP/1.1\r\nHost: here\r\nAccept-Encoding: gzip\r\n"
            with connect(folder / "nginx") as connection:
                connection.sendall(f"{request}Connection: close\r\n\r\n".encode())
                answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
            answers.append(_without_times(answer))
        return "\n".join(answers)

    return at_the_same_time(client)


def _without_times(answer: bytes) -> str:
    head, _, body = answer.partition(b"\r\n\r\n")
    changing = (b"Date:", b"Last-Modified:", b"ETag:")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(changing)]
    return f"{lines} {body.hex()}"


_POSTGRES = Path("/usr/lib/postgresql/15/bin")
_SETTINGS = ("fsync=off", "autovacuum=off", "max_connections=12", "shared_buffers=8MB")
_QUERIES = """
set client_min_messages = warning;
drop table if exists t; create table t (a integer primary key, b text);
insert into t select i, md5(i::text) from generate_series(1, 2000) i;
create index on t (b); analyze t;
select sum(a), min(b), max(b) from t where b > '8';
select l.a % 7, count(*), avg(length(r.b)) from t l join t r on l.a = r.a group by 1 order by 1;
create function f(n integer) returns integer language plpgsql as
  $$begin if n < 2 then return n; end if; return f(n - 1) + f(n - 2); end$$;
select f(12); drop function f;
begin; delete from t where a > 1000; rollback; select count(*) from t;
select 1 / 0;
checkpoint;
"""


def _postgres(folder: Path) -> list[str | Path]:
    data = folder / "data"
    words = ["-D", str(data), "-N", "-A", "trust", "-U", "tester", "--no-locale"]
    initdb = [*not_as_root(), str(_POSTGRES / "initdb"), *words]
    subprocess.run(initdb, check=True, capture_output=True, timeout=LIMIT_S)
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    return [_POSTGRES / "postgres", "-D", data, "-k", folder, "-h", "", *settings]


def _ask_postgres(folder: Path) -> str:
    where = ["-h", str(folder), "-U", "tester"]
    psql = [str(_POSTGRES / "psql"), "-X", *where, "-d", "postgres", "-a"]
    asked = subprocess.run(
        psql, input=_QUERIES, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    transactions = folder / "transactions"
    transactions.write_text("update t set b = b where a = 1 + :client_id;\n")
    words = ["-n", "-c", "2", "-t", "15", "-f", str(transactions), *where, "postgres"]
    bench = [str(_POSTGRES / "pgbench"), *words]
    load = subprocess.run(bench, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    done = [line for line in load.stdout.splitlines() if "actually" in line]
    return f"{asked.stdout}{asked.stderr}{done}"


def _found(program: str) -> list[str]:
    return [shutil.which(program, path=PATH) or program]


SERVERS = {
    "redis": Server(("redis-server",), "redis", _redis, _ask_redis),
    "memcached": Server(("memcached",), "memcached", _memcached, _ask_memcached),
    "nginx": Server(("nginx",), "nginx", _nginx, _ask_nginx, answers_in_a_child=True),
    "postgres": Server(
        (str(_POSTGRES / "postgres"),), ".s.PGSQL.5432", _postgres, _ask_postgres, True
    ),
}
