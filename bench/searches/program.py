# SPDX-License-Identifier: Apache-2.0
"""Searches the nearest neighbours of random vectors, with an index that is mapped from a file.

    program.py build|search faiss|annoy|usearch FILE VECTORS SIZE l2|angular EFFORT THREADS
               QUERIES MARK

Needs the packages of these libraries. MARK is a library with the function `mark`, which begins a
phase of a recording (phase_mark.c).
"""

from __future__ import annotations

import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

NEIGHBOURS = 10
Vectors = npt.NDArray[np.float32]


class Library(Protocol):
    def build(self, data: Vectors, path: str) -> None: ...
    def open(self, path: str, effort: int, threads: int) -> None: ...
    def search(self, wanted: Vectors) -> int: ...


def vectors(number: int, size: int, angular: bool, seed: int) -> Vectors:
    made = np.random.default_rng(seed).standard_normal((number, size), dtype=np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True) if angular else made


class Faiss:
    def __init__(self, size: int, angular: bool) -> None:
        self.faiss: Any = import_module("faiss")
        self.size, self.angular = size, angular

    def build(self, data: Vectors, path: str) -> None:
        kinds = (self.faiss.IndexFlatIP, self.faiss.METRIC_INNER_PRODUCT)
        if not self.angular:
            kinds = (self.faiss.IndexFlatL2, self.faiss.METRIC_L2)
        centres = kinds[0](self.size)
        index = self.faiss.IndexIVFFlat(centres, self.size, 100, kinds[1])
        index.train(data)
        index.add(data)
        self.faiss.write_index(index, path)

    def open(self, path: str, effort: int, threads: int) -> None:
        self.faiss.omp_set_num_threads(threads)
        self.index = self.faiss.read_index(path, self.faiss.IO_FLAG_MMAP)
        self.index.nprobe = effort

    def search(self, wanted: Vectors) -> int:
        return int(self.index.search(wanted, NEIGHBOURS)[1].sum())


class Annoy:
    def __init__(self, size: int, angular: bool) -> None:
        kind: Any = import_module("annoy").AnnoyIndex
        self.index = kind(size, "angular" if angular else "euclidean")

    def build(self, data: Vectors, path: str) -> None:
        for number, vector in enumerate(data):
            self.index.add_item(number, vector)
        self.index.build(100)
        self.index.save(path)

    def open(self, path: str, effort: int, threads: int) -> None:
        self.index.load(path)
        self.effort, self.threads = effort, threads

    def search(self, wanted: Vectors) -> int:
        parts = [wanted[first :: self.threads] for first in range(self.threads)]
        with ThreadPoolExecutor(self.threads) as pool:
            return sum(pool.map(self._search_part, parts))

    def _search_part(self, part: Vectors) -> int:
        effort = self.effort
        return sum(
            sum(self.index.get_nns_by_vector(each, NEIGHBOURS, search_k=effort)) for each in part
        )


class Usearch:
    def __init__(self, size: int, angular: bool) -> None:
        self.kind: Any = import_module("usearch.index").Index
        self.size, self.angular = size, angular

    def build(self, data: Vectors, path: str) -> None:
        metric = "cos" if self.angular else "l2sq"
        index = self.kind(ndim=self.size, metric=metric, dtype="f32")
        index.add(np.arange(len(data)), data)
        index.save(path)

    def open(self, path: str, effort: int, threads: int) -> None:
        self.index, self.threads = self.kind.restore(path, view=True), threads
        self.index.expansion_search = effort

    def search(self, wanted: Vectors) -> int:
        return int(self.index.search(wanted, NEIGHBOURS, threads=self.threads).keys.sum())


LIBRARIES: dict[str, Any] = {"faiss": Faiss, "annoy": Annoy, "usearch": Usearch}


def main(words: list[str]) -> None:
    action, library, path, metric, mark = *words[:3], words[5], words[9]
    number, size, effort, threads, queries = map(int, (*words[3:5], *words[6:9]))
    is_angular = metric == "angular"
    opened: Library = LIBRARIES[library](size, is_angular)
    if action == "build":
        opened.build(vectors(number, size, is_angular, 1), path)
        return
    begin_phase = ctypes.CDLL(mark).mark
    opened.open(path, effort, threads)
    wanted = vectors(queries, size, is_angular, 2)
    begin_phase(b"search")
    found = opened.search(wanted)
    begin_phase(b"")
    print(found)


main(sys.argv[1:])
