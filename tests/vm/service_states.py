# SPDX-License-Identifier: Apache-2.0
"""In a guest: services whose memory moves between nodes while clients ask them all the time.

service_states.py PROGRAMS DATABASE: the folder of `Service.class`, and that of a new PostgreSQL
database. Each answer of `service.py` and `Service.java` is compared with what it must be. The
result is a JSON object of the services.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behaviour.servers import not_as_root
from vm.host_states import command, count_nodes

SOCKETS = Path("/dev/shm")
SOURCES = Path(__file__).with_name("programs")
POSTGRES = Path("/usr/lib/postgresql/15/bin")
WHERE = ["-h", str(SOCKETS), "-U", "tester"]
BLOCKS, BLOCK = 64, 64 << 10
# A service is moved until it has given this number of answers meanwhile.
ENOUGH = 30
# Between the questions, an emulated processor has time for the move.
PAUSE_S = 0.02
CLIENTS, TRANSACTIONS = 2, 50


@dataclass(frozen=True)
class Service:
    """A running service and its socket."""

    process: subprocess.Popen[bytes]
    path: Path

    def end(self) -> None:
        assert self.process.poll() is None, "the service has ended"
        self.process.terminate()
        self.process.wait()


def started(name: str, *words: str | Path) -> Service:
    path = SOCKETS / name
    return Service(subprocess.Popen([*words, path]), path)


class Client:
    """Asks for one block after the other, in a thread, until it is ended."""

    def __init__(self, path: Path) -> None:
        self.answers = 0
        self.wrong: list[str] = []
        self._ended = False
        self._connection = _connected(path)
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def end(self) -> None:
        self._ended = True
        self._thread.join()
        self._connection.close()

    def _ask(self) -> None:
        with self._connection.makefile("rw") as stream:
            while not self._ended and not self.wrong:
                number = self.answers % BLOCKS
                stream.write(f"{number}\n")
                stream.flush()
                answer = stream.readline()
                if answer != f"{right_answer(number)}\n":
                    self.wrong.append(f"{number}: {answer!r}")
                self.answers += 1
                time.sleep(PAUSE_S)


def right_answer(number: int) -> int:
    return zlib.crc32(bytes((number + k) & 255 for k in range(256)) * (BLOCK // 256))


def _connected(path: Path) -> socket.socket:
    """A connection with the service, as soon as it listens."""
    while True:
        connection = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            connection.connect(str(path))
            return connection
        connection.close()
        time.sleep(0.1)


def moved(pid: int, policy: str, *words: str) -> dict[str, Any]:
    """The report of a move."""
    target = ("--pid", str(pid), "--policy", policy)
    Path("service.undo").unlink(missing_ok=True)
    result = command("move", "--json", *target, "-o", "service.undo", *words)
    assert result["out"], result["err"]
    account: dict[str, Any] = json.loads(result["out"])
    return account


def moved_around(pid: int, is_enough: Callable[[], bool], *words: str) -> list[dict[str, Any]]:
    """Move to node 1 and each next one, then to node 0, ..., until it is enough; the reports.

    Each node is the target at least once.
    """
    nodes = count_nodes()
    accounts: list[dict[str, Any]] = []
    while len(accounts) < nodes or not is_enough():
        accounts.append(moved(pid, f"bind:{(len(accounts) + 1) % nodes}", *words))
    return accounts


def asked_while_it_moves(service: Service) -> dict[str, Any]:
    clients = [Client(service.path) for _ in range(2)]
    while not all(client.answers for client in clients):
        time.sleep(0.05)

    def answers() -> int:
        return sum(client.answers for client in clients)

    before = answers()
    accounts = moved_around(service.process.pid, lambda: answers() >= before + ENOUGH)
    meanwhile = answers() - before
    for client in clients:
        client.end()
    service.end()
    wrong = [answer for client in clients for answer in client.wrong]
    return {"accounts": accounts, "answers": meanwhile, "wrong": wrong}


def postgres(data: Path) -> Service:
    settings = ["-c", "fsync=off", "-c", "shared_buffers=8MB", "-c", "max_connections=8"]
    words = [str(POSTGRES / "postgres"), "-D", str(data), "-k", str(SOCKETS), "-h", "", *settings]
    running = subprocess.Popen([*not_as_root(), *words], stderr=subprocess.DEVNULL)
    return Service(running, SOCKETS)


def run(program: str, *words: str) -> str:
    result = subprocess.run(
        [POSTGRES / program, *WHERE, *words], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


SUMS = """select (select sum(abalance) from pgbench_accounts),
(select sum(tbalance) from pgbench_tellers), (select sum(bbalance) from pgbench_branches),
(select sum(delta) from pgbench_history), (select count(*) from pgbench_history)"""


def pgbench_while_it_moves(service: Service) -> dict[str, Any]:
    """The shared buffers are moved while transactions change their content."""
    pid = service.process.pid
    # Not its dynamic segments (PostgreSQL.1234), which grow meanwhile.
    segment = ("--structure", "PostgreSQL's*", "--shared")
    load = subprocess.Popen(
        [POSTGRES / "pgbench", "-n", "-c", str(CLIENTS), "-t", str(TRANSACTIONS), *WHERE,
         "postgres"], stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    accounts = moved_around(pid, lambda: load.poll() is not None, *segment)
    printed = load.communicate()[0]
    last = moved(pid, "interleave", *segment)
    written = shutil.copy("service.undo", "interleaved.undo")
    checked = moved(pid, "interleave", "--dry-run", *segment)
    mapped = moved(pid, "interleave", "--dry-run", *segment[:2])
    undone = command("move", "--json", "--undo", written)
    sums = run("psql", "-X", "-A", "-t", "-c", SUMS, "postgres").strip()
    service.end()
    return {
        "accounts": accounts,
        "interleaved": last,
        "checked": checked,
        "mapped": mapped,
        "undone": undone,
        "status": load.returncode,
        "printed": printed,
        "sums": sums.split("|"),
    }


def services(programs: Path, data: Path) -> dict[str, Any]:
    """They start at the same time, so that one waits while another one works."""
    # Emulated processors execute some instructions of AVX2 wrongly (see CONTRIBUTING.md).
    options = ["-XX:UseAVX=0", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx16m"]
    java = started("java", "java", *options, "-cp", programs, "Service")
    python = started("python", sys.executable, SOURCES / "service.py")
    database = postgres(data)
    seen = {"python": asked_while_it_moves(python), "java": asked_while_it_moves(java)}
    while subprocess.run([POSTGRES / "pg_isready", "-q", *WHERE[:2]], check=False).returncode:
        time.sleep(0.2)
    run("pgbench", "-i", "-q", "postgres")
    return {**seen, "postgres": pgbench_while_it_moves(database)}


if __name__ == "__main__":
    print(json.dumps(services(Path(sys.argv[1]), Path(sys.argv[2]))))
