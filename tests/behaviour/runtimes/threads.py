# SPDX-License-Identifier: Apache-2.0
"""Python: threads, processes, the collector, exceptions, a database in memory and a child."""

import faulthandler
import hashlib
import json
import multiprocessing
import multiprocessing.pool
import select
import sqlite3
import subprocess
import sys
import threading
import zlib


def hashed(number: int, into: list[str]) -> None:
    data = bytes(range(256)) * 200
    for _ in range(number):
        data = zlib.decompress(zlib.compress(data))
    into[number] = hashlib.sha256(data + bytes([number])).hexdigest()[:8]


def squared(number: int) -> int:
    return number * number


def queried() -> int:
    database = sqlite3.connect(":memory:")
    database.execute("create table t (a integer, b text)")
    rows = [(i, f"row {i % 13}") for i in range(500)]
    database.executemany("insert into t values (?, ?)", rows)
    return int(database.execute("select sum(a) from t where b like '%7'").fetchone()[0])


def work(pool: multiprocessing.pool.Pool) -> str:
    hashes = [""] * 4
    threads = [threading.Thread(target=hashed, args=(i, hashes)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = subprocess.run(
        ["/bin/sh", "-c", "echo child; exit 3"], capture_output=True, check=False
    )
    return json.dumps(
        [
            hashes,
            sum(pool.map(squared, range(50))),
            queried(),
            child.stdout.decode(),
            child.returncode,
        ]
    )


def main() -> int:
    faulthandler.enable()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        result = work(pool)
        if len(sys.argv) > 1:
            while True:
                print("round", flush=True)
                assert work(pool) == result
                if select.select([sys.stdin], [], [], 0)[0]:
                    break
    print(result, flush=True)
    return 7


if __name__ == "__main__":
    sys.exit(main())
