# SPDX-License-Identifier: Apache-2.0
"""In a guest: the moves of bench/live; the result is a JSON object.

live_guest.py restless PROGRAM ROUNDS, or live_guest.py model SERVER MODEL STALE: the server of
llama.cpp, its model, and a file that is larger than a node.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vm.host_states import command, on_node
from vm.restless_states import restless

SOCKET = "/dev/shm/llama.sock"
WORDS, MORE_WORDS = 16, 40
BEGUN = 4


class Connection(http.client.HTTPConnection):
    """HTTP over the server's socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


class Generation:
    """A text that the server generates in a thread, without randomness: it is always the same."""

    def __init__(self, words: int) -> None:
        self.words: list[str] = []
        self._thread = threading.Thread(target=self._read, args=(words,))
        self._thread.start()

    def text(self) -> str:
        self._thread.join()
        return "".join(self.words)

    def _read(self, words: int) -> None:
        wanted = {"prompt": "w1 w2 w3", "n_predict": words, "temperature": 0, "stream": True,
                  "cache_prompt": False}  # fmt: skip
        connection = Connection("llama")
        head = {"Content-Type": "application/json"}
        connection.request("POST", "/completion", json.dumps(wanted), head)
        for line in connection.getresponse():
            if line.startswith(b"data: "):
                self.words.append(json.loads(line[6:]).get("content", ""))


@contextmanager
def serving(server: str, model: str) -> Iterator[int]:
    """Start the server, wait until it answers, and return its process number."""
    Path(SOCKET).unlink(missing_ok=True)
    words = [server, "-m", model, "-t", "2", "-c", "256", "-np", "1", "--no-warmup", "--host"]
    with Path("server.log").open("a") as log:
        running = subprocess.Popen([*words, SOCKET], stdout=log, stderr=log)
    while not is_healthy():
        assert running.poll() is None, Path("server.log").read_text()[-500:]
        time.sleep(0.2)
    yield running.pid
    assert running.poll() is None
    running.terminate()
    running.wait()


def is_healthy() -> bool:
    try:
        connection = Connection("llama")
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False


def account(*words: str) -> dict[str, Any]:
    result = command(*words)
    assert result["out"], result["err"]
    found: dict[str, Any] = json.loads(result["out"])
    return {**found, "status": result["status"]}


def layers(pid: int) -> dict[str, dict[str, int]]:
    """The bytes by node of each layer."""
    (process,) = account("pages", "--json", "--pid", str(pid))["processes"]
    found: dict[str, dict[str, int]] = {}
    for one in process["structures"]:
        if one["kind"] == "tensor" and one["name"].startswith("blk."):
            layer = found.setdefault(one["name"].split(".")[1], {})
            for node, size in one["nodes"].items():
                layer[node] = layer.get(node, 0) + size
    return found


def cached(model: str) -> dict[str, int]:
    """The model's page cache by node, in pages."""
    (file,) = json.loads(command("host", "files", "--json", model)["out"])
    pages: dict[str, int] = {node: count for node, count in file["nodes"].items() if count}
    return pages


def read_on_node_0(path: str) -> None:
    """Read a file again from the disk, by one thread on node 0."""
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    on_node(0)
    while os.read(file, 1 << 20):
        pass
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    os.close(file)


def moved_while_it_generates(pid: int, model: str, undo: str) -> dict[str, Any]:
    """Interleave the model while the server generates text: the account, and the text."""
    running = Generation(MORE_WORDS)
    while len(running.words) < BEGUN:
        time.sleep(0.05)
    begin = len(running.words)
    words = ("--policy", "interleave", "--file", model, "-o", undo)
    done = account("move", "--json", "--pid", str(pid), *words)
    end = len(running.words)
    text = running.text()
    return {**done, "text": text, "words": [begin, end, len(running.words)]}


def cold(server: str, model: str) -> dict[str, Any]:
    """One thread has read the model; then the model is spread while it generates text."""
    read_on_node_0(model)
    read = cached(model)
    with serving(server, model) as pid:
        first, before = Generation(WORDS).text(), layers(pid)
        done = moved_while_it_generates(pid, model, "model.undo")
        seen = {"first": first, "before": before, "done": done, "after": layers(pid),
                "cached": cached(model), "last": Generation(WORDS).text()}  # fmt: skip
        undone = account("move", "--json", "--undo", "model.undo")
        return {**seen, "read": read, "undone": undone, "after undo": layers(pid)}


def stale(server: str, model: str, other: str) -> dict[str, Any]:
    """Page cache of another file fills node 0, and part of the others, until it is freed."""
    file = os.open(model, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)
    read_on_node_0(other)
    with serving(server, model) as pid:
        first, before = Generation(WORDS).text(), layers(pid)
        full = moved_while_it_generates(pid, model, "full.undo")
        swept = command("host", "sweep")
        done = moved_while_it_generates(pid, model, "swept.undo")
        return {"first": first, "before": before, "full": full, "swept": swept["status"],
                "done": done, "after": layers(pid), "last": Generation(WORDS).text()}  # fmt: skip


def model_moves(server: str, model: str, other: str) -> dict[str, Any]:
    return {"cold": cold(server, model), "stale": stale(server, model, other)}


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "restless":
        print(json.dumps(restless(Path(words[0]), int(words[1]))))
    else:
        print(json.dumps(model_moves(*words)))
